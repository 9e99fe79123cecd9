"""Users' Python functions on lanes: they get there, what they fail on is set aside, and a query may ask for an end."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from penstock.cql import compile_script
from penstock.errors import PenstockError
from penstock.plan.functions import user_functions
from penstock.spark.functions import called
from tests.spark.runs import run

FUNCTIONS = """
import penstock as ps

FACTOR = {factor}

@ps.function(returns="double")
def inverse(x):
    return [FACTOR / int(v) for v in x]

@ps.aggregate(returns="bigint")
class widest:
    def init(self): self.most = 0
    def incr(self, value): self.most = max(self.most, len(value))
    def final(self): return self.most
"""
SCRIPT = """
CREATE FUNCTION inverse FROM python OPTIONS (file = 'f.py');
CREATE FUNCTION widest FROM python OPTIONS (file = 'f.py');
CREATE STREAM s (ts TIMESTAMP, k INT, w STRING) TIMESTAMP BY ts FROM json OPTIONS (path = '{folder}/in');
CREATE QUERY q WITH (on_error = '{on_error}') AS SELECT k, inverse(k) AS i FROM s
  INTO json OPTIONS (path = '{folder}/out/q');
CREATE QUERY w AS SELECT widest(w) AS most FROM s [Range 1 Minute Slide 1 Minute]
  INTO json OPTIONS (path = '{folder}/out/w');
"""
ROWS = [(1, "a"), (0, "bbb"), (4, "cc")]


@pytest.fixture
def script(tmp_path: Path) -> Iterator[str]:
    """The script over three rows; `inverse` fails on the second. What it registers is forgotten afterwards."""
    (tmp_path / "in").mkdir()
    lines = [json.dumps({"ts": f"2026-01-01T00:00:0{i}Z", "k": k, "w": w}) for i, (k, w) in enumerate(ROWS)]
    (tmp_path / "in" / "a.json").write_text("\n".join(lines))
    (tmp_path / "f.py").write_text(FUNCTIONS.format(factor=1))
    kept = dict(user_functions.functions), dict(user_functions.aggregates)
    yield SCRIPT.replace("{folder}", str(tmp_path))
    user_functions.functions, user_functions.aggregates = kept


def delivered(folder: Path, query: str) -> list[dict[str, object]]:
    files = sorted((folder / "out" / query).glob("*.json"))
    return [json.loads(line) for file in files for line in file.read_text().splitlines()]


def test_a_row_on_which_a_function_fails_is_counted_and_left_out(
    spark: SparkSession, tmp_path: Path, script: str
) -> None:
    reports = run(script.replace("{on_error}", "set_aside"), tmp_path)
    assert [(r["k"], r["i"]) for r in delivered(tmp_path, "q")] == [(1, 1.0), (4, 0.25)]
    assert [r["most"] for r in delivered(tmp_path, "w")] == [3]
    assert reports[-1].snapshot is not None and reports[-1].snapshot.set_aside == (("inverse", 1),)


def test_a_query_that_asked_for_it_stops_and_continues_with_the_mended_function(
    spark: SparkSession, tmp_path: Path, script: str
) -> None:
    script = script.replace("{on_error}", "stop")
    with pytest.raises(PenstockError, match="the function 'inverse' failed on a row, and on_error = 'stop'") as caught:
        run(script, tmp_path)
    assert "'q'" in str(caught.value) and "mend the function" in str(caught.value)
    assert delivered(tmp_path, "q") in ([], [{"k": 1, "i": 1.0, "_timestamp": "2026-01-01T00:00:00.000000Z"}])
    (tmp_path / "f.py").write_text(FUNCTIONS.format(factor=2).replace("int(v)", "(int(v) or 1)"))
    run(script, tmp_path)
    assert sorted((r["k"], r["i"]) for r in delivered(tmp_path, "q")) == [(0, 2.0), (1, 2.0), (4, 0.5)]
    assert [r["most"] for r in delivered(tmp_path, "w")] == [3]


def test_only_queries_that_call_a_function_stop_for_it(tmp_path: Path, script: str) -> None:
    network = compile_script(script.replace("{on_error}", "stop"), str(tmp_path / "app.cql"))
    assert {q.name: called(q) for q in network.queries} == {"q": {"inverse"}, "w": {"widest"}}
