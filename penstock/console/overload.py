"""An overload on purpose: a stream that bursts, and a query whose work is real (a Python function row by row, a regular
expression, a join with a relation). What `penstock demo` shows and `penstock bench control` measures."""

from __future__ import annotations

import math
import shutil
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyarrow import csv, parquet

import penstock as ps

if TYPE_CHECKING:
    from penstock.spark.batch import BatchReport

STEPS: Final = 2000
"""Turns of the function's loop for a row: some hundred microseconds, so that reading is not the load."""
GROUPS: Final = 500
"""Rows of the relation, which the first batch brings along."""
UNSHED_S: Final = 2.0
"""The delay that is declared where nothing is shed for it."""
Phase = tuple[float, float]
"""Seconds, and rows a second."""
SCRIPT: Final = """CREATE STREAM calls (ts TIMESTAMP, grp INT, x DOUBLE, line STRING) TIMESTAMP BY ts
    FROM replay OPTIONS (path = '{folder}/trace.parquet', arrivals = '{folder}/arrivals.txt'{cap});
CREATE RELATION owners (grp INT, owner STRING) FROM csv OPTIONS (path = '{folder}/owners.csv');
CREATE QUERY scored {options} AS
    SELECT c.grp, o.owner, overload_score(c.x) AS score FROM calls [Now] AS c, owners AS o
    WHERE c.grp = o.grp AND regexp_like(c.line, '^user[0-9]+ GET /item/[0-9]+')
    INTO parquet OPTIONS (path = '{folder}/out')"""


@dataclass(frozen=True, slots=True)
class Seen:
    """A batch with rows: when it was done since the trace began, rows that came and that were kept, results, the 99th
    percentile of their response times, how long it took, the processor time of all processes, the rows that all drops
    have dropped so far, and the processor time of deciding what to drop."""

    at_s: float
    came: int
    kept: int
    results: int
    p99_s: float | None
    took_s: float
    processor_s: float
    dropped: int = 0
    control_s: float = 0.0


def overload_score(x: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Work as a Python function does it, a row at a time."""
    scores = np.empty(len(x))
    for i, value in enumerate(x.tolist()):
        total = 0.0
        for step in range(STEPS):
            total += math.sin(value + step)
        scores[i] = total
    return scores


def trace(folder: Path, phases: Sequence[Phase], seed: int = 0) -> int:
    """Writes the stream and the relation to `folder`; the number of rows."""
    random = np.random.default_rng(seed)
    starts = np.cumsum([0.0, *(seconds for seconds, _ in phases)])
    parts = [start + np.arange(int(s * rate)) / rate for start, (s, rate) in zip(starts, phases, strict=False)]
    at = np.concatenate(parts)
    lines = [f"user{u} GET /item/{i}" for u, i in random.integers(0, 9999, (len(at), 2)).tolist()]
    rows = {"ts": pa.array((at * 1e6).astype(np.int64), pa.timestamp("us", tz="UTC")),
            "grp": pa.array(random.integers(0, GROUPS, len(at)), pa.int32()), "x": random.random(len(at)),
            "line": lines}  # fmt: skip
    parquet.write_table(pa.table(rows), folder / "trace.parquet")
    np.savetxt(folder / "arrivals.txt", at * 1000, fmt="%.3f")
    owners = pa.table({"grp": list(range(GROUPS)), "owner": [f"owner{g % 7}" for g in range(GROUPS)]})
    csv.write_csv(owners, folder / "owners.csv", csv.WriteOptions(include_header=False))
    return len(at)


def overloaded(
    folder: Path, phases: Sequence[Phase], delay_s: float | None, seen: Callable[[Seen], None],
    extra_s: float = 3.0, seed: int = 0, master: str = "local[2]", cap: int | None = None,
    extra: Mapping[str, str] | None = None,
) -> list[Seen]:  # fmt: skip
    """Runs the query over the phases and `extra_s` longer; every batch with rows. Without `delay_s` it is the same run
    in mode `off`: nothing is shed. `cap` is a static one, on tenths of a second of arrivals that a batch may take."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    trace(folder, phases, seed)
    return resumed(folder, sum(s for s, _ in phases) + extra_s, delay_s, seen, master, cap, extra)


def resumed(
    folder: Path, whole_s: float, delay_s: float | None, seen: Callable[[Seen], None], master: str = "local[2]",
    cap: int | None = None, extra: Mapping[str, str] | None = None,
) -> list[Seen]:  # fmt: skip
    """Goes on with the query for `whole_s` from its first batch, where an earlier run over `folder` has ended."""
    from penstock.spark.run import Run, RunOptions

    _register()
    app = ps.App()
    options = f"WITH (delay = '{round((delay_s or UNSHED_S) * 1000)} ms')"
    capped = "" if cap is None else f", maxFilesPerTrigger = '{cap}'"
    app.sql(SCRIPT.format(folder=folder, options=options, cap=capped))
    listed: list[Seen] = []
    began: list[float] = []

    def note(report: BatchReport) -> None:
        if report.source is None or report.snapshot is None or report.snapshot.batch is None:
            return
        if not began:
            began.append(time.monotonic())
            ending = threading.Timer(whole_s, running.stop)
            ending.daemon = True
            ending.start()
        listed.append(_seen(report, time.monotonic() - began[0]))
        seen(listed[-1])

    mode = "on" if delay_s else "off"
    running = Run(app.network, RunOptions(master, str(folder / "checkpoint"), mode=mode, extra=extra), note)
    running.go()
    return listed


def _register() -> None:
    """Makes the function known under its name, once."""
    from penstock.plan.functions.registry import find

    if find("overload_score") is None:
        ps.function(returns="double")(overload_score)


def _seen(report: BatchReport, at_s: float) -> Seen:
    assert report.snapshot is not None and report.snapshot.batch is not None
    waits: Any = report.waits.get("scored")
    batch = report.snapshot.batch
    p99_s = None if waits is None else waits.quantile(0.99)
    dropped = sum(d.dropped for d in report.snapshot.drops)
    results = report.rows_out.get("scored", 0)
    kept = report.rows_in - (GROUPS if report.batch == 0 else 0)
    return Seen(at_s, batch.rows_in, kept, results, p99_s, batch.whole_s, batch.processor_s, dropped, batch.control_s)


def adds_up(batches: Sequence[Seen]) -> bool:
    """True where every row that came was kept or counted as dropped."""
    came, kept = sum(b.came for b in batches), sum(b.kept for b in batches)
    return not batches or came == kept + batches[-1].dropped


def capacity(batches: Sequence[Seen]) -> float:
    """Rows a second that were worked off while there was always more to do: without the first, cold batches. A batch
    answers its own rows, as its query declares a delay."""
    full = [b for b in batches if b.came]
    warm = full[min(2, len(full) // 3) :]
    if len(warm) < 2:
        return 0.0
    return sum(b.kept for b in warm[1:]) / (warm[-1].at_s - warm[0].at_s)


def between(batches: Sequence[Seen], start_s: float, end_s: float) -> list[Seen]:
    """Batches that ended between two instants; where these are not two, those that were under way then, too."""
    inside = [b for b in batches if start_s <= b.at_s <= end_s]
    return inside if len(inside) > 1 else inside + [b for b in batches if b.at_s > end_s][: 2 - len(inside)]


def kept_rate(batches: Sequence[Seen], start_s: float, end_s: float) -> float:
    """Rows a second that were kept between two instants, between the ends of batches."""
    inside = between(batches, start_s, end_s)
    if len(inside) < 2:
        return 0.0
    return sum(b.kept for b in inside[1:]) / (inside[-1].at_s - inside[0].at_s)
