"""The testing kit: what it takes, what it refuses, and that engines and keywords do not change results."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.cql import compile_script
from penstock.errors import PenstockError
from penstock.plan.windows import BEGIN
from penstock.testing import Element, evaluate, net

SCRIPT = """
CREATE STREAM s (ts TIMESTAMP, a INT, b STRING) TIMESTAMP BY ts;
CREATE STREAM t (k INT, v DOUBLE);
CREATE QUERY big AS SELECT a, b FROM s WHERE a > 1;
CREATE QUERY both AS SELECT s.b, t.v FROM s [Range 10], t [Rows 2] WHERE s.a = t.k;
"""
EVENTS: list[tuple[str, int, dict[str, Any]]] = [
    ("s", 5, {"a": 1, "b": "x"}),
    ("t", 6, {"k": 1, "v": 0.5}),
    ("s", 9, {"a": 2}),
    ("s", 7, {"a": 1, "b": "y"}),
    ("t", 12, {"k": 2, "v": float("nan")}),
]
ENGINES = ["reference", "lane"]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_stream_is_its_insertions(engine: str) -> None:
    result = evaluate(SCRIPT, EVENTS, engine=engine)
    assert result["big"] == [Element(9, 1, {"a": 2, "b": None})]
    assert result.queries == ["big", "both"]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_relation_is_its_changes(engine: str) -> None:
    found = net(evaluate(SCRIPT, EVENTS, engine=engine)["both"])
    assert {k[0]: c for k, c in found.items()} == {6: 1, 7: 1, 12: 1, 16: -1, 18: -1, 20: -1}
    assert {k[1][0] for k in found} == {"x", "y", None}


@pytest.mark.parametrize("engine", ENGINES)
def test_elements_come_in_the_order_of_time_and_leave_before_they_enter(engine: str) -> None:
    for elements in evaluate(SCRIPT, EVENTS, engine=engine).elements.values():
        assert [(e.timestamp, e.sign) for e in elements] == sorted((e.timestamp, e.sign) for e in elements)


@pytest.mark.parametrize(
    "how",
    [
        {"batches": 1},
        {"batches": [2, 0, 1]},
        {"batches": 2, "scheduler": "chain"},
        {"scheduler": "greedy"},
        {"scheduler": "round-robin", "sharing": False},
        {"lanes": 3, "batches": 2},
        {"shed": None, "caches": False, "constraints": (), "controller": None},
        {"seed": 7},
    ],
)
def test_no_keyword_changes_a_result(how: dict[str, Any]) -> None:
    expected = evaluate(SCRIPT, EVENTS, engine="reference")
    found = evaluate(SCRIPT, EVENTS, **how)
    assert {q: net(found[q]) for q in found.queries} == {q: net(expected[q]) for q in expected.queries}


@pytest.mark.parametrize("engine", ENGINES)
def test_without_close_time_stands_right_after_the_last_event(engine: str) -> None:
    result = evaluate(SCRIPT, EVENTS, engine=engine, close=False)
    assert {e.timestamp: e.sign for e in result["both"]} == {6: 1, 7: 1, 12: 1}
    assert [e.timestamp for e in result["big"]] == [9]


@pytest.mark.parametrize("engine", ENGINES)
def test_values_go_in_and_come_out_as_a_user_knows_them(engine: str) -> None:
    types = "d DATE, n DECIMAL(6, 2), w DECIMAL(30, 1), xs ARRAY<INT>, t TIMESTAMP, o BOOLEAN, z STRING"
    script = f"CREATE STREAM s ({types}); CREATE QUERY q AS SELECT * FROM s WHERE o"
    row = {"d": "2024-02-29", "n": "1.5", "w": Decimal(7), "xs": [1, None], "t": dt.datetime(1970, 1, 1, 0, 0, 1)}
    (element,) = evaluate(script, [("s", 3, {**row, "o": True})], engine=engine)["q"]
    assert element.values == {"d": dt.date(2024, 2, 29), "n": Decimal("1.50"), "w": Decimal("7.0"), "xs": [1, None],
                              "t": 1_000_000, "o": True, "z": None}  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "value", "shown"),
    [
        ("DECIMAL(5, 2)", 1.005, Decimal("1.01")),
        ("DECIMAL(5, 2)", -1.005, Decimal("-1.01")),
        ("DECIMAL(5, 2)", float("nan"), None),
        ("DECIMAL(5, 2)", Decimal("Infinity"), None),
        ("DECIMAL(5, 2)", "999.996", None),
        ("INTERVAL", "1 hour 30 minutes", 5_400_000_000),
        ("INTERVAL", "soon", None),
        ("DATE", 2_932_896, dt.date.max),
        ("DATE", 2_932_897, None),
        ("STRING", b"abc", None),
    ],
)
def test_what_is_no_value_of_its_column_s_type_is_refused(kind: str, value: Any, shown: Any) -> None:
    script = f"CREATE STREAM s (a {kind}); CREATE QUERY q AS SELECT a FROM s"
    if shown is not None:
        assert evaluate(script, [("s", 1, {"a": value})])["q"][0].values == {"a": shown}
    else:
        with pytest.raises(PenstockError, match="event 0: "):
            evaluate(script, [("s", 1, {"a": value})])


@pytest.mark.parametrize("engine", ENGINES)
def test_the_timestamp_column_is_filled_unless_it_is_given(engine: str) -> None:
    script = "CREATE STREAM s (ts TIMESTAMP, a INT) TIMESTAMP BY ts; CREATE QUERY q AS SELECT ts FROM s"
    result = evaluate(script, [("s", 3, {}), ("s", 4, {"ts": 9}), ("S", 5, {"TS": None})], engine=engine)
    assert [(e.timestamp, e.values["ts"]) for e in result["q"]] == [(3, 3), (4, 9), (5, None)]


LATE = "CREATE STREAM s (a INT) WITHIN 2 MICROSECONDS {}; CREATE QUERY q AS SELECT a FROM s"


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("batches", [None, 1])
def test_late_rows_are_kept_or_dropped_as_declared(engine: str, batches: int | None) -> None:
    events = [("s", t, {"a": t}) for t in (10, 8, 7, 11)]
    kept = evaluate(LATE.format("LATE KEEP"), events, engine=engine, batches=batches)
    assert [(e.timestamp, e.values["a"]) for e in kept["q"]] == [(8, 8), (10, 10), (10, 7), (11, 11)]
    dropped = evaluate(LATE.format("LATE DROP"), events, engine=engine, batches=batches)
    assert [e.timestamp for e in dropped["q"]] == [8, 10, 11]


def test_statistics_count_what_was_late() -> None:
    stats = evaluate(LATE.format("LATE DROP"), [("s", t, {}) for t in (10, 8, 7, 11)]).stats
    assert [(s.name, s.rows, s.late_dropped) for s in stats.streams] == [("s", 4, 1)]


def test_the_log_has_a_snapshot_of_every_batch_and_of_the_end() -> None:
    result = evaluate(SCRIPT, EVENTS, batches=2)
    assert [s.number for s in result.log] == [1, 2, 3, 4]
    assert result.stats is result.log[-1]
    assert result.stats.queues.queued == 0


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("folder", [False, True])
def test_relations_and_streams_are_read_from_files(tmp_path: Path, engine: str, folder: bool) -> None:
    streams, relations = tmp_path / "s", tmp_path / "r.json"
    streams.mkdir()
    (streams / "1.csv").write_text("A;ts;extra\n1;1970-01-01T00:00:00.000005;p\n;6;q\n2;7;r\n")
    relations.write_text('{"k": 1, "name": "one"}\n\n{"k": 2, "other": 3}\n')
    path = streams if folder else streams / "1.csv"
    script = f"""CREATE STREAM s (ts TIMESTAMP, a INT) TIMESTAMP BY ts FROM csv OPTIONS (path = '{path}', sep = ';');
                 CREATE RELATION r (k INT, name STRING) FROM json OPTIONS (path = '{relations}');
                 CREATE QUERY q AS SELECT s.a, r.name FROM s [Now], r WHERE s.a = r.k"""
    result = evaluate(script, engine=engine)
    assert net(result["q"]) == {(5, (1, "one")): 1, (6, (1, "one")): -1, (7, (2, None)): 1, (8, (2, None)): -1}
    assert net(evaluate(script, [("s", 9, {"a": 2})], engine=engine)["q"]) == {(9, (2, None)): 1, (10, (2, None)): -1}


def test_parquet_is_read_too(tmp_path: Path) -> None:
    pq.write_table(pa.table({"k": [1, 2]}), tmp_path / "r.parquet")
    script = f"""CREATE RELATION r (k INT) FROM parquet OPTIONS (path = '{tmp_path / "r.parquet"}');
                 CREATE QUERY q AS SELECT k FROM r"""
    assert net(evaluate(script)["q"]) == {(BEGIN, (1,)): 1, (BEGIN, (2,)): 1}


@pytest.mark.parametrize("engine", ENGINES)
def test_a_relation_may_be_given_rows_on_the_way(engine: str) -> None:
    script = """CREATE STREAM s (a INT); CREATE RELATION r (k INT);
                CREATE QUERY q AS SELECT s.a FROM s [Now], r WHERE s.a = r.k"""
    events = [("s", 1, {"a": 1}), ("r", 2, {"k": 1}), ("s", 3, {"a": 1})]
    assert net(evaluate(script, events, engine=engine, batches=1)["q"]) == {(3, (1,)): 1, (4, (1,)): -1}


def test_a_network_is_taken_as_it_is() -> None:
    assert evaluate(compile_script(SCRIPT), EVENTS)["big"] == evaluate(SCRIPT, EVENTS)["big"]


@pytest.mark.parametrize(
    ("events", "said"),
    [
        ([("u", 1, {})], "event 0: unknown stream 'u'"),
        ([("s", 1, {}), ("s", 1, {"c": 1})], "event 1: unknown column 'c' of 's'"),
        ([("s", 1, {"a": "many"})], "event 0: column 'a': 'many' is not an int"),
        ([("s", 1, {"a": 1 << 40})], "event 0: column 'a'"),
        ([("s", "soon", {"a": 1})], "event 0: 'soon' is not a timestamp"),
        ([("s", None, {"a": 1})], "event 0: None is no timestamp"),
        ([("s", 1 << 62, {"a": 1})], "is no timestamp that an event may have"),
        ([("s", {"a": 1})], "is no event"),
        (["s"], "is no event"),
    ],
)
@pytest.mark.parametrize("engine", ENGINES)
def test_wrong_events_are_refused(events: list[Any], said: str, engine: str) -> None:
    with pytest.raises(PenstockError) as caught:
        evaluate(SCRIPT, events, engine=engine)
    assert said in str(caught.value)


def test_several_wrong_events_are_reported_at_once() -> None:
    with pytest.raises(PenstockError) as caught:
        evaluate(SCRIPT, [("s", 1, {"x": 1}), ("s", 1, {"a": "b"})])
    assert [d.message[:8] for d in caught.value.diagnostics] == ["event 0:", "event 1:"]


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"engine": "lanes"}, "did you mean 'lane'?"),
        ({"scheduler": "lifo"}, "unknown scheduler 'lifo'"),
        ({"lanes": 0}, "lanes = 0"),
        ({"batches": 0}, "batches = 0"),
        ({"batches": [1, -1]}, "batches = [1, -1]"),
        ({"batches": "many"}, "batches = 'many' is no number of rows"),
        ({"batches": 1.5}, "batches = 1.5 is no number of rows"),
        ({"lanes": "two"}, "lanes = 'two'"),
        ({"scheduler": 5}, "unknown scheduler '5'"),
        ({"engine": None}, "unknown engine 'None'"),
        ({"joins": "adaptive"}, "is not available on engine 'lane'"),
        ({"schedular": "fifo"}, "did you mean 'scheduler'?"),
    ],
)
def test_wrong_keywords_are_refused(how: dict[str, Any], said: str) -> None:
    with pytest.raises(PenstockError) as caught:
        evaluate(SCRIPT, EVENTS, **how)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("connector", "said"),
    [
        ("FROM csv OPTIONS (path = 'nowhere.csv')", "there is no file 'nowhere.csv'"),
        ("FROM csv OPTIONS (header = true)", "FROM csv needs a path"),
        ("FROM orc OPTIONS (path = 'x')", "unknown file format 'orc'"),
    ],
)
def test_a_relation_that_cannot_be_loaded_is_an_error(connector: str, said: str) -> None:
    with pytest.raises(PenstockError) as caught:
        evaluate(f"CREATE RELATION r (k INT) {connector}; CREATE QUERY q AS SELECT k FROM r")
    assert said in str(caught.value)


def test_a_wrong_line_in_a_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    path.write_text(json.dumps({"k": 1}) + "\n[2]\n")
    with pytest.raises(PenstockError, match=r"r\.json:2: this is no object"):
        evaluate(f"CREATE RELATION r (k INT) FROM json OPTIONS (path = '{path}'); CREATE QUERY q AS SELECT k FROM r")


def test_an_unknown_query_is_refused() -> None:
    with pytest.raises(PenstockError, match="unknown query 'bug'"):
        evaluate(SCRIPT)["bug"]
