"""Queries of any form, and the binder's parts put together."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.cql.binder.catalog import Catalog
from penstock.cql.binder.scopes import Scope
from penstock.cql.binder.select import bind_select
from penstock.cql.binder.sets import bind_set_operation
from penstock.cql.binder.streams import to_stream
from penstock.cql.grammar.syntax import Query, Select, SetOperation
from penstock.plan.node import Node


@dataclass(frozen=True, slots=True)
class QueryBinder:
    """Binds queries over what `catalog` holds; `penstock.cql.binder.core.Binder` says how it is asked."""

    catalog: Catalog

    def query(self, query: Query, as_relation: bool = False, outer: Scope | None = None) -> Node | None:
        """The plan of `query`; None where it is wrong, which has been reported."""
        if isinstance(query, Select):
            return bind_select(query, self, as_relation, outer)
        if isinstance(query, SetOperation):
            return bind_set_operation(query, self, as_relation)
        inner = self.query(query.query, True)
        return None if inner is None else to_stream(query.operator, inner, self.catalog.problems)
