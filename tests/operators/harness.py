"""Runs a plan twice, over trains cut anywhere and over whole histories, and compares net counts of (timestamp, row).

    node = Distinct(Window(source("S", "a int, b string"), Range(5)))
    check(node, {"S": [Event(0, 0, (1, "x")), Event(3, 1, (1, "x"))]}, cuts=[2, 4])

`cuts` are the instants at which time is cut; END comes last by itself. With `shuffle` operators run at different times,
each as far as its inputs have come, as under a scheduler. The strategies below draw schemas, histories and cuts.
"""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from decimal import Decimal
from random import Random
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
from hypothesis import strategies as st

from penstock.operators import registry, row_pool, semijoin
from penstock.operators.base import Context, Event, Row, Stream, Timeline
from penstock.operators.columns import store
from penstock.operators.columns.dictionary import Dictionaries
from penstock.operators.columns.train import Train, concat_trains
from penstock.operators.columns.vector import Vector, interned, physical
from penstock.operators.histories import row_key
from penstock.operators.kernels import index
from penstock.plan.node import Kind, Node, walk
from penstock.plan.nodes import Source, Table
from penstock.plan.schema import Schema
from penstock.plan.types import Type
from penstock.plan.windows import END

Fed = Mapping[str, Stream]
Net = dict[tuple[int, Any], int]
_Emitted = dict[Node, list[tuple[int, Train]]]


class Element(NamedTuple):
    """An element as a test reads it."""

    ts: int
    sign: int
    row: Row


def source(name: str, columns: str) -> Source:
    """A stream."""
    return Source(name, Schema.parse(columns))


def table(name: str, columns: str) -> Table:
    """A loaded relation."""
    return Table(name, Schema.parse(columns))


def events(*rows: tuple[Any, ...]) -> Stream:
    """Events from (ts, value, ...), placed in the given order."""
    return [Event(row[0], i, tuple(row[1:])) for i, row in enumerate(rows)]


def check(node: Node, fed: Fed, cuts: Iterable[int] = (), shuffle: int | None = None) -> None:
    """Asserts that the operators of `node` give what their references give."""
    expected = net_of_reference(node, fed)
    found = net(run(node, fed, cuts, shuffle=shuffle))
    assert found == expected, f"fast minus reference: {_apart(found, expected)}"


def net_of_reference(node: Node, fed: Fed) -> Net:
    """The net counts of the references' result."""
    history: Any = reference(node, fed)
    if node.kind is Kind.STREAM:
        return net(Element(e.ts, 1, e.row) for e in history)
    return net(_differences(history))


def reference(node: Node, fed: Fed) -> Stream | Timeline:
    """The references' result."""
    done: dict[Node, Any] = {}
    for n in walk(node):
        done[n] = registry.reference(n, *(done[i] for i in n.inputs) if n.inputs else (fed.get(_name(n), []),))
    result: Stream | Timeline = done[node]
    return result


def run(node: Node, fed: Fed, cuts: Iterable[int] = (), *, shuffle: int | None = None) -> list[Element]:
    """The elements that the operators emit; checks that each train is in order and inside its span of time."""
    return Runner([node], shuffle).feed(fed, [*sorted(set(cuts)), END])[node]


@contextmanager
def cramped(on: bool = True) -> Iterator[None]:
    """Inside, stores, pools and indexes have no spare room (if `on`), so that they grow and move at every turn, and
    semijoins take few elements at once."""
    if not on:
        yield
        return
    with ExitStack() as patches:
        for module, name in ((row_pool, "MINIMUM_ROWS"), (store, "MINIMUM_ROWS"), (index, "MINIMUM_CAPACITY")):
            patches.enter_context(patch.object(module, name, 1))
        for module in (row_pool, store):
            patches.enter_context(patch.object(module, "SLACK", 0))
        patches.enter_context(patch.object(semijoin, "SLICE", 2))
        yield


class Runner:
    """The operators of some plans over one context, equal sub-plans once. It can be fed further, and copied."""

    def __init__(self, roots: Sequence[Node], shuffle: int | None = None, context: Context | None = None) -> None:
        self.context = context or Context()
        self.nodes = list(walk(*roots))
        self.operators = {n: registry.build(n, self.context) for n in self.nodes}
        self.random = None if shuffle is None else Random(shuffle)
        self.done: dict[Node, int] = {}

    def feed(self, fed: Fed, untils: Sequence[int]) -> dict[Node, list[Element]]:
        """Runs every operator up to the last of `untils`; what each emitted meanwhile."""
        emitted: _Emitted = {n: [] for n in self.nodes}
        places = dict.fromkeys(self.nodes, 0)
        while any(p < len(untils) for p in places.values()):
            node = self._next(places, len(untils))
            limit = min([places[i] for i in node.inputs], default=len(untils))
            places[node] = limit if self.random and self.random.random() < 0.5 else places[node] + 1
            emitted[node].append((until := untils[places[node] - 1], self._step(node, fed, emitted, until)))
        known = self.context.dictionaries
        return {n: [e for _, t in emitted[n] for e in elements(t, n.schema, known)] for n in self.nodes}

    def _next(self, places: dict[Node, int], last: int) -> Node:
        ready = [n for n in self.nodes if places[n] < min([places[i] for i in n.inputs], default=last)]
        return self.random.choice(ready) if self.random else min(ready, key=lambda n: places[n])

    def _step(self, node: Node, fed: Fed, emitted: _Emitted, until: int) -> Train:
        since = self.done.get(node, -END - 1)
        self.done[node] = until
        if node.inputs:
            inputs = [self._between(i, emitted[i], since, until) for i in node.inputs]
        else:
            fresh = [e for e in fed.get(_name(node), []) if since <= e.ts < until]
            inputs = [train(node.schema, sorted(fresh, key=lambda e: e[:2]), self.context.dictionaries)]
        out = self.operators[node].process(inputs, until)
        ts = out.ts
        assert (np.diff(ts) >= 0).all(), f"{node.label} emits out of order: {ts}"
        inside = not len(ts) or (since <= ts[0] and (ts[-1] < until or until == END))
        assert inside, f"{node.label} emits {ts} in [{since}, {until})"
        return out

    def _between(self, node: Node, emitted: list[tuple[int, Train]], since: int, until: int) -> Train:
        if not emitted:
            return Train.empty(node.schema)
        whole = concat_trains([t for _, t in emitted])
        start, stop = np.searchsorted(whole.ts, [since, until]).tolist()
        return whole.slice(start, len(whole) if until == END else stop)

    def copied(self) -> Runner:
        """This runner after a stop and a start."""
        again: Runner = pickle.loads(pickle.dumps(self))
        return again


def train(schema: Schema, history: Iterable[Event], dictionaries: Dictionaries) -> Train:
    """A train of these events, in their order."""
    listed = list(history)
    columns = [encode([e.row[i] for e in listed], f.type, dictionaries) for i, f in enumerate(schema)]
    ts = np.array([e.ts for e in listed], np.int64)
    seq = np.array([e.seq for e in listed], np.int64)
    return Train(columns, ts, seq=seq if seq.any() else None)


def elements(t: Train, schema: Schema, dictionaries: Dictionaries) -> list[Element]:
    """The elements of a train, as rows."""
    columns = [decode(v, f.type, dictionaries) for v, f in zip(t.columns, schema, strict=True)]
    rows = list(zip(*columns, strict=True)) if columns else [()] * len(t)
    return [Element(*e) for e in zip(t.ts.tolist(), t.sign.tolist(), rows, strict=True)]


def encode(values: list[Any], t: Type, dictionaries: Dictionaries) -> Vector:
    """Internal values as a vector."""
    if interned(t):
        return dictionaries.of(t).encode(values)
    plain = [0 if v is None else int(v.scaleb(t.scale)) if isinstance(v, Decimal) else v for v in values]
    nulls = np.array([v is None for v in values], np.bool_)
    return Vector(np.array(plain, physical(t)), nulls if nulls.any() else None)


def decode(vector: Vector, t: Type, dictionaries: Dictionaries) -> list[Any]:
    """The inverse of `encode`."""
    if interned(t):
        return dictionaries.of(t).decode(vector)
    values = vector.values.tolist()
    values = [Decimal(v).scaleb(-t.scale) for v in values] if t.name == "decimal" else values
    nulls = [False] * len(values) if vector.nulls is None else vector.nulls.tolist()
    return [None if n else v for v, n in zip(values, nulls, strict=True)]


def net(listed: Iterable[Element]) -> Net:
    """How often each (timestamp, row) comes in on balance."""
    counts: Counter[tuple[int, Any]] = Counter()
    for e in listed:
        counts[(e.ts, row_key(e.row))] += e.sign
    return {k: c for k, c in counts.items() if c}


def _differences(timeline: Timeline) -> Iterable[Element]:
    before: list[Row] = []
    for ts, rows in timeline:
        yield from (Element(ts, -1, r) for r in before)
        yield from (Element(ts, 1, r) for r in rows)
        before = rows


def _apart(found: Net, expected: Net) -> str:
    keys = sorted({*found, *expected}, key=lambda k: k[0])
    pairs = ((k, found.get(k, 0), expected.get(k, 0)) for k in keys)
    return "; ".join(f"{k}: {f} - {e}" for k, f, e in pairs if f != e)


def _name(node: Node) -> str:
    assert isinstance(node, Source | Table)
    return node.name


VALUES: Mapping[str, st.SearchStrategy[Any]] = {
    "boolean": st.booleans(),
    "int": st.integers(0, 3),
    "bigint": st.sampled_from([0, 1, -1, 2**63 - 1, -(2**63)]),
    "double": st.sampled_from([0.0, -0.0, 1.5, -2.25, float("nan"), float("inf")]),
    "string": st.sampled_from(["", "a", "b", "ab", "é"]),
    "timestamp": st.integers(-3, 3),
    "decimal": st.sampled_from([Decimal("0.00"), Decimal("1.50"), Decimal("-1.50")]),
    "array": st.sampled_from([(), (1,), (1, 2)]),
}
TYPES = ("boolean", "int", "bigint", "double", "string", "timestamp", "decimal(5,2)", "decimal(30,2)", "array<int>")


def schemas(prefix: str = "c", least: int = 1, most: int = 3) -> st.SearchStrategy[Schema]:
    """Schemas of a few columns of any type."""
    types = st.lists(st.sampled_from(TYPES), min_size=least, max_size=most)
    return types.map(lambda ts: Schema.parse(", ".join(f"{prefix}{i} {t}" for i, t in enumerate(ts))))


def rows(schema: Schema) -> st.SearchStrategy[Row]:
    """Rows with few distinct values, NULLs among them."""
    return st.tuples(*(st.one_of(st.none(), VALUES[t.name], VALUES[t.name]) for t in schema.types))


def histories(schema: Schema, first: int = -6, last: int = 20, most: int = 20,
              placed: bool = True) -> st.SearchStrategy[Stream]:  # fmt: skip
    """Streams with many equal timestamps; not `placed`: as a derived stream, where values order them."""

    def arranged(pairs: list[tuple[int, Row]]) -> Stream:
        return [Event(ts, i + 1 if placed else 0, row) for i, (ts, row) in enumerate(pairs)]

    return st.lists(st.tuples(st.integers(first, last), rows(schema)), max_size=most).map(arranged)


def cuts(first: int = -8, last: int = 40) -> st.SearchStrategy[list[int]]:
    """Where time is cut."""
    return st.lists(st.integers(first, last), max_size=8)
