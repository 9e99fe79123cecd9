"""Queries of any form, and the binder's parts put together."""

from __future__ import annotations

from dataclasses import dataclass, field

from penstock.cql.binder.catalog import Catalog
from penstock.cql.binder.scopes import Scope
from penstock.cql.binder.select import bind_select
from penstock.cql.binder.sets import bind_set_operation
from penstock.cql.binder.streams import to_stream
from penstock.cql.grammar.syntax import Query, Select, SetOperation
from penstock.plan.node import Node


@dataclass(frozen=True, slots=True)
class QueryBinder:
    """Binds queries over what `catalog` holds; `penstock.cql.binder.core.Binder` says how it is asked.

    `bound` keeps what was bound, by query and preference: who asks twice gets it at once. The script's trees outlive
    it.
    """

    catalog: Catalog
    bound: dict[tuple[int, bool], Node | None] = field(default_factory=dict)

    def query(self, query: Query, as_relation: bool = False, outer: Scope | None = None) -> Node | None:
        """The plan of `query`; None where it is wrong, which has been reported."""
        key = (id(query), as_relation)
        if key not in self.bound:
            self.bound[key] = self._bind(query, as_relation, outer)
        return self.bound[key]

    def _bind(self, query: Query, as_relation: bool, outer: Scope | None) -> Node | None:
        if isinstance(query, Select):
            return bind_select(query, self, as_relation, outer)
        if isinstance(query, SetOperation):
            return bind_set_operation(query, self, as_relation)
        inner = self.query(query.query, True)
        return None if inner is None else to_stream(query.operator, inner, self.catalog.problems)
