"""Joins for tests: relations over a few streams, predicates of every kind."""

from __future__ import annotations

from hypothesis import strategies as st

from penstock.plan.expressions import Column, Expression, Literal, conjunction
from penstock.plan.functions import call
from penstock.plan.node import Node
from penstock.plan.nodes import Filter, Join, Map, Union, Window
from penstock.plan.types import INT, Type
from penstock.plan.windows import Range, Rows, SlideRange, SlideRows, WindowSpec
from tests.operators.harness import histories, source

COLUMNS = "k int, v int, s string, d double"
SOURCES = tuple(source(n, COLUMNS) for n in "ABCD")
A, B, C, D = SOURCES
KINDS = ("k", "k", "string", "double", "mixed", "sum", "compare", "band", "or", "self", "local")
WINDOWS: tuple[WindowSpec, ...] = (
    Rows(1), Rows(3), Rows(None), Range(0), Range(5), Range(None), SlideRange(6, 2), SlideRange(2, 4), SlideRows(4, 2),
    Rows(2, ("k",)),
)  # fmt: skip


def column(name: str, t: Type | None = None) -> Column:
    return Column(name, t or A.schema.type_of(name.partition(".")[2]))


def number(value: int) -> Literal:
    return Literal(value, INT)


def equal(a: str, b: str) -> Expression:
    return call("=", column(a), column(b))


def near(a: str, b: str, distance: int) -> tuple[Expression, Expression]:
    """`a` is at most `distance` from `b`."""
    low, high = call("-", column(b), number(distance)), call("+", column(b), number(distance))
    return call(">=", column(a), low), call("<=", column(a), high)


def join(*members: Node, on: tuple[Expression, ...] = ()) -> Join:
    return Join(members, conjunction(on))


@st.composite
def relations(draw: st.DrawFn, node: Node) -> Node:
    """A window over a stream, sometimes with something above it that keeps or loses its row numbers."""
    window = Window(node, draw(st.sampled_from(WINDOWS)))
    above = draw(st.sampled_from(["window", "window", "filter", "swap", "computed", "union"]))
    k, v, s, d = (column(c) for c in ("0.k", "0.v", "0.s", "0.d"))
    k, v, s, d = (Column(e.name[2:], e.type) for e in (k, v, s, d))
    if above == "filter":
        return Filter(window, call(">", v, number(0)))
    if above == "swap":
        return Map(window, (("k", v), ("v", k), ("s", s), ("d", d)))
    if above == "computed":
        return Map(window, (("k", k), ("v", call("coalesce", v, number(2))), ("s", s), ("d", d)))
    return Union((window, Window(node, Range(1)))) if above == "union" else window


@st.composite
def conjunct(draw: st.DrawFn, sides: int) -> Expression:
    """An equality, a band, a comparison or something general, mostly over two sides."""
    a, b = draw(st.permutations(range(sides)))[:2] if sides > 1 else (0, 0)
    x, y = draw(st.sampled_from("kv")), draw(st.sampled_from("kv"))
    kind = draw(st.sampled_from(KINDS))
    if kind == "string":
        return equal(f"{a}.s", f"{b}.s")
    if kind == "double":
        return equal(f"{a}.d", f"{b}.d")
    if kind == "mixed":
        return call("=", column(f"{a}.{x}"), column(f"{b}.d"))
    if kind == "sum":
        return call("=", call("+", column(f"{a}.k"), column(f"{a}.v")), column(f"{b}.{y}"))
    if kind == "compare":
        return call(draw(st.sampled_from(["<", "<=", ">", ">="])), column(f"{a}.{x}"), column(f"{b}.{y}"))
    if kind == "band":
        return conjunction(near(f"{a}.{x}", f"{b}.{y}", draw(st.integers(0, 1))))
    if kind == "or":
        return call("or", equal(f"{a}.k", f"{b}.k"), call("<", column(f"{a}.d"), column(f"{b}.d")))
    if kind == "self":
        return equal(f"{a}.k", f"{a}.v")
    if kind == "local":
        return call("<>", column(f"{a}.{x}"), number(1))
    return equal(f"{a}.{x}", f"{b}.{y}")


@st.composite
def joins(draw: st.DrawFn) -> Join:
    count = draw(st.integers(2, 4))
    members = [draw(relations(draw(st.sampled_from(SOURCES[:3])))) for _ in range(count)]
    predicates = draw(st.lists(conjunct(count), min_size=count - 1, max_size=count))
    return Join(tuple(members), conjunction(tuple(predicates)))


FED = st.fixed_dictionaries({s.name: histories(s.schema, most=8) for s in SOURCES[:3]})
