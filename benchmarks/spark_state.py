"""State: what a large window costs a batch, and what it costs to come back with."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import numpy as np
from pyspark.sql import SparkSession

from benchmarks.spark_common import LIMITS, Figure, at_most, figure, in_session, penstock, read, write_files

__all__ = ["LIMITS", "figures"]
BATCH: Final = 10_000
LARGE, SMALL = 1_000_000, 10_000
SPACING_US: Final = 10
SCRIPT: Final = """
CREATE STREAM a (ts TIMESTAMP, id BIGINT, k INT) TIMESTAMP BY ts
  FROM parquet OPTIONS (path = '{a}', maxFilesPerTrigger = 1);
CREATE STREAM b (ts TIMESTAMP, id BIGINT, k INT) TIMESTAMP BY ts
  FROM parquet OPTIONS (path = '{b}', maxFilesPerTrigger = 1);
CREATE QUERY q AS Istream(SELECT a.id AS x, b.id AS y
  FROM a [Range {range} Microseconds], b [Range {range} Microseconds] WHERE a.k = b.k)
  INTO parquet OPTIONS (path = '{out}')
"""
MATCHES: Final = "the number of pairs, by counting keys"


@in_session
def figures(spark: SparkSession, folder: Path, full: bool, seed: int) -> Iterator[Figure]:
    """The batch time with large windows against small ones, and the recovery of the large ones."""
    batches = 100 if full else 30
    large = _run(folder / "state-large", LARGE, batches, seed)
    small = _run(folder / "state-small", SMALL, batches, seed)
    ratio = float(np.median(large) / np.median(small))
    yield figure(f"batch of 2 x {BATCH:,} rows, windows of {LARGE:,}", large, "ms", None, MATCHES)
    yield figure(f"batch of 2 x {BATCH:,} rows, windows of {SMALL:,}", small, "ms", None, MATCHES)
    yield figure("windows of 1,000,000 rows against 10,000", [ratio], "times", 1.5, MATCHES, at_most)
    yield _recovery(folder, seed)


def _columns(start: int, rows: int, keys: int, place: int, seed: int) -> dict[str, np.ndarray]:
    numbers = np.arange(start, start + rows)
    return {"ts": numbers * SPACING_US + place, "id": numbers,
            "k": np.random.default_rng((seed, start, place)).integers(0, keys, rows, np.int32)}  # fmt: skip


def _feed(folder: Path, window: int, batches: int, seed: int, fill: bool = True) -> dict[str, Path]:
    """One large file that fills the window, then `batches` files of a batch's rows."""
    made = {}
    for place, name in enumerate("ab"):
        path = folder / name
        if fill:
            write_files(path, _columns(0, window, window, place, seed), window)
        write_files(path, _columns(window, batches * BATCH, window, place, seed), BATCH, first=1)
        made[name] = path
    return made


def _script(folder: Path, files: dict[str, Path], window: int) -> str:
    return SCRIPT.format(**files, range=window * SPACING_US, out=folder / "out")


def _run(folder: Path, window: int, batches: int, seed: int) -> list[float]:
    files = _feed(folder, window, batches, seed)
    ran = penstock(_script(folder, files, window), folder / "ck", close=True)
    _check(folder, window, batches, seed)
    return [float(t) for t in ran.triggers[1 + batches // 3 :]]


def _check(folder: Path, window: int, batches: int, seed: int) -> None:
    """The number of pairs: of each key, those of a and b no further apart than the window."""
    spans = ((0, window), (window, batches * BATCH))
    parts = [[_columns(s, n, window, place, seed) for s, n in spans] for place in (0, 1)]
    (ka, ta), (kb, tb) = [[np.concatenate([p[c] for p in side]) for c in ("k", "ts")] for side in parts]
    order = np.lexsort((tb, kb))
    span = np.int64(1) << 40
    placed = kb[order].astype(np.int64) * span + tb[order]
    at = ka.astype(np.int64) * span + ta
    low = np.searchsorted(placed, np.maximum(at - window * SPACING_US, ka.astype(np.int64) * span))
    high = np.searchsorted(placed, np.minimum(at + window * SPACING_US, (ka.astype(np.int64) + 1) * span - 1), "right")
    assert read(folder / "out", "x", "y").num_rows == int((high - low).sum())


def _recovery(folder: Path, seed: int) -> Figure:
    """From the making of a run to its first batch, with a million rows in windows and with none."""
    spent = {}
    for name, fill in (("none", False), ("state", True)):
        place = folder / f"recovery-{name}"
        files = _feed(place, LARGE // 2, 3 if fill else 0, seed, fill)
        script = _script(place, files, LARGE // 2)
        if fill:
            penstock(script, place / "ck")
        later = _feed_later(place, files, LARGE // 2, seed)
        spent[name] = penstock(_script(place, later, LARGE // 2), place / "ck").first_s
        shutil.rmtree(place)
    return figure("recovery of 1,000,000 rows, beyond a start without", [spent["state"] - spent["none"]], "s", 10.0,
                  "the batch that follows is committed", at_most, profile=f"{spent}")  # fmt: skip


def _feed_later(folder: Path, files: dict[str, Path], window: int, seed: int) -> dict[str, Path]:
    for place, name in enumerate("ab"):
        write_files(files[name], _columns(window + 3 * BATCH, BATCH, window, place, seed), BATCH, first=1000)
    return files
