"""Random column types, values and arrivals: few distinct values, so that keys meet; nulls, ties, extremes."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from hypothesis import strategies as st

from penstock.lane.events import Arrival
from penstock.plan.network import RelationDefinition, StreamDefinition
from penstock.plan.schema import Schema
from penstock.plan.types import Type, parse_type
from penstock.plan.windows import BEGIN

NAN = float("nan")
KEY_TYPES = ("int", "string", "bigint", "double")
NUMBER_TYPES = ("int", "bigint", "double", "decimal(6, 2)")
OTHER_TYPES = ("boolean", "decimal(30, 2)", "timestamp", "date", "interval", "array<int>", "string", "double", "int")
_COMMON: dict[str, Sequence[Any]] = {
    "boolean": (True, False),
    "int": (0, 1, 2, 3, -1),
    "bigint": (0, 1, 2, 3, 7),
    "double": (0.0, 1.0, 2.0, 0.5, -1.5),
    "decimal": (Decimal("0.00"), Decimal("1.00"), Decimal("1.50"), Decimal("-2.25")),
    "string": ("a", "b", "ab", ""),
    "timestamp": (0, 1, 5, 86_400_000_000),
    "date": (0, 1, 19_000),
    "interval": (0, 1, 1_000_000),
    "array": ((), (1,), (1, None), (2, 1)),
}
_EXTREME: dict[str, Sequence[Any]] = {
    "boolean": (True,),
    "int": ((1 << 31) - 1, -(1 << 31)),
    "bigint": ((1 << 63) - 1, -(1 << 63)),
    "double": (NAN, float("inf"), float("-inf"), -0.0, 1e308, 5e-324, 0.1),
    "decimal": (Decimal("9999.99"), Decimal("-9999.99")),
    "string": ("\u00e9", "\U0001f600", "a\x00", "%_"),
    "timestamp": (-1, -(1 << 61)),
    "date": (-719_162, 2_932_896),
    "interval": (-1, 1 << 40),
    "array": ((None, None), (1, 1, 1)),
}
ARRIVALS = (3, 6, 12, 18, 24, 30, 1, 0)
_STEPS = (0, 0, 0, 1, 1, 2, 5)
_DELAYS = (0, 0, 0, 0, 1, 2, 6)


def values(t: Type) -> st.SearchStrategy[Any]:
    """A value of `t`: mostly common, sometimes NULL, rarely extreme."""
    common, extreme = list(_COMMON[t.name]), list(_EXTREME[t.name])
    return st.sampled_from([*common * (1 + 20 // len(common)), None, None, *extreme])


@st.composite
def schemas(draw: st.DrawFn, key: str) -> Schema:
    """`k` of the given type, a number `v`, and up to two more columns."""
    columns = [("k", key), ("v", draw(st.sampled_from(NUMBER_TYPES)))]
    columns += [(f"c{i}", draw(st.sampled_from(OTHER_TYPES))) for i in range(draw(st.integers(0, 2)))]
    return Schema.of((name, parse_type(t)) for name, t in columns)


@st.composite
def declared(draw: st.DrawFn, name: str, key: str) -> StreamDefinition:
    """A stream with a declared skew bound, which its arrivals need not keep."""
    within_us, late = draw(st.sampled_from((0, 0, 3, 10))), draw(st.sampled_from(("keep", "drop")))
    return StreamDefinition(name, draw(schemas(key)), within_us=within_us, late=late)


@st.composite
def arrivals(
    draw: st.DrawFn, streams: Sequence[StreamDefinition], relations: Sequence[RelationDefinition], far: Sequence[int]
) -> list[Arrival]:
    """Arrivals of all streams, about in order: ties, late ones, now and then one of the timestamps `far`; relations are
    loaded, and sometimes given rows later."""
    given: list[Arrival] = []
    for relation in relations:
        for _ in range(draw(st.integers(0, 4))):
            given.append(Arrival(relation.name, BEGIN, 0, draw(_rows(relation.schema))))
    strays = draw(st.integers(0, 19)) == 19
    now = draw(st.integers(-5, 5))
    inputs = [*streams, *streams, *relations]
    moves = st.sampled_from([(step, late, i) for step in _STEPS for late in _DELAYS for i in inputs])
    for _ in range(draw(st.sampled_from(ARRIVALS))):
        step, late, fed = draw(moves)
        now += step
        ts = draw(st.sampled_from(far)) if strays and draw(st.integers(0, 5)) == 5 else now - late
        given.append(Arrival(fed.name, ts, 0, draw(_rows(fed.schema))))
    return [a._replace(seq=i) for i, a in enumerate(given)]


def _rows(schema: Schema) -> st.SearchStrategy[tuple[Any, ...]]:
    return st.tuples(*(values(t) for t in schema.types))
