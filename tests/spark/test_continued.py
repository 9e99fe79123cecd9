"""A run that goes on: by the flags of the command line, and on another number of cores."""

from __future__ import annotations

import datetime as dt
import json
import re
import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner

from penstock.console.cli import app
from penstock.cql import compile_script
from penstock.errors import PenstockError
from penstock.spark.recovery import beginning
from penstock.spark.state.checkpoint import Checkpoint
from penstock.testing import evaluate
from tests.spark.runs import run

SCRIPT = """
CREATE STREAM s (ts TIMESTAMP, k INT) TIMESTAMP BY ts FROM json OPTIONS (path = '{at}/in');
CREATE QUERY counts AS SELECT k, count(*) AS n FROM s [Range 10 Seconds Slide 10 Seconds] GROUP BY k
  INTO json OPTIONS (path = '{at}/out');
"""
MORE = "CREATE QUERY late AS SELECT k FROM s INTO json OPTIONS (path = '{at}/late');"


def feed(folder: Path, second: int) -> None:
    """A file more: a row of each of five keys."""
    (folder / "in").mkdir(exist_ok=True)
    rows = [{"ts": f"2026-01-01T00:00:{second:02d}Z", "k": k} for k in range(5)]
    (folder / "in" / f"{second:02d}.json").write_text("".join(json.dumps(r) + "\n" for r in rows), encoding="utf-8")


def counts(folder: Path) -> list[tuple[int, int]]:
    rows = [json.loads(line) for f in (folder / "out").glob("*.json") for line in f.read_text("utf-8").splitlines()]
    return sorted((r["k"], r["n"]) for r in rows)


@pytest.fixture
def folder(spark: SparkSession, tmp_path: Path) -> Iterator[Path]:
    """A folder with a script and a file; the signals' handlers are as before afterwards."""
    before = {s: signal.getsignal(s) for s in (signal.SIGINT, signal.SIGTERM)}
    (tmp_path / "app.cql").write_text(SCRIPT.format(at=tmp_path), encoding="utf-8")
    (tmp_path / "more.cql").write_text((SCRIPT + MORE).format(at=tmp_path), encoding="utf-8")
    feed(tmp_path, 1)
    yield tmp_path
    for number, handler in before.items():
        signal.signal(number, handler)


def penstock(folder: Path, *arguments: str) -> str:
    """What the command prints."""
    done = CliRunner().invoke(app, ["run", *arguments, "--checkpoint", str(folder / "ck")])
    if isinstance(done.exception, PenstockError):
        raise done.exception
    assert done.exit_code == 0, done.output
    return done.output


def test_the_flags_of_recovery(folder: Path) -> None:
    script = str(folder / "app.cql")
    for arguments in (["--from-checkpoint"], [script, "--from-checkpoint"], [script, "--explain-recovery"]):
        with pytest.raises(PenstockError, match="there is no run to continue in"):
            penstock(folder, *arguments)
    with pytest.raises(PenstockError, match="there is no script to run"):
        penstock(folder)
    assert beginning(str(folder / "ck")) == "starting"
    penstock(folder, script, "--until-idle", "--quiet", "--master", "local[2]")
    assert counts(folder) == []
    said = penstock(folder, script, "--explain-recovery")
    assert re.fullmatch(r"starting after batch \d: \d rows of \d batches are run again", beginning(str(folder / "ck")))
    assert "batches: " in said and "script: the same queries" in said and "lane 0" in said
    assert penstock(folder, "--from-checkpoint", "--explain-recovery") == said
    assert "'late' is added" in penstock(folder, str(folder / "more.cql"), "--explain-recovery")
    feed(folder, 2)
    penstock(folder, "--from-checkpoint", "--until-idle", "--close", "--quiet", "--master", "local[2]")
    assert counts(folder) == [(k, 2) for k in range(5)]


def test_what_is_due_at_boundaries_comes_in_a_run_as_in_the_reference(folder: Path) -> None:
    query = "Rstream(SELECT k FROM s [Range 7 Seconds Slide 5 Seconds])"
    declared = SCRIPT.partition("CREATE QUERY")[0]
    script = f"{declared} CREATE QUERY due AS {query} INTO json OPTIONS (path = '{{at}}/due')".format(at=folder)
    for second in (2, 9, 31):
        feed(folder, second)
    run(script, folder)
    events = [("s", 1_767_225_600_000_000 + second * 1_000_000, {"k": k}) for second in (1, 2, 9, 31) for k in range(5)]
    plain = f"CREATE STREAM s (k INT); CREATE QUERY due AS {query}"
    expected = Counter((e.timestamp, e.values["k"]) for e in evaluate(plain, events, engine="reference")["due"])
    lines = [json.loads(line) for f in (folder / "due").glob("*.json") for line in f.read_text("utf-8").splitlines()]
    found = Counter((micros(row["_timestamp"]), row["k"]) for row in lines)
    assert found == expected
    assert len(expected) > 5


def micros(text: str) -> int:
    return round(dt.datetime.fromisoformat(text).timestamp() * 1_000_000)


def test_on_another_number_of_cores_the_lanes_are_the_checkpoints(folder: Path) -> None:
    script = (folder / "app.cql").read_text("utf-8")
    first = Checkpoint(str(folder / "ck"), compile_script(script), lanes=3)
    first.unlock()
    run(script, folder, close=False)
    feed(folder, 2)
    run(script, folder)
    assert counts(folder) == [(k, 2) for k in range(5)]
    assert sorted(p.name for p in (folder / "ck" / "lanes").iterdir()) == ["0", "1", "2"]


def test_filters_on_files_are_measured_and_ordered_in_a_run(folder: Path) -> None:
    rows = "".join(json.dumps({"ts": "2026-01-01T00:00:03Z", "k": k % 7}) + "\n" for k in range(3000))
    for number in range(3):
        (folder / "in" / f"{number}9.json").write_text(rows, encoding="utf-8")
    declared = SCRIPT.partition("CREATE QUERY")[0].replace("in')", "in', maxFilesPerTrigger = 1)")
    query = "CREATE QUERY some AS SELECT k FROM s WHERE k > 1 AND k < 4 INTO json OPTIONS (path = '{at}/some')"
    run((declared + query).format(at=folder), folder)
    lines = [line for f in (folder / "some").glob("*.json") for line in f.read_text("utf-8").splitlines()]
    assert len(lines) == 2 + 3 * sum(1 < k % 7 < 4 for k in range(3000))
