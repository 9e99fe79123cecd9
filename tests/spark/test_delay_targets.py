"""A declared delay on Spark: batches are thinned as they are read, and everything that was given up is counted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.control.coming import Coming, age_drops, reach_s
from penstock.control.loop import Loop
from penstock.cql import compile_script
from penstock.lane.workload import Uniform
from penstock.plan.drops import AgeDrop, Location
from penstock.plan.nodes import Source
from penstock.plan.rewrites import optimize
from penstock.plan.running import Plan
from penstock.spark.batch import BatchReport
from penstock.spark.intake import Intake, latest
from penstock.spark.run import Run, RunOptions
from penstock.spark.sizes import Sizes, _numbers
from penstock.spark.stages import staged
from penstock.testing import evaluate

SCRIPT = """CREATE STREAM s (ts TIMESTAMP, x DOUBLE, text STRING) TIMESTAMP BY ts
    FROM replay OPTIONS (path = '{folder}/trace.parquet', arrivals = '{folder}/arrivals.txt');
CREATE QUERY q WITH (delay = '1 second') AS
    SELECT x, regexp_replace(text, '([a-z]+)([0-9]+)', '$2$1') AS t FROM s
    WHERE regexp_like(text, '^(([a-z])+.)+[A-Z]([a-z])+$') OR regexp_like(text, '(a|b|ab)*c[0-9]+x')
    INTO parquet OPTIONS (path = '{folder}/out');"""
"""Regular expressions row by row: real work, some microseconds a row."""


def trace(folder: Path, rates: list[tuple[float, float]]) -> int:
    """(seconds, rows a second), one stretch after another."""
    at, now = [], 0.0
    for seconds, rate in rates:
        at.append(now + np.arange(int(seconds * rate)) / rate)
        now += seconds
    instants = np.concatenate(at)
    words = Uniform(0, 9999).draw(len(instants), np.random.default_rng(3))
    text = [f"{'ab' * (w % 12)}c{w}x" for w in words]
    rows = {"ts": pa.array((instants * 1e6).astype(np.int64), pa.timestamp("us", tz="UTC")),
            "x": np.arange(len(instants), dtype=float), "text": text}  # fmt: skip
    pq.write_table(pa.table(rows), folder / "trace.parquet")
    np.savetxt(folder / "arrivals.txt", instants * 1000, fmt="%.3f")
    return len(instants)


def run(folder: Path, batches: int, **options: Any) -> list[BatchReport]:
    """Runs the script until so many batches with rows are over, or the trace is: a busy machine makes fewer of them."""
    network = compile_script(SCRIPT.format(folder=folder))
    reports: list[BatchReport] = []

    def note(report: BatchReport) -> None:
        reports.append(report)
        if sum(r.source is not None for r in reports) >= batches:
            running.stop()

    running = Run(network, RunOptions("local[2]", str(folder / "ck"), until_idle=True, **options), note)
    running.go()
    return reports


def test_a_burst_is_thinned_at_the_gate_and_all_that_went_is_counted(tmp_path: Path) -> None:
    trace(tmp_path, [(1, 200), (6, 120_000)])
    reports = run(tmp_path, 8)
    last = reports[-1].snapshot
    assert last is not None
    (stream,) = last.streams
    went = sum(d.dropped for d in last.drops)
    assert went > 0
    assert {d.reason for d in last.drops} <= {"random", "backlog"}
    assert stream.rows == went + sum(r.rows_in for r in reports)
    delivered = pq.read_table(tmp_path / "out").column("x").to_pylist()
    assert len(set(delivered)) == len(delivered) == sum(r.rows_out.get("q", 0) for r in reports)
    burst = [r for r in reports if r.snapshot and r.snapshot.batch and r.snapshot.batch.rows_in > 20_000]
    assert burst and all(r.rows_in < 0.9 * r.snapshot.batch.rows_in for r in burst if r.snapshot and r.snapshot.batch)
    assert (tmp_path / "ck" / "events").exists()


def test_off_sheds_nothing_and_monitor_says_what_it_would(tmp_path: Path) -> None:
    trace(tmp_path, [(1, 200), (3, 60_000)])
    reports = run(tmp_path, 4, mode="monitor")
    last = reports[-1].snapshot
    assert last is not None and not last.drops
    assert sum(s.rows for s in last.streams) == sum(r.rows_in for r in reports)
    events = "".join(p.read_text() for p in (tmp_path / "ck" / "events").glob("*.jsonl"))
    assert "shedding is watched only" in events


def test_what_is_old_goes_by_its_arrival_in_a_lane_as_at_the_gate() -> None:
    network = compile_script("CREATE STREAM s (a INT); CREATE QUERY q AS SELECT a FROM s WHERE a > 0")
    events = [("s", i * 1000, {"a": i}) for i in range(1, 101)]
    from penstock.lane.events import Inputs, arrivals
    from penstock.lane.runtime import Lane
    from penstock.lane.session import Job
    from penstock.lane.session import run as in_process
    from penstock.spark import kit

    given = arrivals(Inputs(network), events)
    job = Job(network, network.streams, (), given, 40)
    source = next(n for n in optimize(network).nodes() if isinstance(n, Source))
    plan = Plan(optimize(network), drops=((Location(source), AgeDrop(31_000, 0.3)),))
    lane = in_process(job, Lane(network), Loop(plan, ())).elements["q"]
    spark = kit.run(job, 2, Loop(plan, ())).elements["q"]
    assert sorted(e[0] for e in lane) == sorted(e[0] for e in spark) == [i * 1000 for i in range(31, 101)]


def test_old_rows_make_room_only_where_rows_may_go() -> None:
    allowed = optimize(compile_script("CREATE STREAM s (a INT); CREATE QUERY q AS SELECT a FROM s WHERE a > 0"))
    held = optimize(compile_script("CREATE STREAM s (a INT); CREATE QUERY q AS SELECT DISTINCT a FROM s [Rows 10]"))
    coming = Coming(now_s=0, now_us=10_000_000, rows={"s": 1000}, gathered_s=5, waited_s=5)
    ((at, drop),) = age_drops(allowed, coming, 1.0)
    assert isinstance(drop, AgeDrop) and drop.before == 9_000_000 and drop.rate == pytest.approx(0.8)
    assert isinstance(at.node, Source)
    assert age_drops(held, coming, 1.0) == ()
    assert coming.since(1.0).rows == {"s": 200}
    assert reach_s(coming, 100.0, 2.0) == 1.0


def test_offsets_and_rows_at_the_gate_say_how_far_a_batch_goes() -> None:
    assert _numbers({"t": {"0": 1, "1": True, "x": "a"}}) == {("t", "0"): 1.0}
    assert _numbers(7) == {(): 7.0}
    cut = staged(compile_script("CREATE STREAM s (a INT); CREATE QUERY q AS SELECT a FROM s WHERE a > 0"), 1)
    rows = pa.record_batch({"_entry": pa.array([0, 0, -1], pa.int32()), "_ts": pa.array([5, 9, None], pa.int64())})
    assert latest([rows], cut.entries_of(0)) == {"s": 9}


def test_the_instants_of_a_batch_are_answered_in_it() -> None:
    script = "CREATE STREAM s (a INT); CREATE QUERY q AS SELECT a FROM s WHERE a > 0"
    events = [("s", i, {"a": i}) for i in range(1, 50)]
    assert len(evaluate(script, events, engine="spark", batches=7)["q"]) == 49


def intake(target_s: float = 2.0) -> Intake:
    return Intake(Sizes(None, None, "q", ()), target_s)  # type: ignore[arg-type]


def test_a_source_whose_clock_is_off_is_told_from_a_backlog_and_said_once() -> None:
    steady, backlog, ahead = intake(), intake(), intake()
    for i in range(9):
        for each, stale_s in ((steady, 3600.2 + 0.1 * i), (backlog, 40.0 - 4 * i), (ahead, -30.0)):
            each._now_us = 10_000_000_000
            each.prepared(0.1, 10_000_000_000 - round(stale_s * 1e6))
    assert steady.skew_s == pytest.approx(3600.2) and ahead.skew_s == pytest.approx(-30)
    assert backlog.skew_s == 0
    (said,) = steady.notices()
    assert "3600.2 s behind" in said
    assert not list(steady.notices()) and not list(backlog.notices())
    assert "ahead of" in next(ahead.notices())


def test_how_old_a_backlog_is_says_nothing_about_the_next_batch() -> None:
    waiting = intake()
    for stale_s in (20.0, 0.2, 0.1, 0.3):
        waiting._now_us = 10_000_000_000
        waiting.prepared(0.1, 10_000_000_000 - round(stale_s * 1e6))
    assert waiting._stale_s() == pytest.approx(0.2)


def test_a_target_that_an_idle_system_does_not_reach_is_said_with_what_it_reaches() -> None:
    slow = intake(0.05)
    for _ in range(12):
        slow.done({}, 0.14, 0.02)
    (said,) = slow.notices()
    assert "0.05 s is below" in said and "0.24 s" in said
    fast = intake(2.0)
    for _ in range(12):
        fast.done({}, 0.14, 0.02)
    assert not list(fast.notices())
    assert fast.floor_s == pytest.approx(0.12)
