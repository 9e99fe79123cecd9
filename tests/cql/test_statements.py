"""What statements register: definitions, options, connectors, functions from files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.cql import compile_script
from penstock.errors import PenstockError
from penstock.plan.functions import user_functions
from penstock.plan.network import Connector, Network, RelationDefinition, StreamDefinition
from penstock.plan.node import walk
from penstock.plan.nodes import Aggregate, Filter, Map, Source, Table, Window, WindowAggregate
from penstock.plan.schema import Schema
from penstock.plan.windows import Rows


def test_an_empty_script_registers_nothing() -> None:
    assert compile_script("") == compile_script("-- nothing\n;; /* and /* nothing */ else */") == Network()


def test_create_stream() -> None:
    script = """
        create stream Packets (ts Timestamp, "from" varchar(20), price decimal(12, 2), tags array<array<int>>)
        timestamp by TS within 1.5 seconds late drop
        from pulsar options (subscribe = 'p', kafka.bootstrap.servers = 'h:1', 'max.offsets' = 10, eager = true,
                            share = -0.5)"""
    schema = Schema.parse("ts timestamp, from string, price decimal(12, 2), tags array<array<int>>")
    options = (
        ("subscribe", "p"),
        ("kafka.bootstrap.servers", "h:1"),
        ("max.offsets", 10),
        ("eager", True),
        ("share", -0.5),
    )
    (stream,) = compile_script(script).streams
    assert stream == StreamDefinition("Packets", schema, "ts", 1_500_000, "drop", Connector("pulsar", options))


def test_create_stream_with_nothing_but_columns() -> None:
    assert compile_script("CREATE STREAM s (a INT)").streams == (StreamDefinition("s", Schema.parse("a int")),)


def test_create_relation() -> None:
    network = compile_script(
        "CREATE RELATION r (a INT) FROM csv OPTIONS (path = 'r.csv', header = FALSE); SELECT A FROM R"
    )
    connector = Connector("csv", (("path", "r.csv"), ("header", False)))
    assert network.relations == (RelationDefinition("r", Schema.parse("a int"), connector),)
    root = network.queries[0].root
    assert isinstance(root, Map) and root.input == Table("r", Schema.parse("a int"))
    assert network.queries[0].root.schema.names == ("A",)


def test_a_relation_kept_current_is_a_window_of_one_row_a_key() -> None:
    script = """
        CREATE STREAM s (k INT, b INT, v INT);
        CREATE RELATION r (k INT, b INT, v INT) FROM s KEY (K, b);
        SELECT * FROM r"""
    network = compile_script(script)
    assert network.relations == ()
    assert network.queries[0].root == Window(Source("s", Schema.parse("k int, b int, v int")), Rows(1, ("k", "b")))


def test_a_skew_bound_without_a_unit_may_be_followed_by_late() -> None:
    (stream,) = compile_script("CREATE STREAM s (a INT) WITHIN 0 LATE DROP").streams
    assert (stream.within_us, stream.late) == (0, "drop")


def test_queries_have_names_options_and_sinks() -> None:
    script = """
        CREATE STREAM s (a INT);
        SELECT a FROM s;
        CREATE QUERY query2 WITH (Delay = 2 seconds, max_gap = '1 minute', answer = 'ESTIMATE',
                                  confidence = 0.9, max_error = 1) AS
            SELECT a FROM s INTO parquet OPTIONS (path = 'out');
        SELECT a FROM s INTO console"""
    first, second, third = compile_script(script).queries
    assert [first.name, second.name, third.name] == ["query1", "query2", "query3"]
    assert second.options == (
        ("delay", "2 seconds"), ("max_gap", "1 minute"), ("answer", "ESTIMATE"), ("confidence", 0.9), ("max_error", 1),
    )  # fmt: skip
    assert second.sink == Connector("parquet", (("path", "out"),))
    assert third.sink == Connector("console")
    assert first.root == second.root == third.root


def test_equal_queries_are_equal_whatever_the_aliases() -> None:
    declared = "CREATE STREAM s (a INT, b INT); CREATE STREAM t (a INT);"
    a, b = (
        compile_script(f"{declared} SELECT {x}.b, {y}.a FROM s [Rows 5] {x}, t [Now] {y} WHERE {x}.a = {y}.a")
        for x, y in (("x", "y"), ("long_name", "s"))
    )
    assert a == b
    assert hash(a.queries[0].root) == hash(b.queries[0].root)


@pytest.fixture
def clean_registry() -> Iterator[None]:
    before = dict(user_functions.functions), dict(user_functions.aggregates)
    yield
    user_functions.functions.clear()
    user_functions.functions.update(before[0])
    user_functions.aggregates.clear()
    user_functions.aggregates.update(before[1])


FILE = """
from penstock.plan.functions import aggregate, function

@function(returns="double", takes=["double"])
def doubled(x):
    return x * 2

@aggregate(returns="bigint")
class widest:
    def init(self): self.n = 0
    def incr(self, v): self.n = max(self.n, len(v))
    def final(self): return self.n
"""


def test_create_function_runs_the_file_beside_the_script(tmp_path: Path, clean_registry: None) -> None:
    (tmp_path / "mine.py").write_text(FILE)
    script = """
        CREATE STREAM s (a INT, c STRING);
        CREATE FUNCTION doubled FROM python OPTIONS (file = 'mine.py');
        CREATE FUNCTION widest FROM python OPTIONS (file = 'mine.py');
        SELECT a FROM s WHERE Doubled(a) > 3;
        SELECT Widest(c) FROM s [Rows 5];
        SELECT widest(c) AS w FROM s [Rows 5 Slide 5] WHERE a > 1"""
    filtered, grouped, windowed = compile_script(script, str(tmp_path / "app.cql")).queries
    assert isinstance(filtered.root, Map) and isinstance(filtered.root.input, Filter)
    assert filtered.root.input.label == "filter doubled(cast(a as double)) > 3.0"
    assert isinstance(grouped.root, Aggregate)
    assert [str(t) for t in grouped.root.schema.types] == ["bigint"]
    assert any(isinstance(n, WindowAggregate) for n in walk(windowed.root))


@pytest.mark.parametrize(
    ("file", "message"),
    [
        ("x = 1", "mine.py registers no function 'f'"),
        ("raise ValueError('no')", "mine.py fails: ValueError: no"),
        ("def f(:", "mine.py fails: SyntaxError"),
        ("import os\nos._exit", "mine.py registers no function 'f'"),
        (
            "from penstock.plan.functions import function\n@function(returns='dubble')\ndef f(x): return x",
            "unknown type 'dubble'",
        ),
        ("from penstock.plan.functions import function\n@function(returns='int')\ndef lower(x): return x", "built-in"),
        ("raise SystemExit(3)", "mine.py fails: SystemExit: 3"),
    ],
)
def test_a_file_that_does_not_do(tmp_path: Path, clean_registry: None, file: str, message: str) -> None:
    (tmp_path / "mine.py").write_text(file)
    with pytest.raises(PenstockError) as caught:
        compile_script("CREATE FUNCTION f FROM python OPTIONS (file = 'mine.py')", str(tmp_path / "app.cql"))
    (found,) = caught.value.diagnostics
    assert message in found.message
    assert found.span is not None


def test_functions_may_be_given(clean_registry: None) -> None:
    from penstock.plan.functions import UserFunction
    from penstock.plan.types import INT

    given = UserFunction("thrice", lambda x: x * 3, INT)
    network = compile_script("CREATE STREAM s (a INT); SELECT thrice(a) FROM s", functions=[given])
    assert network.queries[0].root.schema.names == ("thrice(a)",)


def test_intervals_are_a_type() -> None:
    network = compile_script(
        "CREATE STREAM s (i INTERVAL, a ARRAY<INTERVAL>); SELECT i + CAST('1 hour' AS INTERVAL) AS j, a[1] AS f FROM s"
    )
    assert [str(f.type) for f in network.queries[0].root.schema] == ["interval", "interval"]


@pytest.mark.parametrize("value", ["'inf'", "1e400", "'nan'", "-1", "1.5", "TRUE", "'soon'"])
def test_gaps_that_are_none(value: str) -> None:
    with pytest.raises(PenstockError, match="option 'max_gap' cannot be"):
        compile_script(f"CREATE STREAM s (a INT); CREATE QUERY q WITH (max_gap = {value}) AS SELECT a FROM s")


@pytest.mark.parametrize("value", ["10", "'10'", "0", "'10 seconds'", "1 MINUTE"])
def test_a_gap_is_a_number_of_results_or_a_duration(value: str) -> None:
    network = compile_script(f"CREATE STREAM s (a INT); CREATE QUERY q WITH (max_gap = {value}) AS SELECT a FROM s")
    assert dict(network.queries[0].options).keys() == {"max_gap"}
