"""A box of Aurora's diagrams, with the arrows that lead out of it: every method gives the next box."""

from __future__ import annotations

from typing import Protocol

from penstock.cql import (
    boundaries,
    checked_connector,
    checked_options,
    parse_aggregate,
    parse_condition,
    parse_duration,
    parse_expression,
    parse_window,
)
from penstock.errors import Diagnostic, PenstockError
from penstock.plan.expressions import Column, Expression
from penstock.plan.network import Query
from penstock.plan.node import Kind, Node
from penstock.plan.nodes import (
    Aggregate,
    AggregateCall,
    BSort,
    Delay,
    Distinct,
    DStream,
    Except,
    Filter,
    Intersect,
    IStream,
    Join,
    Map,
    Read,
    Resample,
    RStream,
    Union,
    Window,
    WindowAggregate,
)
from penstock.plan.windows import Range, Rows, SlideRange, SlideRows, Sliding

Value = str | int | float | bool
SIDES = ("this", "other")


class Registry(Protocol):
    """What a box gives its queries to."""

    def register(self, query: Query) -> None:
        """Adds a query."""


class Box:
    """`node` in the making of a network that `app` holds."""

    def __init__(self, app: Registry, node: Node) -> None:
        self.app = app
        self.node = node

    def _next(self, node: Node) -> Box:
        return Box(self.app, node)

    def filter(self, predicate: str) -> Box:
        """Keeps the tuples for which `predicate` is true."""
        return self._next(Filter(self.node, parse_expression(predicate, self.node.schema)))

    def map(self, *kept: str, **computed: str) -> Box:
        """The columns `kept`, and new ones: `map("src", kilobytes="bytes / 1000")`."""
        schema = self.node.schema
        outputs: list[tuple[str, Expression]] = [(n, Column(n, schema.type_of(n))) for n in kept]
        outputs += [(n, parse_expression(text, schema)) for n, text in computed.items()]
        if not outputs:
            raise PenstockError(Diagnostic("a map without a column", help='such as map("src", twice="bytes * 2")'))
        return self._next(Map(self.node, tuple(outputs)))

    def union(self, *others: Box) -> Box:
        """This and `others`, merged."""
        return self._next(Union((self.node, *(o.node for o in others))))

    def window(self, text: str) -> Box:
        """The relation that a window over this stream holds: `window("Range 10 Minutes")`."""
        return self._next(Window(self.node, parse_window(text, self.node)))

    def aggregate(
        self,
        *keys: str,
        size: str | float | None = None,
        slide: str | float | None = None,
        rows: int | None = None,
        origin: str | int = 0,
        on: str | None = None,
        **aggregates: str,
    ) -> Box:
        """Aggregates by `keys`. Over a stream, a window of `size` (time, or the units of `on`) or of `rows` is needed,
        and `slide` is as long as the window where nothing is said; a relation is aggregated as it stands."""
        source, calls = self._arguments(keys, aggregates)
        distinct = tuple(dict.fromkeys(calls.values()))
        if self.node.kind is Kind.RELATION:
            if size is not None or rows is not None:
                help_ = "aggregate the stream, or leave size and rows out"
                raise PenstockError(Diagnostic("a window over a relation: it has one already", help=help_))
            node: Node = Aggregate(source, keys, distinct)
        else:
            node = WindowAggregate(source, _sliding(size, slide, rows, origin, on), keys, distinct)
        bounds = [f.name for f in node.schema.fields[len(keys) + len(distinct) :]]
        named = [*((k, k) for k in keys), *((n, c.name) for n, c in calls.items()), *((b, b) for b in bounds)]
        return self._next(Map(node, tuple((n, Column(c, node.schema.type_of(c))) for n, c in named)))

    def _arguments(self, keys: tuple[str, ...], texts: dict[str, str]) -> tuple[Node, dict[str, AggregateCall]]:
        """The aggregates' calls, named as CQL names them so that equal plans are equal, and the node they read: a map
        below where an argument is more than a column."""
        schema = self.node.schema
        for key in keys:
            schema.index(key)
        parsed = {name: parse_aggregate(text, schema) for name, text in texts.items()}
        calls = {name: p.call for name, p in parsed.items()}
        computed = dict(p.computed for p in parsed.values() if p.computed is not None)
        if not computed:
            return self.node, calls
        plain = [(f.name, Column(f.name, f.type)) for f in schema]
        return Map(self.node, (*plain, *computed.items())), calls

    def join(self, other: Box, on: str, within: str | int | None = None, **computed: str) -> Box:
        """Pairs of tuples under `on`, over `this.x` and `other.y`.

        Two streams are joined where they lie at most `within` apart in time, and the pairs are a stream; two relations
        as they stand, and the pairs are a relation. The result has all of this one's columns, and of the other's those
        whose names are free; or the `computed` ones alone: `join(..., src="this.src", n="other.n")`.
        """
        left, right = self.node, other.node
        if within is not None:
            left, right = (Window(side, Range(as_duration(within))) for side in (left, right))
        sides = dict(zip(SIDES, (left.schema, right.schema), strict=True))
        joined: Node = Join((left, right), parse_condition(on, sides))
        return self._next(_paired(IStream(joined) if within is not None else joined, left, right, computed))

    def bsort(self, on: str, slack: int) -> Box:
        """Sorts by `on`, as far as `slack` tuples of patience can."""
        return self._next(BSort(self.node, on, slack))

    def resample(self, other: Box, *values: str, within: str | int) -> Box:
        """Each tuple with `values` of `other` interpolated at its timestamp, from neighbours at most `within` away."""
        node = Resample(self.node, other.node, values, as_duration(within))
        left = [(f.name, Column(f"0.{f.name}", f.type)) for f in self.node.schema]
        right = [(_free(v, self.node), Column(f"1.{v}", node.schema.type_of(f"1.{v}"))) for v in values]
        return self._next(Map(node, (*left, *right)))

    def update(self, *key: str) -> Box:
        """The table that this stream keeps current: the last tuple for each `key`."""
        return self._next(Window(self.node, Rows(1, key)))

    def read(self, table: Box, on: str, **computed: str) -> Box:
        """Each tuple with the rows that `table` holds at its instant, under `on` over `this.x` and `other.y`."""
        sides = dict(zip(SIDES, (self.node.schema, table.node.schema), strict=True))
        node = Read(self.node, table.node, parse_condition(on, sides))
        return self._next(_paired(node, self.node, table.node, computed))

    def delay(self, cost_us: float) -> Box:
        """The same, at a cost of `cost_us` microseconds of processor time a tuple."""
        return self._next(Delay(self.node, cost_us * 1e-6))

    def distinct(self) -> Box:
        """Each row of this relation once."""
        return self._next(Distinct(self.node))

    def except_(self, other: Box, all: bool = False) -> Box:
        """The rows of this relation that are not in `other`."""
        return self._next(Except(self.node, other.node, all))

    def intersect(self, other: Box, all: bool = False) -> Box:
        """The rows that are in both."""
        return self._next(Intersect(self.node, other.node, all))

    def istream(self) -> Box:
        """The stream of what enters this relation."""
        return self._next(IStream(self.node))

    def dstream(self) -> Box:
        """The stream of what leaves this relation."""
        return self._next(DStream(self.node))

    def rstream(self) -> Box:
        """The stream of all that this relation holds, whenever it changes and whenever one of its windows slides."""
        return self._next(RStream(self.node, boundaries(self.node)))

    def output(
        self, name: str, into: str | None = None, options: dict[str, Value] | None = None, **query_options: Value
    ) -> None:
        """Registers this box's result as the query `name`, which goes `into` a sink with its `options`."""
        sink = None if into is None else checked_connector(into, options or {}, written=True)
        self.app.register(Query(name, self.node, checked_options(query_options), sink))


def as_duration(text: str | float) -> int:
    """A duration in microseconds: a number of them, or as CQL writes it."""
    return text if isinstance(text, int) else parse_duration(str(text))


def _sliding(
    size: str | float | None, slide: str | float | None, rows: int | None, origin: str | int, on: str | None
) -> Sliding:
    if rows is not None and not isinstance(rows, int):
        raise PenstockError(f"rows = {rows!r}: it is a number of rows")
    if on is not None and isinstance(size, int | float) and isinstance(slide, int | float | None):
        return SlideRange(size, size if slide is None else slide, as_duration(origin), on)
    if rows is not None and size is None:
        return SlideRows(rows, as_duration(slide) if slide is not None else rows, as_duration(origin))
    if size is None or rows is not None:
        help_ = 'such as size="10 minutes", slide="1 minute"'
        raise PenstockError(Diagnostic("an aggregate over a stream needs a window of a size or of rows", help=help_))
    width = as_duration(size)
    return SlideRange(width, width if slide is None else as_duration(slide), as_duration(origin), on)


def _paired(node: Node, left: Node, right: Node, computed: dict[str, str]) -> Node:
    """The columns of a pair under plain names."""
    sides = dict(zip(SIDES, (left.schema, right.schema), strict=True))
    if computed:
        return Map(node, tuple((name, parse_condition(text, sides)) for name, text in computed.items()))
    outputs = [(f.name, Column(f"0.{f.name}", f.type)) for f in left.schema]
    outputs += [(f.name, Column(f"1.{f.name}", f.type)) for f in right.schema if f.name not in left.schema]
    return Map(node, tuple(outputs))


def _free(name: str, left: Node) -> str:
    return f"other_{name}" if name in left.schema else name
