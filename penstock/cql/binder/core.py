"""What the parts of the binder ask of one another."""

from __future__ import annotations

from typing import Protocol

from penstock.cql.binder.catalog import Catalog
from penstock.cql.binder.problems import Problems
from penstock.cql.binder.scopes import Scope
from penstock.cql.grammar.syntax import Query
from penstock.errors import Span
from penstock.plan.node import Kind, Node


class Binder(Protocol):
    """Binds queries. `as_relation` prefers the relation where a query can be either (an aggregate over a sliding
    window)."""

    @property
    def catalog(self) -> Catalog:
        """What the script has created so far."""
        ...

    def query(self, query: Query, as_relation: bool = False, outer: Scope | None = None) -> Node | None:
        """The plan of `query`; None where it is wrong, which has been reported."""
        ...


def require_relation(node: Node | None, what: str, name: str | None, span: Span, problems: Problems) -> Node | None:
    """`node` where it is a relation; an unwindowed stream is refused, for `what` would have to keep all of it."""
    if node is None or node.kind is Kind.RELATION:
        return node
    report_unbounded(what, name, span, problems)
    return None


def report_unbounded(what: str, name: str | None, span: Span, problems: Problems) -> None:
    """`what` over the stream `name` (None: a sub-query) would have to keep all of it: says so, and what bounds it."""
    over, shown = (f"stream '{name}'", f"{name} ") if name else ("a stream", "")
    problems.report(
        f"{what} over {over} without a window needs unbounded state",
        span,
        help=f"bound it: {shown}[Range 10 Minutes] or {shown}[Rows 1000]; [Rows Unbounded] keeps everything",
    )
