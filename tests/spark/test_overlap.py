"""Where a delay is declared, Spark goes on before the lanes are through: nothing is lost or doubled by it."""

from __future__ import annotations

import os
import signal
import time
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

ROWS, SECONDS = 16_000, 8
STREAM = """CREATE STREAM s (ts TIMESTAMP, x BIGINT, text STRING) TIMESTAMP BY ts
  FROM replay OPTIONS (path = 'trace.parquet', arrivals = 'arrivals.txt');
"""
SCRIPT = """CREATE QUERY q WITH (delay = '2 seconds') AS
  SELECT x, length(regexp_replace(text, '([a-z]+)([0-9]+)', '$2$1')) AS n FROM s INTO parquet OPTIONS (path = 'out');
"""
ADDED = "CREATE QUERY few AS SELECT x FROM s WHERE x < 0 INTO parquet OPTIONS (path = 'few');\n"
QUIET = ("--close", "--shedding", "monitor")


def prepared(folder: Path) -> Path:
    """More than two cores work off while it comes; with shedding only watched, nothing is dropped of it."""
    at = np.arange(ROWS) * SECONDS / ROWS
    stamps = pa.array((at * 1e6).astype(np.int64), pa.timestamp("us", tz="UTC"))
    rows = pa.table({"ts": stamps, "x": np.arange(ROWS), "text": [f"{'ab12' * 300}{i}" for i in range(ROWS)]})
    pq.write_table(rows, folder / "trace.parquet")
    np.savetxt(folder / "arrivals.txt", at * 1000, fmt="%.3f")
    (folder / "app.cql").write_text(STREAM + SCRIPT, encoding="utf-8")
    return folder


def killed_while_ahead(folder: Path) -> None:
    """Runs, and kills the driver when Spark holds a batch for finished that is not committed."""
    driver = start(folder, LOCAL, options=QUIET)
    records, inbox = Records(Folder(str(folder / "ck"))), Inbox(Folder(str(folder / "ck")))
    deadline = time.monotonic() + 90
    while time.monotonic() < deadline and driver.poll() is None:
        committed = records.committed()
        letter = inbox.get(committed[-1] + 1) if committed else None
        if letter is not None and (folder / "ck" / "spark" / "commits" / str(letter.source)).exists():
            os.killpg(driver.pid, signal.SIGKILL)
            driver.wait()
            if inbox.get(records.committed()[-1] + 1) is not None:
                return
            driver = start(folder, LOCAL, options=QUIET)
        time.sleep(0.002)
    raise AssertionError((folder / "run.log").read_text(encoding="utf-8")[-4000:])


def finished(folder: Path) -> list[int]:
    """Runs to the end; what was delivered of column x."""
    assert start(folder, LOCAL, options=QUIET).wait(200) == 0, (folder / "run.log").read_text(encoding="utf-8")[-4000:]
    return sorted(ds.dataset(folder / "out", format="parquet").to_table().column("x").to_pylist())


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
