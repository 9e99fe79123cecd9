"""Aurora's Read against its reference."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.operators.base import Stream
from penstock.plan.expressions import TRUE, Column, Expression, Literal, conjunction
from penstock.plan.functions import call
from penstock.plan.nodes import Filter, IStream, Read, Window
from penstock.plan.types import DOUBLE, INT, STRING
from penstock.plan.windows import Range, Rows, SlideRange
from tests.operators.harness import check, cuts, events, histories, run, source, table

S = source("S", "k int, s string, d double")
T = table("T", "k int, s string, d double")
K = call("=", Column("0.k", INT), Column("1.k", INT))
PREDICATES: tuple[Expression, ...] = (
    TRUE, K, conjunction((K, call("=", Column("0.s", STRING), Column("1.s", STRING)))),
    call("<", Column("0.d", DOUBLE), Column("1.d", DOUBLE)),
    conjunction((K, call(">", Column("1.d", DOUBLE), Column("0.d", DOUBLE)))),
    call("or", K, call("=", Column("0.s", STRING), Column("1.s", STRING))),
)  # fmt: skip
RELATIONS = (T, Window(S, Rows(1, ("k",))), Window(S, Rows(2)), Window(S, Range(3)), Window(S, SlideRange(4, 2)))
FED = st.fixed_dictionaries({"S": histories(S.schema, most=12), "T": histories(T.schema, most=6)})


READS = st.builds(lambda relation, on: Read(S, relation, on), st.sampled_from(RELATIONS), st.sampled_from(PREDICATES))


@given(READS, FED, cuts(), st.one_of(st.none(), st.integers(0, 99)))
def test_any_read(node: Read, fed: dict[str, Stream], where: list[int], shuffle: int | None) -> None:
    check(node, fed, where, shuffle)


@given(st.sampled_from(PREDICATES), FED, cuts())
def test_reads_of_derived_streams_feed_windows(on: Expression, fed: dict[str, Stream], where: list[int]) -> None:
    """The order of the results is the order of the tuples that found them."""
    derived = IStream(Filter(Window(S, Range(1)), call(">", Column("k", INT), Literal(0, INT))))
    check(Window(Read(S, T, on), Rows(2)), fed, where)
    check(Window(Read(derived, T, on), Rows(2)), fed, where)


def test_a_tuple_meets_the_content_after_all_changes_of_its_instant() -> None:
    current = Window(S, Rows(1, ("k",)))
    found = run(Read(S, current, K), {"S": events((5, 1, "old", 0.0), (5, 1, "new", 0.0))})
    assert sorted(e.row[1:2] + e.row[4:5] for e in found) == [("new", "new"), ("old", "new")]
