"""A run that goes on: by the flags of the command line, and on another number of cores."""

from __future__ import annotations

import json
import re
import signal
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


def test_on_another_number_of_cores_the_lanes_are_the_checkpoints(folder: Path) -> None:
    script = (folder / "app.cql").read_text("utf-8")
    first = Checkpoint(str(folder / "ck"), compile_script(script), lanes=3)
    first.unlock()
    run(script, folder, close=False)
    feed(folder, 2)
    run(script, folder)
    assert counts(folder) == [(k, 2) for k in range(5)]
    assert sorted(p.name for p in (folder / "ck" / "lanes").iterdir()) == ["0", "1", "2"]
