"""`penstock run` as a person has it: the view, the metrics, and how Ctrl-C ends it."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PATIENCE_S = 90
SCRIPT = """
CREATE STREAM ticks (timestamp TIMESTAMP, value BIGINT) TIMESTAMP BY timestamp FROM rate OPTIONS (rowsPerSecond = 50);
CREATE QUERY odd WITH (delay = '5 seconds') AS SELECT value FROM ticks WHERE value % 2 = 1
  INTO foreach_batch OPTIONS (function = 'slow:keep');
"""
SLOW = """
import time
def keep(rows, batch):
    print("begun", batch, flush=True)
    time.sleep({seconds})
    print("done", batch, flush=True)
"""


class Terminal:
    """A run whose standard output is a terminal of 120 columns."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        main = "import sys; from penstock.console.cli import main; sys.exit(main())"
        command = [sys.executable, "-c", main, "run", "app.cql", "--master", "local[2]", *arguments]
        environment = {**os.environ, "PYTHONPATH": f"{ROOT}:{folder}", "TERM": "xterm", "COLUMNS": "120", "LINES": "40"}
        self._end, far = pty.openpty()
        self.process = subprocess.Popen(command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=far,
                                        stderr=far, start_new_session=True)  # fmt: skip
        os.close(far)
        self.seen = ""

    def until(self, pattern: str) -> str:
        """Reads on until the output matches."""
        deadline = time.monotonic() + PATIENCE_S
        while not re.search(pattern, self.seen):
            assert time.monotonic() < deadline, self.seen[-3000:]
            if not self._read():
                break
        assert re.search(pattern, self.seen), self.seen[-3000:]
        return self.seen

    def _read(self) -> bool:
        if select.select([self._end], [], [], 0.2)[0]:
            try:
                self.seen += os.read(self._end, 65536).decode(errors="replace")
            except OSError:
                return False
        return True

    def end(self) -> int:
        """Waits for the end, and gives the exit code."""
        while self._read():
            if self.process.poll() is not None and not select.select([self._end], [], [], 0.2)[0]:
                break
        return self.process.wait(PATIENCE_S)

    def interrupt(self) -> None:
        """What Ctrl-C does."""
        os.killpg(self.process.pid, signal.SIGINT)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "app.cql").write_text(SCRIPT, encoding="utf-8")
    return tmp_path


def test_the_view_the_metrics_and_an_end_after_the_batch(folder: Path) -> None:
    (folder / "slow.py").write_text(SLOW.format(seconds=0.5))
    run = Terminal(folder, "--metrics-port", "0", "--metrics-host", "127.0.0.1", "--log", "run.log")
    port = re.search(r":(\d+)/metrics", run.until(r":\d+/metrics"))[1]  # type: ignore[index]
    run.until(r"done 2")
    text = urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10).read().decode()
    assert re.search(r'penstock_input_rows_total{stream="ticks"} [1-9]', text)
    assert 'penstock_delay_target_seconds{query="odd"} 5.0' in text
    assert re.search(r"penstock_running 1.0", text)
    run.interrupt()
    run.until("ending after this batch")
    assert run.end() == 0, run.seen[-2000:]
    batches = re.findall(r"begun (\d+)", run.seen)
    assert batches == re.findall(r"done (\d+)", run.seen)
    for shown in ("penstock app.cql", "rows/s", "results/s", "response", "p99", "5.00 s", "gate", "lanes", "sink"):
        assert shown in run.seen, shown
    kinds = [json.loads(line)["kind"] for line in (folder / "run.log").read_text().splitlines()]
    assert (kinds[:2], "stopping" in kinds, kinds[-1]) == (["started", "ready"], True, "ended")


def test_ctrl_c_twice_ends_at_once_and_lets_the_next_run_in(folder: Path) -> None:
    (folder / "slow.py").write_text(SLOW.format(seconds=300))
    run = Terminal(folder)
    run.until(r"begun \d")
    run.interrupt()
    run.until("ending after this batch")
    time.sleep(0.5)
    assert run.process.poll() is None
    asked = time.monotonic()
    run.interrupt()
    assert (run.end(), "done" in run.seen, "Traceback" in run.seen) == (130, False, False)
    assert time.monotonic() - asked < 10
    assert not (folder / "checkpoint" / "lock").exists()
