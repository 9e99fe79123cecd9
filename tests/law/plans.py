"""Random query networks, node by node: every operator, shared sub-plans, types that fit."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hypothesis import strategies as st

from penstock.errors import PenstockError
from penstock.plan import aggregates
from penstock.plan.expressions import TRUE, Column, Expression, Literal, conjunction
from penstock.plan.functions import call
from penstock.plan.network import Query
from penstock.plan.node import Kind, Node, walk
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
    SemiJoin,
    Source,
    Table,
    Union,
    Window,
    WindowAggregate,
)
from penstock.plan.schema import Schema
from penstock.plan.types import BIGINT, Type
from penstock.plan.windows import Range, Rows, SlideRange, SlideRows, Sliding, WindowSpec
from tests.law.values import values

MOST_JOINS = 3
MOST_NODES = 14
_COMPARISONS = ("=", "<>", "<>", "<", "<=", ">", ">=", ">=")
_FUNCTIONS = ("count", "sum", "avg", "min", "max", "stddev", "stddev_pop", "variance", "var_pop", "approx_quantile")
_AXIS = ("int", "bigint", "double", "timestamp", "date", "decimal")


@st.composite
def queries(
    draw: st.DrawFn, sources: Sequence[Source], tables: Sequence[Table], filters: bool = False
) -> tuple[Query, ...]:
    """One to four queries, which may have parts in common; `filters` asks for filters that have a choice of orders."""
    maker = _Maker(draw, sources, tables, filters)
    roots = [maker.root() for _ in range(draw(st.integers(1, 4)))]
    return tuple(Query(f"q{i}", root) for i, root in enumerate(roots))


class _Maker:
    """Draws nodes. What was made is drawn again now and then: that is how sub-plans come to be shared."""

    def __init__(self, draw: st.DrawFn, sources: Sequence[Source], tables: Sequence[Table], filters: bool) -> None:
        self.draw = draw
        self.most_filters = 5 if filters else 2
        self.pipelined = filters
        self.sources = list(sources)
        self.tables = list(tables)
        self.made: list[Node] = []

    def one_in(self, n: int) -> bool:
        return self.draw(st.integers(1, n)) == n

    def choose(self, choices: Sequence[str]) -> str:
        return self.draw(st.sampled_from(list(choices)))

    def root(self) -> Node:
        depth = self.draw(st.sampled_from((1, 1, 2, 2, 3)))
        if self.pipelined and not self.one_in(3):
            return self.filter(self.stream(depth - 1)) if self.one_in(3) else self.pipeline(depth)
        return self.relation(depth) if self.draw(st.booleans()) else self.stream(depth)

    def keep(self, node: Node) -> Node:
        self.made.append(node)
        return node

    def again(self, kind: Kind) -> Node | None:
        """Something that was made before."""
        known = [n for n in self.made if n.kind is kind]
        return self.draw(st.sampled_from(known)) if known and self.one_in(3) else None

    # Streams

    def stream(self, depth: int) -> Node:
        found = self.again(Kind.STREAM)
        if found is not None:
            return found
        if depth <= 0:
            return self.draw(st.sampled_from(self.sources))
        kinds = ("filter", "map", "delay", "union", "i", "i", "d", "r", "window", "window", "bsort", "resample", "read")
        return self.keep(self._stream(self.choose(kinds), depth - 1))

    def _stream(self, kind: str, depth: int) -> Node:
        match kind:
            case "filter":
                return self.filter(self.stream(depth))
            case "map":
                return self.map(self.stream(depth))
            case "delay":
                return Delay(self.stream(depth), 0.0)
            case "union":
                return self.aligned(lambda a, b: Union((a, b)), self.stream(depth), self.stream(depth))
            case "i":
                return IStream(self.relation(depth))
            case "d":
                return DStream(self.relation(depth))
            case "r":
                return self.rstream(self.relation(depth))
            case "window":
                return self.window_aggregate(self.stream(depth))
            case "bsort":
                input = self.stream(depth)
                return BSort(input, self.choose(input.schema.names), self.draw(st.integers(0, 3)))
            case "resample":
                return self.resample(self.stream(depth), self.stream(depth))
        left, right = self.stream(depth), self.relation(depth)
        return self.narrowed(Read(left, right, self.predicate((left, right))))

    def pipeline(self, depth: int) -> Node:
        """What a stream's elements pass of filters: conditions and semijoins."""
        stream = self.stream(depth - 2)
        node: Node = Window(self.filter(stream) if self.draw(st.booleans()) else stream, Range(0))
        for _ in range(self.draw(st.integers(1, 3))):
            node = self.semijoin(node, self.relation(depth - 1))
        return IStream(node) if self.draw(st.booleans()) else node

    def rstream(self, relation: Node) -> Node:
        """Half of them with boundaries."""
        if self.one_in(2):
            return RStream(relation)
        return RStream(relation, ((self.draw(st.integers(3, 9)), self.draw(st.integers(-2, 4))),))

    def resample(self, left: Node, right: Node) -> Node:
        numbers = [f.name for f in right.schema if f.type.numeric]
        if not numbers:
            return left
        return self.narrowed(Resample(left, right, (self.choose(numbers),), self.draw(st.integers(0, 8))))

    # Relations

    def relation(self, depth: int) -> Node:
        found = self.again(Kind.RELATION)
        if found is not None:
            return found
        if depth <= 0:
            if self.tables and self.one_in(4):
                return self.draw(st.sampled_from(self.tables))
            return self.keep(self.window(self.stream(0)))
        kinds = ("window", "window", "filter", "map", "delay", "union", "join", "join", "semi", "semi", "distinct",
                 "except", "intersect", "aggregate", "aggregate", "aggregate")  # fmt: skip
        return self.keep(self._relation(self.choose(kinds), depth - 1))

    def _relation(self, kind: str, depth: int) -> Node:
        match kind:
            case "window":
                return self.window(self.stream(depth))
            case "filter":
                return self.filter(self.relation(depth))
            case "map":
                return self.map(self.relation(depth))
            case "delay":
                return Delay(self.relation(depth), 0.0)
            case "union":
                return self.aligned(lambda a, b: Union((a, b)), self.relation(depth), self.relation(depth))
            case "join":
                return self.join(depth)
            case "semi":
                return self.semijoin(self.relation(depth), self.relation(depth))
            case "distinct":
                return Distinct(self.relation(depth))
            case "except":
                every = self.draw(st.booleans())
                return self.aligned(lambda a, b: Except(a, b, every), self.relation(depth), self.relation(depth))
            case "intersect":
                every = self.draw(st.booleans())
                return self.aligned(lambda a, b: Intersect(a, b, every), self.relation(depth), self.relation(depth))
        return self.aggregate(self.relation(depth))

    def window(self, stream: Node) -> Node:
        spec = self.spec(stream.schema)
        return Window(stream, spec, isinstance(spec, Sliding) and self.one_in(3) and _free(stream.schema))

    def spec(self, schema: Schema) -> WindowSpec:
        if self.one_in(3):
            return self.sliding(schema)
        if self.draw(st.booleans()):
            on = self.axis(schema) if self.one_in(5) else None
            return Range(self.draw(st.sampled_from((0, 0, 1, 3, 10, None))), on)
        return Rows(self.draw(st.sampled_from((1, 1, 2, 3, 5, None))), self.by(schema))

    def sliding(self, schema: Schema) -> Sliding:
        size, slide = self.draw(st.integers(1, 9)), self.draw(st.integers(1, 9))
        if self.draw(st.booleans()):
            on = self.axis(schema) if self.one_in(5) else None
            return SlideRange(size, slide, self.draw(st.integers(-2, 3)), on)
        return SlideRows(size, slide, self.draw(st.integers(-2, 3)), self.by(schema))

    def axis(self, schema: Schema) -> str | None:
        names = [f.name for f in schema if f.type.name in _AXIS and f.type.precision <= 18]
        return self.choose(names) if names else None

    def by(self, schema: Schema) -> tuple[str, ...]:
        return () if self.draw(st.booleans()) else (self.choose(schema.names),)

    def join(self, depth: int) -> Node:
        members = [self.relation(depth - 1) for _ in range(self.draw(st.sampled_from((2, 2, 3))))]
        return self.narrowed(Join(tuple(members), self.predicate(members)))

    def semijoin(self, left: Node, right: Node) -> Node:
        negated = self.draw(st.booleans())
        predicate = self.predicate((left, right))
        return SemiJoin(left, right, predicate, negated, negated and self.draw(st.booleans()))

    def aggregate(self, input: Node) -> Node:
        keys = self.keys(input.schema)
        return Aggregate(input, keys, self.calls(input.schema, keys, _in_order(input)))

    def window_aggregate(self, input: Node) -> Node:
        keys = self.keys(input.schema)
        node = WindowAggregate(input, self.sliding(input.schema), keys, self.calls(input.schema, keys, True))
        return node if not self.one_in(3) else self.map(node)

    def keys(self, schema: Schema) -> tuple[str, ...]:
        names = [n for n in schema.names if not n.startswith("window_")]
        chosen = self.draw(st.lists(st.sampled_from(names), max_size=2, unique=True)) if names else []
        return tuple(chosen)

    def calls(self, schema: Schema, keys: Sequence[str], ordered: bool) -> tuple[AggregateCall, ...]:
        made = [self.aggregate_call(schema, ordered) for _ in range(self.draw(st.integers(1, 2)))]
        taken = {*keys, *schema.names}
        return tuple(
            AggregateCall(_fresh(taken, "x"), c.function, c.argument, c.type, c.distinct, c.parameters) for c in made
        )

    def aggregate_call(self, schema: Schema, ordered: bool) -> AggregateCall:
        function = self.choose((*_FUNCTIONS, "first", "last") if ordered else _FUNCTIONS)
        argument = schema.fields[self.draw(st.integers(0, len(schema) - 1))]
        distinct = function in ("count", "sum", "avg") and self.one_in(4)
        parameters = (0.5,) if function == "approx_quantile" else ()
        try:
            t = aggregates.resolve(function, argument.type, parameters, distinct)
        except PenstockError:
            return AggregateCall("x", "count", None, BIGINT)
        return AggregateCall("x", function, argument.name, t, distinct, parameters)

    # What streams and relations share

    def filter(self, input: Node) -> Node:
        parts = [self.condition(input.schema) for _ in range(self.draw(st.integers(1, self.most_filters)))]
        return Filter(input, conjunction(tuple(parts)))

    def condition(self, schema: Schema) -> Expression:
        column = self.column(schema)
        kind = self.choose(("compare", "compare", "null", "or", "in"))
        if kind == "null":
            return call("is_null" if self.draw(st.booleans()) else "is_not_null", column)
        if kind == "or":
            return call("or", self.compared(column), self.compared(self.column(schema)))
        if kind == "in":
            return call("in", column, self.literal(column.type), self.literal(column.type))
        return self.compared(column)

    def compared(self, column: Expression) -> Expression:
        return call(self.choose(_COMPARISONS), column, self.literal(column.type))

    def literal(self, t: Type) -> Literal:
        return Literal(self.draw(values(t)), t)

    def column(self, schema: Schema) -> Column:
        f = schema.fields[self.draw(st.integers(0, len(schema) - 1))]
        return Column(f.name, f.type)

    def map(self, input: Node) -> Node:
        outputs = [(f"m{i}", self.expression(input.schema)) for i in range(self.draw(st.integers(1, 3)))]
        return Map(input, tuple(outputs))

    def expression(self, schema: Schema) -> Expression:
        column = self.column(schema)
        if column.type.name not in ("int", "bigint", "double") or self.draw(st.booleans()):
            return column
        return call(self.choose(("+", "-", "*", "%")), column, self.literal(column.type))

    def aligned(self, make: Callable[[Node, Node], Node], left: Node, right: Node) -> Node:
        """Both sides with the columns whose types they have in common."""
        pairs, spare = [], list(right.schema)
        for f in left.schema:
            match = next((g for g in spare if g.type == f.type), None)
            if match is not None:
                spare.remove(match)
                pairs.append((f, match))
        if not pairs:
            return left
        sides = [tuple((f"u{i}", Column(p[s].name, p[s].type)) for i, p in enumerate(pairs)) for s in (0, 1)]
        return make(Map(left, sides[0]), Map(right, sides[1]))

    def narrowed(self, node: Node) -> Node:
        """The node with few columns and plain names; another in its place where the plan would grow too costly."""
        if sum(isinstance(n, Join | Read) for n in walk(node)) > MOST_JOINS or len(list(walk(node))) > MOST_NODES:
            return node.inputs[0]
        names = self.draw(st.lists(st.sampled_from(node.schema.fields), min_size=1, max_size=4, unique=True))
        return Map(node, tuple((f"j{i}", Column(f.name, f.type)) for i, f in enumerate(names)))

    def predicate(self, members: Sequence[Node]) -> Expression:
        """Equalities that connect the members where there are columns of one type, now and then something else."""
        parts = [self.connection(members, i) for i in range(1, len(members))]
        found = [p for p in parts if p is not None]
        if len(members) == 2 and self.one_in(8):
            found = []
        return conjunction(tuple(found)) if found else TRUE

    def connection(self, members: Sequence[Node], i: int) -> Expression | None:
        j = self.draw(st.integers(0, i - 1))
        pairs = [
            (Column(f"{j}.{a.name}", a.type), Column(f"{i}.{b.name}", b.type))
            for a in members[j].schema
            for b in members[i].schema
            if a.type == b.type
        ]
        if not pairs:
            return None
        operator = "=" if not self.one_in(5) else self.choose(_COMPARISONS)
        return call(operator, *self.draw(st.sampled_from(pairs)))


def _in_order(node: Node) -> bool:
    """True where an aggregate over `node` may read the order of a stream."""
    while isinstance(node, Filter | Map | Delay):
        node = node.inputs[0]
    return isinstance(node, Window)


def _free(schema: Schema) -> bool:
    return not {"window_start", "window_end"} & set(schema.names)


def _fresh(taken: set[str], stem: str) -> str:
    name = next(f"{stem}{i}" for i in range(len(taken) + 1) if f"{stem}{i}" not in taken)
    taken.add(name)
    return name
