"""The guard on an ordinary Structured Streaming job, under bursts of twice (in full: 1.2 to 10 times) its capacity."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from benchmarks.figures.reporting import Row, at_least, at_most
from benchmarks.guarded_job import SLICE_S, Done, Job, Phase, fed, stream, written

LIMITS: Final = (
    "guard: every row counts as late as the slowest of its batch, the one that came first",
    "guard: the capacity is what the same stream works off without guard in batches of half the target: longer batches "
    "would work off more, as each of them takes a quarter of a second besides its rows, and could not answer in time",
)
TARGET_S: Final = 2.0
CALM_S: Final = 5.0
SETTLING_S: Final = 10.0
AFTER_S: Final = 5.0
SHORT_S: Final = 40.0
LONG_S: Final = 120.0
MEASURED_S: Final = 12.0
SLICES: Final = 8
"""Files in a batch while the capacity is measured."""
BATCHES: Final = 10
"""So many are looked at, without the first two."""
FACTORS: Final = ((2.0, 0.93),)
ALL_FACTORS: Final = ((1.2, 0.93), (2.0, 0.93), (4.0, 0.93), (10.0, 0.85))


def figures(full: bool, seed: int) -> Iterator[Row]:
    """Of each burst its p99 and what was delivered; and the same beside a job without guard."""
    from penstock.spark.session import cache_folder, open_session

    spark = open_session("penstock-guarded", "local[2]", cache_folder(), {"spark.sql.shuffle.partitions": "2"})
    burst_s = LONG_S if full else SHORT_S
    with tempfile.TemporaryDirectory(prefix="penstock-guard-") as folder:
        place = Path(folder)
        rate = capacity(spark, place, seed)
        yield at_most("guard: capacity of the job", rate, "rows/s", 20_000.0)
        for factor, least in ALL_FACTORS if full else FACTORS:
            done, counts = run(spark, place / f"x{factor:g}", burst(rate, factor, burst_s), TARGET_S, seed)
            yield from judged(f"guard: {factor:g} times capacity: ", done, counts, rate, burst_s, least)
        done, _ = run(spark, place / "without", burst(rate, 2.0, burst_s), None, seed)
        yield {**at_most("without guard: 2 times capacity: p99 of response times", p99_s(done, CALM_S + SETTLING_S),
                         "s", TARGET_S), "bar": None, "holds": True}  # fmt: skip


def burst(rate: float, factor: float, burst_s: float) -> list[Phase]:
    """Calm, a burst of so many times the capacity, calm again."""
    return [(CALM_S, 0.3 * rate), (burst_s, factor * rate), (AFTER_S, 0.3 * rate)]


def capacity(spark: Any, folder: Path, seed: int) -> float:
    """Rows a second that the stream works off without guard from a source that has more than enough, in batches that
    take about half of the target: as long as it allows."""
    rate, rows = 0.0, SLICES * 1000
    for attempt in range(3):
        place, job = folder / f"capacity{attempt}", Job(spark)
        written(place, [(MEASURED_S, rows / SLICES / SLICE_S)], seed, hidden="")
        writer = stream(spark, place, SLICES).writeStream.option("checkpointLocation", str(folder / f"ck{attempt}"))
        query = writer.foreachBatch(job).start()
        end_s = time.monotonic() + 2 * MEASURED_S
        while time.monotonic() < end_s and query.isActive and len(job.done) < BATCHES:
            time.sleep(0.05)
        query.stop()
        if len(job.done) < BATCHES:
            raise AssertionError("the machine is too busy to measure what it can work off")
        warm = job.done[2:]
        rate = sum(d.rows for d in warm[1:]) / (warm[-1].at_s - warm[0].at_s)
        rows = max(1000, round(rate * TARGET_S / 2 * 0.9))
    return rate


def run(
    spark: Any, folder: Path, phases: Sequence[Phase], target_s: float | None, seed: int, **options: Any
) -> tuple[list[Done], dict[str, int]]:
    """What became of the batches, and the guard's counts; without `target_s` there is no guard."""
    from penstock.spark import guard

    job = Job(spark)
    g = guard(delay=f"{round((target_s or 1) * 1000)} ms", seed=seed, **options)
    with fed(folder / "in", phases, job, seed) as more:
        writer = stream(spark, folder / "in").writeStream.option("checkpointLocation", str(folder / "ck"))
        started = writer.foreachBatch(job)
        query = started.start() if target_s is None else g.attach(started)
        try:
            while more() and query.isActive:
                time.sleep(0.1)
            if (failure := query.exception()) is not None:
                raise failure
            time.sleep(1.0)
        finally:
            query.stop()
    if target_s is not None and g.counts["rows"] != g.counts["kept"] + g.counts["dropped"]:
        raise AssertionError("rows that came are not those that were kept and those that were dropped")
    return job.done, dict(g.counts)


def p99_s(done: Sequence[Done], start_s: float, end_s: float = float("inf")) -> float:
    """The 99th percentile over rows of batches that ended between two instants, each row as late as its batch's
    slowest."""
    inside = sorted((d.response_s, d.rows) for d in done if start_s <= d.at_s <= end_s)
    whole, passed = sum(n for _, n in inside), 0
    for response_s, n in inside:
        passed += n
        if passed >= 0.99 * whole:
            return response_s
    return float("inf")


def judged(
    about: str, done: Sequence[Done], counts: dict[str, int], rate: float, burst_s: float, least: float
) -> Iterator[Row]:
    """The bars of a burst."""
    start_s, end_s = CALM_S + SETTLING_S, CALM_S + burst_s
    yield at_most(f"{about}p99 of response times", p99_s(done, start_s, end_s), "s", TARGET_S,
                  "rows in = kept + dropped")  # fmt: skip
    inside = [d for d in done if start_s <= d.at_s <= end_s]
    delivered = sum(d.rows for d in inside[1:]) / max(1e-9, inside[-1].at_s - inside[0].at_s) / rate if inside else 0.0
    yield at_least(f"{about}delivered load", delivered, "of capacity", least)
    after = [d for d in done if d.at_s > end_s and d.stand_for > 1.02 * d.rows]
    yield at_most(f"{about}shedding after the burst", max((d.at_s - end_s for d in after), default=0.0), "s", 5.0)
