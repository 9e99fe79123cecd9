"""What a window of a million rows of four 8-byte columns takes in memory: alone, and shared by two windows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from penstock.lane.runtime import Lane
from penstock.operators.columns.train import Train
from penstock.operators.columns.vector import Vector
from penstock.plan.network import Network, Query
from penstock.plan.nodes import IStream, Source, Window
from penstock.plan.schema import Schema
from penstock.plan.windows import Range, Rows, WindowSpec

ROWS = 1_000_000
BATCH = 10_000
BAR_MB = 80.0
SCHEMA = Schema.parse("a bigint, b bigint, c double, d double")
CASES: tuple[tuple[str, tuple[WindowSpec, ...]], ...] = (
    ("rows", (Rows(ROWS),)),
    ("time", (Range(ROWS - 1),)),
    ("rows and time, shared", (Rows(ROWS), Range(ROWS // 2))),
)
Figure = dict[str, Any]


def state_mb(specs: tuple[WindowSpec, ...], seed: int) -> tuple[float, int]:
    """The largest megabytes of stores and operators while 1.3 million rows pass, and the rows that came out."""
    source = Source("s", SCHEMA)
    queries = tuple(Query(f"q{i}", IStream(Window(source, spec))) for i, spec in enumerate(specs))
    lane = Lane(Network(queries=queries))
    random = np.random.default_rng(seed)
    largest, out = 0.0, 0
    for start in range(0, ROWS + 300_000, BATCH):
        ts = np.arange(start, start + BATCH)
        values = [random.integers(0, 99, BATCH), random.integers(0, 99, BATCH), *random.random((2, BATCH))]
        lane.push("s", Train([Vector(v) for v in values], ts, seq=ts), start + BATCH)
        lane.run()
        out += sum(len(t) for t in lane.take("q0"))
        found = lane.snapshot()
        largest = max(largest, (found.store_bytes + sum(o.state_bytes for o in found.operators)) / 1e6)
    return largest, out


def figures(full: bool, seed: int) -> Iterator[Figure]:
    """Each case's largest size."""
    for name, specs in CASES:
        value, out = state_mb(specs, seed)
        assert out == ROWS + 300_000, out
        yield {
            "name": f"window of {ROWS:,} rows of four 8-byte columns ({name})",
            "value": value,
            "unit": "MB",
            "spread": None,
            "bar": BAR_MB,
            "holds": value <= BAR_MB,
            "checked_against": "the number of rows that entered",
        }
