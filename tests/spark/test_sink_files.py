"""File sinks: whoever lists the folder sees exactly the committed rows."""

from __future__ import annotations

import datetime as dt
import json
import os
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import csv, parquet

from penstock.errors import PenstockError
from penstock.plan.network import Connector, Query
from penstock.plan.nodes import Source
from penstock.plan.schema import Schema
from penstock.spark.sinks import Sink, open_sink
from penstock.spark.sinks.json_text import json_lines

COLUMNS = "src string, n int, x double, price decimal(6,2), at timestamp, day date, tags array<string>, ok boolean"
ROWS = pa.table(
    {
        "src": ['a "quoted", one', None],
        "n": pa.array([1, None], pa.int32()),
        "x": [float("nan"), 0.1],
        "price": pa.array([Decimal("1.50"), None], pa.decimal128(6, 2)),
        "at": pa.array([1, None], pa.timestamp("us", tz="UTC")),
        "day": pa.array([dt.date(2024, 1, 1), None]),
        "tags": [["a", 'b"'], None],
        "ok": [True, None],
        "_timestamp": pa.array([1_000_000, 2], pa.int64()),
        "_sign": pa.array([1, -1], pa.int8()),
    }
)


def sink(format: str, path: Path, run: str = "run1", **options: Any) -> tuple[Sink, Query]:
    connector = Connector(format, (("path", str(path)), *options.items()))
    query = Query("q", Source("s", Schema.parse(COLUMNS)), sink=connector)
    return open_sink(None, query, run), query  # type: ignore[arg-type]


def published(format: str, path: Path, rows: pa.Table = ROWS, batch: int = 4, **options: Any) -> Path:
    made, query = sink(format, path, **options)
    made.publish(batch, query, rows)
    return path / f"q-run1-{batch:012d}.{format}"


def test_parquet_keeps_types(tmp_path: Path) -> None:
    table = parquet.read_table(published("parquet", tmp_path))
    assert table.schema.field("_timestamp").type == pa.timestamp("us", tz="UTC")
    stamps = ROWS.column("_timestamp").cast(pa.timestamp("us", tz="UTC"))
    expected = ROWS.set_column(8, "_timestamp", stamps)
    nan = pa.table({"x": expected.column("x")}).to_pylist()
    assert table.drop(["x"]).to_pylist() == expected.drop(["x"]).to_pylist()
    assert str(pa.table({"x": table.column("x")}).to_pylist()) == str(nan)


def test_json_lines(tmp_path: Path) -> None:
    first, second = published("json", tmp_path).read_text().splitlines()
    assert json.loads(first) == {
        "src": 'a "quoted", one', "n": 1, "x": "NaN", "price": 1.5, "at": "1970-01-01T00:00:00.000001Z",
        "day": "2024-01-01", "tags": ["a", 'b"'], "ok": True, "_timestamp": "1970-01-01T00:00:01.000000Z", "_sign": 1,
    }  # fmt: skip
    assert set(json.loads(second).values()) == {None, 0.1, "1970-01-01T00:00:00.000002Z", -1}


def test_csv_with_and_without_a_header(tmp_path: Path) -> None:
    table = csv.read_csv(published("csv", tmp_path), convert_options=csv.ConvertOptions(strings_can_be_null=True))
    assert table.column("src").to_pylist()[0] == 'a "quoted", one'
    assert table.column("tags").to_pylist() == ['["a", "b\\""]', None]
    bare = published("csv", tmp_path / "bare", header=False, sep=";")
    assert bare.read_text().splitlines()[0].count(";") == len(ROWS.column_names) - 1
    assert not bare.read_text().startswith("src")


@pytest.mark.parametrize("format", ["parquet", "json", "csv"])
def test_a_batch_that_is_published_again_replaces_itself(tmp_path: Path, format: str) -> None:
    once = published(format, tmp_path).read_bytes()
    assert published(format, tmp_path).read_bytes() == once
    assert len(list(tmp_path.iterdir())) == 1


def test_another_checkpoint_adds_files_and_overwrites_none(tmp_path: Path) -> None:
    published("json", tmp_path)
    other, query = sink("json", tmp_path, run="run2")
    other.publish(4, query, ROWS)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["q-run1-000000000004.json", "q-run2-000000000004.json"]


def test_a_batch_without_rows_has_no_file_and_a_failed_one_leaves_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    published("json", tmp_path, ROWS.slice(0, 0))
    full = OSError(28, "No space left on device")
    monkeypatch.setattr("penstock.spark.sinks.files._sync", lambda *_: (_ for _ in ()).throw(full))
    with pytest.raises(PenstockError, match="the disk is full"):
        published("json", tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_columns_on_request(tmp_path: Path) -> None:
    line = published("json", tmp_path, extra="_batch, _committed_at").read_text().splitlines()[0]
    assert json.loads(line)["_batch"] == 4
    assert json.loads(line)["_committed_at"].startswith(str(dt.datetime.now(dt.UTC).year))


@pytest.mark.parametrize(
    ("options", "said"),
    [({"heder": True}, "did you mean 'header'"), ({"extra": "_bach"}, "did you mean '_batch'")],
)
def test_options_that_are_wrong(tmp_path: Path, options: dict[str, object], said: str) -> None:
    with pytest.raises(PenstockError) as caught:
        sink("csv", tmp_path, **options)
    assert said in str(caught.value)


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(PenstockError, match="cannot write"):
        sink("json", tmp_path / "file" / "out")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_may_not_be_written_to(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(PenstockError, match="permission denied"):
        sink("json", tmp_path)


@given(
    st.lists(
        st.tuples(st.none() | st.text(), st.none() | st.floats(allow_nan=False), st.none() | st.integers(-5, 2**62)),
        max_size=6,
    )
)
def test_json_lines_say_what_the_rows_are(rows: list[tuple[str | None, float | None, int | None]]) -> None:
    columns: list[list[Any]] = [list(c) for c in zip(*rows, strict=True)] or [[], [], []]
    table = pa.table({"s": pa.array(columns[0], pa.string()), "x": pa.array(columns[1], pa.float64()),
                      "n": pa.array(columns[2], pa.int64())})  # fmt: skip
    read = [json.loads(line) for line in json_lines(table).to_pylist()]
    words = {float("inf"): "Infinity", float("-inf"): "-Infinity"}
    expected = [{"s": s, "x": words.get(x, x) if x is not None else None, "n": n} for s, x, n in rows]
    assert read == expected
