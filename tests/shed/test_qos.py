"""What queries declare: read, made concave, refused with a reason; and which drops they allow."""

from __future__ import annotations

import pytest

from penstock.cql import compile_script
from penstock.errors import PenstockError
from penstock.plan.network import Query
from penstock.plan.nodes import Source
from penstock.plan.rewrites import optimize
from penstock.plan.schema import Schema
from penstock.shed.allowed import places
from penstock.shed.graph import LINEAR
from penstock.shed.qos import QoS, qos
from penstock.shed.values import Interval

S = Source("s", Schema.parse("src string, x double, n int"))


def read(**options: str | int | float) -> QoS:
    return qos(Query("q", S, tuple(options.items())))


def test_without_a_word_every_result_is_worth_the_same() -> None:
    assert read() == QoS(loss=LINEAR)


def test_loss_is_read_and_what_is_not_concave_is_replaced_and_said() -> None:
    assert read(loss="100: 1.0, 50: 0.7, 0: 0").loss.points == ((0.0, 0.0), (0.5, 0.7), (1.0, 1.0))
    bent = read(loss="100: 1.0, 80: 0.9, 50: 0.1, 0: 0")
    assert bent.loss.points == ((0.0, 0.0), (0.8, 0.9), (1.0, 1.0))
    assert bent.notes == ("loss: the function is not concave; its concave envelope stands for it: "
                          "'100: 1, 80: 0.9, 0: 0'",)  # fmt: skip


def test_values_are_half_open_intervals_or_categories() -> None:
    value = read(value="x: 0..50 = 0.2, 50..101 = 0.4..1.0, else = 0.1").value
    assert value is not None
    assert [value.utility(v) for v in (0, 49.9, 50, 75.5, 101, -1, None)] == [0.2, 0.2, 0.4, 0.7, 0.1, 0.1, 0.1]
    src = read(value="src: '10.0.0.1' = 1.0, else = 0.2").value
    assert src is not None
    assert [src.utility(v) for v in ("10.0.0.1", "10.0.0.2", None)] == [1.0, 0.2, 0.2]


def test_a_linear_utility_is_cut_into_chunks_with_the_average_of_each() -> None:
    value = read(value="x: 0..80 = 0..0.8, else = 0").value
    assert value is not None
    chunks = value.chunked().intervals
    assert chunks[0] == Interval(0, 10, pytest.approx(0.05), pytest.approx(0.05))
    assert chunks[-1] == Interval(70, 80, pytest.approx(0.75), pytest.approx(0.75))


def test_a_gap_of_b_results_lets_b_of_b_plus_one_go() -> None:
    gap = read(max_gap=9).max_gap
    assert gap is not None
    assert gap.drop_rate == pytest.approx(0.9)
    assert read(max_gap="1 minute").max_gap.span_us == 60_000_000  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("option", "text", "said"),
    [
        ("loss", "100: 1.0, 120: 0.5", "120 is no percentage"),
        ("loss", "100: 1.5", "between 0 and 1"),
        ("loss", "100: 0.5, 50: 0.7", "cannot be worth less"),
        ("loss", "100: 1, 50: x", "'x' is no number"),
        ("loss", "100: 1, 100: 0.5", "given twice"),
        ("value", "y: 0..1 = 1", "unknown output column 'y'"),
        ("value", "src: a = 1", "needs quotes"),
        ("value", "src: 0..5 = 1", "has no intervals"),
        ("value", "x: 0..5 = 1, 4..6 = 0.5", "overlap"),
        ("value", "x: 5..0 = 1", "is empty"),
        ("value", "x: 0..5 = 1, 7 = 0.5", "do not go together"),
        ("latency", "1 second: 0.5, 2 seconds: 1", "cannot be worth more"),
    ],
)
def test_mistakes_are_said_with_the_query_and_an_example(option: str, text: str, said: str) -> None:
    with pytest.raises(PenstockError) as refused:
        read(**{option: text})
    assert said in str(refused.value)
    assert "query 'q'" in str(refused.value)


STREAMS = "CREATE STREAM s (k INT, x DOUBLE); CREATE STREAM t (k INT, y DOUBLE);"


@pytest.mark.parametrize(
    ("query", "at"),
    [
        ("SELECT k, x + 1 AS z FROM s WHERE x > 3", ["stream s"]),
        ("SELECT s.k FROM s [Range 5 Seconds], t [Now] WHERE s.k = t.k", ["stream s", "stream t"]),
        ("SELECT k FROM s [Rows 10] WHERE x > 1", ["window [Rows 10]"]),
        ("SELECT DISTINCT k FROM s [Range 5 Seconds]", ["Distinct -> q"]),
        ("SELECT k, count(*) AS c FROM s [Range 5 Seconds] GROUP BY k", ["aggregate"]),
        ("SELECT k, count(*) AS c FROM s [Range 5 Seconds Slide 1 Second] GROUP BY k", ["aggregate"]),
        ("SELECT k FROM s [Range 5 Seconds] EXCEPT ALL SELECT k FROM t [Range 5 Seconds]", ["stream s", "Except"]),
        ("SELECT k FROM s [Range 5 Seconds] WHERE k NOT IN (SELECT k FROM t [Range 5 Seconds])", ["stream s", "anti"]),
        ("SELECT ISTREAM(k) FROM s [Range 5 Seconds]", ["stream s"]),
        ("SELECT DSTREAM(k) FROM s [Range 5 Seconds]", ["DStream"]),
        ("SELECT RSTREAM(k) FROM s [Range 5 Seconds]", ["RStream"]),
        ("SELECT ISTREAM(k) FROM s [Range 5 Seconds] WHERE k IN (SELECT k FROM t [Range 5 Seconds])",
         ["stream s", "semijoin"]),
        ("SELECT k FROM s [Range 5 Seconds] WHERE k IN (SELECT k FROM t [Range 5 Seconds])", ["stream s", "stream t"]),
    ],
)  # fmt: skip
def test_table_3_1_extended_where_a_query_may_be_shed(query: str, at: list[str]) -> None:
    network = optimize(compile_script(f"{STREAMS} CREATE QUERY q AS {query}"))
    found = [str(place.location) for place in places(network.query("q"))]
    assert len(found) == len(at), found
    assert all(seen.startswith(wanted) for seen, wanted in zip(found, at, strict=True)), found
