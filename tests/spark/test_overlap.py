"""Where a delay is declared, Spark goes on before the lanes are through: nothing is lost or doubled by it."""

from __future__ import annotations

import signal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from penstock.spark.drops import Counted
from penstock.spark.recovery import recovery
from penstock.spark.state.files import Folder
from penstock.spark.state.inbox import Inbox, Letter
from penstock.spark.state.records import Records
from tests.spark.test_recovery import LOCAL, start

ROWS, SECONDS = 8_000, 6
STREAM = """CREATE STREAM s (ts TIMESTAMP, x BIGINT, text STRING) TIMESTAMP BY ts
  FROM replay OPTIONS (path = 'trace.parquet', arrivals = 'arrivals.txt');
"""
SCRIPT = """CREATE QUERY q WITH (delay = '2 seconds') AS
  SELECT x, length(regexp_replace(text, '([a-z]+)([0-9]+)', '$2$1')) AS n FROM s INTO parquet OPTIONS (path = 'out');
"""
ADDED = "CREATE QUERY few AS SELECT x FROM s WHERE x < 0 INTO parquet OPTIONS (path = 'few');\n"
AHEAD = """
import os, signal, sys, threading, time
from penstock.console.cli import main
from penstock.spark.intake import Intake
from penstock.spark.pipeline import Pipeline
commit = Pipeline._commit
def ahead(self, batch):
    taken = f"ck/spark/commits/{batch.plan.source}"
    while threading.current_thread().name.startswith("penstock-batch") and not os.path.exists(taken):
        time.sleep(0.01)
    if os.path.exists(taken) and self._last is not None:
        if self._last.batch > 1:
            os.killpg(0, signal.SIGKILL)
    commit(self, batch)
Pipeline._commit = ahead
Intake.worth_overlapping = lambda self, rows: rows > 0
Intake.hold_s = lambda self, rows: 0.0
sys.exit(main())
"""
"""A run in which Spark always goes on, killed over the third batch."""
FAILING = """
import sys, time
from penstock.console.cli import main
from penstock.spark.intake import Intake
from penstock.spark.lanes.exchange import Hand
from penstock.spark.passage import Passage
from penstock.spark.state.checkpoint import Checkpoint
take, run, unlock = Passage.take, Hand.run, Checkpoint.unlock
def failing(self, batch, rows):
    if batch.plan.batch == 3:
        raise OSError("nothing more to read")
    take(self, batch, rows)
def slow(self, taken, errands):
    time.sleep(1.0 if errands[0].request.batch == 2 else 0.0)
    return run(self, taken, errands)
def told(self):
    print("unlocked after", self.records.committed(), file=sys.stderr)
    unlock(self)
Passage.take, Hand.run, Checkpoint.unlock = failing, slow, told
Intake.worth_overlapping = lambda self, rows: rows > 0
Intake.hold_s = lambda self, rows: 0.0
sys.exit(main())
"""
"""A run in which Spark always goes on, and that fails at the gate while the lanes are still at the third batch."""
QUIET = ("--close", "--shedding", "monitor")


def prepared(folder: Path) -> Path:
    """Work for the lanes; with shedding only watched, nothing is dropped of it."""
    at = np.arange(ROWS) * SECONDS / ROWS
    stamps = pa.array((at * 1e6).astype(np.int64), pa.timestamp("us", tz="UTC"))
    rows = pa.table({"ts": stamps, "x": np.arange(ROWS), "text": [f"{'ab12' * 100}{i}" for i in range(ROWS)]})
    pq.write_table(rows, folder / "trace.parquet")
    np.savetxt(folder / "arrivals.txt", at * 1000, fmt="%.3f")
    (folder / "app.cql").write_text(STREAM + SCRIPT, encoding="utf-8")
    return folder


def killed_while_ahead(folder: Path) -> None:
    """Runs, and is killed when Spark holds a batch for finished that is not committed."""
    assert start(folder, LOCAL, AHEAD, QUIET).wait(200) == -signal.SIGKILL, _log(folder)
    committed, inbox = Records(Folder(str(folder / "ck"))).committed(), Inbox(Folder(str(folder / "ck")))
    assert inbox.get(committed[-1] + 1) is not None


def finished(folder: Path) -> list[int]:
    """Runs to the end; what was delivered of column x."""
    assert start(folder, LOCAL, options=QUIET).wait(200) == 0, _log(folder)
    return sorted(ds.dataset(folder / "out", format="parquet").to_table().column("x").to_pylist())


def _log(folder: Path) -> str:
    return (folder / "run.log").read_text(encoding="utf-8")[-4000:]


def test_a_driver_killed_after_spark_has_gone_on(tmp_path: Path) -> None:
    folder = prepared(tmp_path)
    killed_while_ahead(folder)
    assert "was taken from Spark and not committed" in recovery(str(folder / "ck"), None)
    assert finished(folder) == list(range(ROWS))


@pytest.mark.slow
def test_the_batch_is_finished_under_the_script_that_it_began_with(tmp_path: Path) -> None:
    folder = prepared(tmp_path)
    killed_while_ahead(folder)
    (folder / "app.cql").write_text(STREAM + SCRIPT + ADDED, encoding="utf-8")
    assert finished(folder) == list(range(ROWS))


def test_a_run_that_fails_holds_its_checkpoint_until_the_lanes_are_through(tmp_path: Path) -> None:
    folder = prepared(tmp_path)
    assert start(folder, LOCAL, FAILING, QUIET).wait(90) == 2, _log(folder)
    assert "nothing more to read" in _log(folder)
    assert "unlocked after [0, 1, 2]" in _log(folder)


def test_what_is_kept_of_a_batch_is_what_it_was(tmp_path: Path) -> None:
    inbox = Inbox(Folder(str(tmp_path)))
    rows = pa.record_batch({"_entry": pa.array([0, 0], pa.int32()), "s:x": [5, None]})
    inbox.put(Letter(7, 3, [rows], {"s": 12}, Counted((4, 1), 2)))
    found = inbox.get(7)
    assert found is not None and pa.Table.from_batches(found.rows).equals(pa.Table.from_batches([rows]))
    assert (found.source, found.until, found.dropped) == (3, {"s": 12}, Counted((4, 1), 2))
    inbox.put(Letter(8, 4, [], {}, None))
    inbox.clear(7)
    assert inbox.get(7) is None and inbox.get(8) == Letter(8, 4, [], {}, None)
