"""Kills at random instants, of drivers, lane servers and Python workers: the output is that of a quiet run."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

ROOT = Path(__file__).resolve().parents[2]
FILES, ROWS = 12, 400
KINDS = {"sums": "parquet", "pairs": "parquet", "again": "parquet", "words": "json"}
SCRIPT = """
CREATE STREAM p (ts TIMESTAMP, k INT, v DOUBLE) TIMESTAMP BY ts
  FROM parquet OPTIONS (path = 'in/p', maxFilesPerTrigger = 1);
CREATE STREAM r (ts TIMESTAMP, k INT, w STRING) TIMESTAMP BY ts
  FROM parquet OPTIONS (path = 'in/r', maxFilesPerTrigger = 1);
CREATE QUERY sums AS
  SELECT k, sum(v) AS total, count(*) AS n FROM p [Range 2 Seconds Slide 1 Second] GROUP BY k
  INTO parquet OPTIONS (path = 'out/sums');
CREATE QUERY pairs AS
  SELECT p.k, p.v, r.w FROM p [Range 300 Milliseconds], r [Rows 50] WHERE p.k = r.k
  INTO parquet OPTIONS (path = 'out/pairs');
CREATE QUERY again AS
  SELECT p.k, p.v, r.w FROM p [Range 300 Milliseconds], r [Rows 50] WHERE p.k = r.k
  INTO parquet OPTIONS (path = 'out/again');
CREATE QUERY words AS
  SELECT w, count(*) AS n FROM (SELECT r.w AS w FROM p [Range 1 Second], r [Range 1 Second] WHERE p.k = r.k) GROUP BY w
  INTO json OPTIONS (path = 'out/words');
"""
MARK = "PENSTOCK_TEST_RUN"
"""In the environment of a run and of all that it starts: by it a test knows its own processes."""
VICTIMS = {
    "lane": "penstock.spark.lanes.server",
    "worker": "pyspark.daemon",
    "executor": "CoarseGrainedExecutorBackend",
}
LOCAL, CLUSTER = "local[2]", "local-cluster[2,1,1024]"
ON = {LOCAL: ("driver", "driver", "lane", "worker"), CLUSTER: ("driver", "executor", "executor", "lane", "worker")}
MAIN = "import sys; from penstock.console.cli import main; sys.exit(main())"
LOSING = """
import os, signal, subprocess, sys
from penstock.console.cli import main
from penstock.spark.pipeline import Pipeline
publish, killed = Pipeline._publish, []
def losing(self, commit):
    command = ["pgrep", "-f", "CoarseGrained[E]xecutorBackend"]
    found = subprocess.run(command, capture_output=True, text=True).stdout.split()
    mine = [p for p in found if os.environ["PENSTOCK_TEST_RUN"] in open(f"/proc/{p}/environ").read()]
    if commit.batch in (2, 5) and mine:
        os.kill(int(mine[0]), signal.SIGKILL)
        print("lost an executor", file=sys.stderr)
    publish(self, commit)
Pipeline._publish = losing
sys.exit(main())
"""
"""A run that loses an executor between a batch's commit and its sinks."""


def inputs(folder: Path) -> None:
    """Files in time order, for both streams."""
    draw = random.Random(5)
    for name, columns in (("p", ("v",)), ("r", ("w",))):
        (folder / "in" / name).mkdir(parents=True)
        now = 0
        for i in range(FILES):
            ts = []
            for _ in range(ROWS):
                now += draw.randrange(0, 4000)
                ts.append(now)
            k = [draw.randrange(7) for _ in ts]
            values = [draw.random() for _ in ts] if columns == ("v",) else [draw.choice("abc") for _ in ts]
            stamps = pa.array(ts, pa.timestamp("us", tz="UTC"))
            table = pa.table({"ts": stamps, "k": pa.array(k, pa.int32()), columns[0]: values})
            path = folder / "in" / name / f"{i:03d}.parquet"
            pq.write_table(table, path)
            os.utime(path, (1_700_000_000 + i, 1_700_000_000 + i))


def start(
    folder: Path, master: str = LOCAL, main: str = MAIN, options: tuple[str, ...] = ("--close",)
) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), MARK: str(folder)}
    command = [sys.executable, "-c", main, "run", "app.cql", "--checkpoint", "ck", "--until-idle", "--quiet",
               "--master", master, *options]  # fmt: skip
    log = open(folder / "run.log", "ab")  # noqa: SIM115
    return subprocess.Popen(command, cwd=folder, env=environment, stdout=log, stderr=log, start_new_session=True)


def outputs(folder: Path) -> dict[str, Counter[tuple[object, ...]]]:
    """Every query's rows, with how often each is there."""
    found = {}
    for query, kind in KINDS.items():
        table = ds.dataset(folder / "out" / query, format=kind).to_table()
        found[query] = Counter(tuple(str(v) for v in row.values()) for row in table.to_pylist())
    return found


def processes(pattern: str, folder: Path) -> list[int]:
    """The processes of the run in `folder`, and of no other, whose command matches."""
    done = subprocess.run(["pgrep", "-f", pattern], capture_output=True, text=True, check=False)
    return [int(p) for p in done.stdout.split() if _descends(int(p), folder)]


def _descends(pid: int, folder: Path) -> bool:
    try:
        return f"{MARK}={folder}".encode() in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return False


def kill(folder: Path, driver: subprocess.Popen[bytes], draw: random.Random, master: str) -> str:
    """Kills one process of the run, whatever it is doing."""
    what = draw.choice(ON[master])
    if what == "driver":
        os.killpg(driver.pid, signal.SIGKILL)
    victims = [] if what == "driver" else processes(VICTIMS[what], folder)
    if victims:
        os.kill(draw.choice(victims), signal.SIGKILL)
    return what


def disturbed(folder: Path, kills: int, seed: int, master: str = LOCAL) -> list[str]:
    """Runs to the end, with `kills` kills on the way; the run is started again whenever it has ended badly."""
    draw = random.Random(seed)
    done: list[str] = []
    deadline = time.monotonic() + 60 * (kills + 3)
    while time.monotonic() < deadline:
        driver = start(folder, master)
        while driver.poll() is None:
            if len(done) < kills:
                time.sleep(draw.uniform(1.0, 9.0))
                if driver.poll() is None:
                    done.append(kill(folder, driver, draw, master))
            else:
                driver.wait()
        if driver.returncode == 0 and len(done) >= kills:
            return done
        if driver.returncode == 0:
            return done
    raise AssertionError((folder / "run.log").read_text(encoding="utf-8")[-4000:])


def prepared(folder: Path) -> Path:
    folder.mkdir()
    inputs(folder)
    (folder / "app.cql").write_text(SCRIPT, encoding="utf-8")
    return folder


def compare(tmp_path: Path, kills: int, seed: int, master: str = LOCAL) -> list[str]:
    quiet = prepared(tmp_path / "quiet")
    disturbed(quiet, 0, seed)
    expected = outputs(quiet)
    assert all(sum(rows.values()) > 20 for rows in expected.values())
    assert sum(expected["again"].values()) == sum(expected["pairs"].values())
    broken = prepared(tmp_path / "broken")
    done = disturbed(broken, kills, seed, master)
    found = outputs(broken)
    for query, rows in expected.items():
        assert found[query] == rows, f"{query} differs after {done}"
    return done


def test_three_kills(tmp_path: Path) -> None:
    assert compare(tmp_path, 3, 1)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_many_kills(tmp_path: Path, seed: int) -> None:
    print(compare(tmp_path, 8, seed + 10))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_kills_on_a_cluster(tmp_path: Path, seed: int) -> None:
    print(compare(tmp_path, 6, seed + 20, CLUSTER))


@pytest.mark.slow
def test_an_executor_lost_between_the_commit_and_the_sinks(tmp_path: Path) -> None:
    quiet = prepared(tmp_path / "quiet")
    disturbed(quiet, 0, 0)
    broken = prepared(tmp_path / "broken")
    log = broken / "run.log"
    assert start(broken, CLUSTER, LOSING).wait(400) == 0, log.read_text(encoding="utf-8")[-4000:]
    assert "lost an executor" in log.read_text(encoding="utf-8")
    assert outputs(broken) == outputs(quiet)
