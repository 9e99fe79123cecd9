"""Panes in one plan with the files that they are made of: the same rows, panes, dead letters and counts as apart."""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from penstock.cql import compile_script
from penstock.settings import Settings
from penstock.spark import one_plan
from penstock.spark.batch import BatchReport
from penstock.spark.run import Run, RunOptions

ROWS = 300
SCRIPT = """
CREATE STREAM p (ts TIMESTAMP, k STRING, v DOUBLE, spare INT) TIMESTAMP BY ts WITHIN 1 SECOND LATE DROP
  FROM parquet OPTIONS (path = '{at}/in/p', maxFilesPerTrigger = 1);
CREATE STREAM c (ts TIMESTAMP, k STRING, n BIGINT) TIMESTAMP BY ts
  FROM csv OPTIONS (path = '{at}/in/c', maxFilesPerTrigger = 1);
CREATE QUERY doubles AS SELECT k, count(*) AS n, sum(v) AS total, variance(v) AS spread
  FROM p [Range 4 Seconds Slide 2 Seconds] WHERE k <> 'c' GROUP BY k INTO json OPTIONS (path = '{at}/out/doubles');
CREATE QUERY whole AS SELECT k, sum(n) AS total, min(n) AS least FROM c [Range 3 Seconds Slide 3 Seconds] GROUP BY k
  INTO json OPTIONS (path = '{at}/out/whole');
"""


class Held(Run):
    """A run whose streaming query can be asked afterwards."""

    query: StreamingQuery

    def _start(self) -> StreamingQuery:
        self.query = super()._start()
        return self.query


def inputs(folder: Path) -> None:
    """Three files of one stream and one of the other: late rows, rows without a stamp or not to be read, a number that
    must not be squared."""
    for name in "pc":
        (folder / "in" / name).mkdir(parents=True)
    for number in range(3):
        at = [number * 3_000_000 + i * 10_000 - (5_000_000 if i % 50 == 7 else 0) for i in range(ROWS)]
        stamps = pa.array([None if i % 90 == 5 else t for i, t in enumerate(at)], pa.timestamp("us", tz="UTC"))
        values = [None if i % 11 == 0 else 1e200 if i == 77 else i / 7 for i in range(ROWS)]
        keys = ["abc"[i % 3] for i in range(ROWS)]
        table = pa.table({"ts": stamps, "k": keys, "v": values, "spare": pa.array(range(ROWS), pa.int32())})
        path = folder / "in" / "p" / f"{number}.parquet"
        pq.write_table(table, path)
        os.utime(path, (1_700_000_000 + number,) * 2)
    lines = [
        f"1970-01-01T00:00:{i % 60:02d},{'xy'[i % 2]},{'much' if i % 40 == 3 else (1 << 61) + i}" for i in range(80)
    ]
    (folder / "in" / "c" / "0.csv").write_text("\n".join(["ts,k,n", *sorted(lines)]) + "\n", encoding="utf-8")


def go(folder: Path, pane_rows: int) -> tuple[dict[str, Any], list[BatchReport], list[int]]:
    """What a run delivers and sets aside, its reports, and how many rows Spark says each trigger had."""
    folder.mkdir()
    inputs(folder)
    reports: list[BatchReport] = []
    options = RunOptions("local[2]", str(folder / "ck"), until_idle=True, close=True,
                         settings=Settings(pane_rows=pane_rows))  # fmt: skip
    running = Held(compile_script(SCRIPT.format(at=folder)), options, reports.append)
    running.go()
    found: dict[str, Any] = {}
    for query in ("doubles", "whole"):
        rows = ds.dataset(folder / "out" / query, format="json").to_table().to_pylist()
        found[query] = {(str(r["_timestamp"]), r["k"]): r for r in rows}
    letters = [json.loads(line) for f in (folder / "ck" / "dead-letters").rglob("*.json") for line in f.open()]
    found["letters"] = Counter((r["stream"], r["reason"], r["raw"]) for r in letters)
    return found, reports, [int(p.numInputRows) for p in running.query.recentProgress]


@pytest.mark.usefixtures("spark")
def test_the_same_as_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    resting = []
    at_rest = one_plan._at_rest
    monkeypatch.setattr(one_plan, "_at_rest", lambda *given: resting.append(at_rest(*given)) or resting[-1])
    panes, with_panes, read = go(tmp_path / "panes", 0)
    assert len(resting) == 3
    assert all(resting)
    rows, with_rows, read_singly = go(tmp_path / "rows", 1 << 40)
    assert panes["letters"] == rows["letters"]
    assert {stream for stream, _, _ in panes["letters"]} == {"p", "c"}
    for query in ("doubles", "whole"):
        assert panes[query].keys() == rows[query].keys()
        for key, row in panes[query].items():
            for column, value in rows[query][key].items():
                close = pytest.approx(value, rel=1e-9, nan_ok=True) if isinstance(value, float) else value
                assert row[column] == close, f"{query} {key} {column}"
    assert read == read_singly
    assert [r.malformed for r in with_panes] == [r.malformed for r in with_rows]
    assert [r.rows_in for r in with_panes] == [r.rows_in for r in with_rows]


def test_rows_that_no_stream_gave_stay_as_they_are(spark: SparkSession) -> None:
    rows = spark.range(3)
    assert one_plan.OnePlan(rows).rows is rows
