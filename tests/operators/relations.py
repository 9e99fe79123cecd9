"""Relations of every sort for property tests, over streams A, B and a table T of the same columns."""

from __future__ import annotations

from hypothesis import strategies as st

from penstock.operators.base import Event, Stream
from penstock.plan.node import Node
from penstock.plan.nodes import Distinct, Except, Table, Union, Window
from penstock.plan.schema import Schema
from penstock.plan.windows import BEGIN, Range, Rows, SlideRange
from tests.operators import harness

Fed = dict[str, Stream]


def windows(name: str, schema: Schema) -> st.SearchStrategy[Node]:
    """A short window over stream `name`."""
    stream = harness.source(name, ", ".join(f"{f.name} {f.type}" for f in schema))
    specs = st.one_of(st.builds(Range, st.integers(0, 4)), st.builds(Rows, st.integers(1, 3)),
                      st.builds(SlideRange, st.integers(1, 5), st.integers(1, 5)), st.just(Range(None)))  # fmt: skip
    return specs.map(lambda spec: Window(stream, spec))


def relations(schema: Schema) -> st.SearchStrategy[Node]:
    """A window, the table, or a few of them combined: changes in batches, equal rows of many copies."""
    simple = st.one_of(windows("A", schema), windows("B", schema), st.just(Table("T", schema)))
    combined = st.builds(lambda a, b: Union((a, b)), simple, simple)
    return st.one_of(simple, combined, simple.map(Distinct), st.builds(lambda a, b: Except(a, b, True), simple, simple))


def feeds(schema: Schema) -> st.SearchStrategy[Fed]:
    """Histories of A, B and T; some of T's rows are loaded, others come later."""
    loaded = st.lists(harness.rows(schema), max_size=4)
    later = harness.histories(schema, most=3)
    table = st.builds(lambda rows, more: [*(Event(BEGIN, 0, r) for r in rows), *more], loaded, later)
    history = harness.histories(schema, last=8, most=14)
    return st.fixed_dictionaries({"A": history, "B": history, "T": table})
