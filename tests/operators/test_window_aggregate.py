"""Aggregates over sliding windows: against the naive reference, Aurora's examples, and what users see."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.plan.nodes import WindowAggregate
from penstock.plan.schema import Schema
from penstock.plan.windows import SlideRange, SlideRows, Sliding
from tests.operators.harness import TYPES, check, cuts, histories, source
from tests.operators.test_aggregate import call, calls

WINDOWS: tuple[Sliding, ...] = (
    SlideRange(4, 4), SlideRange(4, 2, 1), SlideRange(5, 3), SlideRange(3, 5, -1), SlideRange(7, 1), SlideRange(2, 6),
    SlideRows(3, 1), SlideRows(2, 2), SlideRows(5, 2, 1), SlideRows(2, 3, -2), SlideRows(3, 2, 0, ("k",)),
    SlideRows(1, 1), SlideRows(2, 1, 0, ("c0",)),
)  # fmt: skip


@given(st.data())
def test_every_aggregate_of_every_type_equals_its_reference(data: st.DataObject) -> None:
    kinds = data.draw(st.lists(st.sampled_from(TYPES), min_size=1, max_size=2))
    columns = "k int, " + ", ".join(f"c{i} {t}" for i, t in enumerate(kinds))
    schema = Schema.parse(columns)
    keys = data.draw(st.sampled_from([(), ("k",), ("k", "c0")]))
    made = calls(schema, [f"c{i}" for i in range(len(kinds))])
    node = WindowAggregate(source("S", columns), data.draw(st.sampled_from(WINDOWS)), keys, made)
    history = data.draw(histories(schema, placed=data.draw(st.booleans())))
    check(node, {"S": history}, data.draw(cuts()))


ATTRIBUTE_WINDOWS = st.builds(
    SlideRange, st.sampled_from([1, 3, 4]), st.sampled_from([1, 2, 3, 5]), st.sampled_from([0, -1, 7]), st.just("a")
)


@given(st.data())
def test_windows_over_an_attribute(data: st.DataObject) -> None:
    kind = data.draw(st.sampled_from(["int", "bigint", "double", "timestamp", "decimal(5,2)"]))
    columns = f"k int, a {kind}, s string"
    schema = Schema.parse(columns)
    made = (*calls(schema, ["s"]), call(schema, "sum", "k"))
    node = WindowAggregate(source("S", columns), data.draw(ATTRIBUTE_WINDOWS), ("k",), made)
    history = [e for e in data.draw(histories(schema)) if kind != "bigint" or abs(e.row[1] or 0) < 2]
    check(node, {"S": history}, data.draw(cuts()))
