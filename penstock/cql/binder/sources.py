"""The entries of FROM: names, sub-queries, windows over them, aliases."""

from __future__ import annotations

from dataclasses import dataclass, replace

from penstock.cql.binder.core import Binder
from penstock.cql.binder.scopes import Entry
from penstock.cql.binder.windows import window_spec
from penstock.cql.grammar.syntax import Item, Name
from penstock.errors import Span
from penstock.plan.node import Kind, Node
from penstock.plan.nodes import Window
from penstock.plan.nodes.checks import bounded
from penstock.plan.schema import Field
from penstock.plan.windows import Sliding, WindowSpec


@dataclass(frozen=True, slots=True)
class Bound:
    """A bound entry: `source` without its window; None where it is broken. `name` is what FROM reads, None for a
    query; `span` is all of it but the alias."""

    alias: str | None
    name: str | None
    source: Node | None
    spec: WindowSpec | None
    span: Span

    @property
    def slides(self) -> bool:
        """True for a window with Slide directly over a stream."""
        return isinstance(self.spec, Sliding)

    def node(self, bounds: bool = False) -> Node | None:
        """The entry with its window."""
        if self.source is None or self.spec is None:
            return self.source
        return Window(self.source, self.spec, bounds and self.bounds_free)

    @property
    def bounds_free(self) -> bool:
        """True where `window_start` and `window_end` can only mean this window's bounds."""
        names = () if self.source is None else self.source.schema.names
        return self.slides and "window_start" not in names and "window_end" not in names

    def entry(self, bounds: bool, prefix: str = "") -> Entry:
        """What its columns are called."""
        if self.source is None:
            return Entry(self.alias, None)
        return Entry(self.alias, self.source.schema.fields, self.bounds() if bounds else (), prefix)

    def bounds(self) -> tuple[Field, ...]:
        """The columns of the window's bounds, where it has them."""
        if self.source is None or not self.bounds_free:
            return ()
        assert isinstance(self.spec, Sliding)
        return bounded(self.source.schema, self.source, self.spec).fields[-2:]


def bind_item(item: Item, binder: Binder, as_relation: bool) -> Bound:
    """The entry of FROM that `item` writes. A window asks for a stream; without one, `as_relation` may ask for a
    relation."""
    if isinstance(item.source, Item):
        return _in_parentheses(item, item.source, binder, as_relation)
    name = item.source.text if isinstance(item.source, Name) else None
    alias = item.alias.text if item.alias else name
    source = _source(item, binder, as_relation and item.window is None)
    if item.window is None or source is None:
        return Bound(alias, name, source, None, item.span)
    problems = binder.catalog.problems
    if source.kind is Kind.RELATION:
        what = f"'{item.source.text}'" if isinstance(item.source, Name) else "the sub-query"
        problems.report(
            f"a window needs a stream, and {what} is a relation",
            item.window.span,
            help="take the window away, or make a stream of the relation: (SELECT Istream(*) FROM ...)",
        )
        return Bound(alias, name, None, None, item.span)
    spec = window_spec(item.window, source, problems)
    return Bound(alias, name, source if spec is not None else None, spec, item.span)


def _in_parentheses(item: Item, inner: Item, binder: Binder, as_relation: bool) -> Bound:
    if inner.window is None and item.window is not None:
        return bind_item(
            replace(inner, window=item.window, alias=item.alias or inner.alias, span=item.span), binder, as_relation
        )
    bound = bind_item(inner, binder, as_relation)
    if item.window is not None:
        binder.catalog.problems.report(
            "a second window", item.window.span, help="a stream has one; put a query around it for another"
        )
    return replace(bound, alias=item.alias.text if item.alias else bound.alias, span=item.span)


def _source(item: Item, binder: Binder, as_relation: bool) -> Node | None:
    if isinstance(item.source, Name):
        registered = binder.catalog.find(item.source)
        return registered.bind(as_relation) if registered is not None else None
    assert not isinstance(item.source, Item)
    return binder.query(item.source, as_relation)
