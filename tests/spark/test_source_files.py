"""Files as sources: every row comes with its identity, and a malformed one with its reason."""

from __future__ import annotations

import datetime as dt
import gzip
import os
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from penstock.errors import PenstockError
from penstock.spark.sources import open_stream
from tests.spark.streams import Options, declared, load, read, running

COLUMNS = "ts timestamp, src string, n int, price decimal(6,2), tags array<int>, day date, ok boolean, gap interval"
MIDNIGHT = 1704067200_000_000
HEADER = "ts,extra,SRC,n,price,tags,day,ok,gap\n"
CSV = [
    ("2024-01-01 00:00:00.5,x,\"a,b\",1,1.25,\"[1,2]\",2024-01-01,true,5", None),
    ("2024-01-01T01:00:00+01:00,x,b,,,,,,", None),
    ("2024-01-01 00:00:00,x,b,two,,,,,", "n is not an int"),
    ("2024-01-01 00:00:00,x,b,99999999999,,,,,", "n is not an int"),
    ("yesterday,x,b,,,,,,", "ts is not a timestamp"),
    ("12:30:00,x,b,,,,,,", "ts is not a timestamp"),
    ("1704067200,x,b,,,,,,", "ts is not a timestamp"),
    (",x,b,,,,,,", "ts is NULL"),
    ("2024-01-01 00:00:00,x,b,,12345.25,,,,", "price is not a decimal(6,2)"),
    ("2024-01-01 00:00:00,x,b,,,[q],,,", "tags is not an array<int>"),
    ("2024-01-01 00:00:00,x,b,,,,2024-13-01,,", "day is not a date"),
    ("2024-01-01 00:00:00,x,b,,,,+10000-01-01,,", "day is not a date of the years 1 to 9999"),
    ("2024-01-01 00:00:00,x,b,,,,,maybe,", "ok is not a boolean"),
    ("2024-01-01 00:00:00,x,b,,,,,,soon", "gap is not an interval"),
    ("2024-01-01 00:00:00,x,b", "the number of columns is wrong"),
]  # fmt: skip
JSON = [
    ('{"ts":"2024-01-01 00:00:00.5","src":"a","n":1,"price":1.25,"tags":[1,2],"day":"2024-01-01","ok":true}', None),
    ('{"ts":"2024-01-01 00:00:00","price":"1.50","src":{"a":1},"more":[]}', None),
    ('{"ts":"2024-01-01 00:00:00","src":"}{"}', None),
    ('{"ts":1704067200000}', "ts is not a timestamp"),
    ('{"ts":"2024-01-01","n":1.5}', "n is not an int"),
    ('{"ts":"2024-01-01","n":"1"}', "n is not an int"),
    ('{"ts":"2024-01-01","n":99999999999}', "n is not an int"),
    ('{"ts":"2024-01-01","tags":["x"]}', "tags is not an array<int>"),
    ('{"ts":"2024-01-01","tags":7}', "tags is not an array<int>"),
    ('{"ts":"2024-01-01","price":123456789.5}', "price is not a decimal(6,2)"),
    ('{"ts":"2024-01-01"} trailing', "not a JSON object"),
    ('{"ts":"2024-01-01"}{"ts":"2024-01-02"}', "not a JSON object"),
    ('{"ts":"2024-01-01"', "not a JSON object"),
    ('[{"ts":"2024-01-01"}]', "not a JSON object"),
    ("17", "not a JSON object"),
    ('{"nothing":1}', "it has none of the declared columns"),
    ('{"ts":null,"src":"x"}', "ts is NULL"),
]


def test_csv_rows_by_the_names_in_the_header(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(HEADER + "\n".join(line for line, _ in CSV) + "\n\n")
    os.utime(tmp_path / "a.csv", (1_000, 1_000))
    rows = read(spark, declared(COLUMNS, "csv", {"path": str(tmp_path), "header": True}, "ts"))
    assert [(r["_bad"], r["_raw"]) for r in rows] == [(bad, line if bad else None) for line, bad in CSV]
    assert [r["_offset"] for r in rows] == list(range(1, len(CSV) + 1))
    assert rows[0].asDict() == {
        "ts": dt.datetime(2024, 1, 1, 0, 0, 0, 500_000), "src": "a,b", "n": 1, "price": Decimal("1.25"),
        "tags": [1, 2], "day": dt.date(2024, 1, 1), "ok": True, "gap": 5, "_ts": MIDNIGHT + 500_000,
        "_arrival": 1_000_000_000, "_source": rows[1]["_source"], "_offset": 1, "_bad": None, "_raw": None,
    }  # fmt: skip
    assert rows[1]["_ts"] == MIDNIGHT


def test_json_lines(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("\n".join(line for line, _ in JSON) + "\n")
    rows = read(spark, declared(COLUMNS, "json", {"path": str(tmp_path)}, "ts"))
    assert [(r["_bad"], r["_raw"]) for r in rows] == [(bad, line if bad else None) for line, bad in JSON]
    assert (rows[0]["_ts"], rows[0]["tags"], rows[0]["price"]) == (MIDNIGHT + 500_000, [1, 2], Decimal("1.25"))
    assert (rows[1]["src"], rows[1]["price"]) == ('{"a":1}', Decimal("1.50"))


def test_text_that_is_not_utf_8_is_malformed_and_shown_as_far_as_can_be(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"\xef\xbb\xbf1,a\n2,\xff\n")
    rows = read(spark, declared("n int, s string", "csv", {"path": str(tmp_path)}))
    assert [(r["n"], r["_bad"], r["_raw"]) for r in rows] == [
        (1, None, None), (2, "not a text in UTF-8", "2,\ufffd")
    ]  # fmt: skip


def test_rows_keep_their_identity_however_a_file_is_cut(spark: SparkSession, tmp_path: Path) -> None:
    count, line = 4_500, "x" * 4_000
    with open(tmp_path / "a.csv", "w") as file:
        file.writelines(f"{i},{line}\n" for i in range(count))
    assert (tmp_path / "a.csv").stat().st_size > 16 << 20
    with gzip.open(tmp_path / "b.csv.gz", "wt") as file:
        file.writelines(f"{i},y\n" for i in range(10))
    stream = declared("n int, s string", "csv", {"path": str(tmp_path)})
    with running(spark, stream) as (query, name):
        query.processAllAvailable()
        rows = spark.table(name).select("n", "_source", "_offset")
        big, small = rows.groupBy("_source").count().orderBy(F.desc("count")).collect()
        assert (big["count"], small["count"]) == (count, 10)
        ordered = rows.where(F.col("_source") == big["_source"]).orderBy("_offset").collect()
    assert [r["n"] for r in ordered] == list(range(count))
    assert len({r["_offset"] for r in ordered}) == count


def test_numbers_are_timestamps_where_their_unit_is_said(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"ts":1704067200000.5}\n{"ts":"2024-01-01"}\n{"ts":"1704067200001"}\n{"ts":1e40}')
    given = {"path": str(tmp_path), "timestamp_unit": "ms"}
    rows = read(spark, declared("ts timestamp", "json", given, "ts"))
    assert [r["_ts"] for r in rows] == [MIDNIGHT + 500, MIDNIGHT, MIDNIGHT + 1000, None]
    assert rows[3]["_bad"] == "ts is not a timestamp"


def test_formats_of_ones_own(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("# comment\n01.02.2024 03:04;01/02/24;NA\n01.13.2024 03:04;01/02/24;1\n")
    given: Options = {"path": str(tmp_path), "sep": ";", "comment": "#", "nullValue": "NA",
                      "timestampFormat": "dd.MM.yyyy HH:mm", "dateFormat": "dd/MM/yy"}  # fmt: skip
    rows = read(spark, declared("ts timestamp, day date, n int", "csv", given, "ts"))
    assert [(r["ts"], r["day"], r["n"], r["_bad"]) for r in rows] == [
        (dt.datetime(2024, 2, 1, 3, 4), dt.date(2024, 2, 1), None, None),
        (None, dt.date(2024, 2, 1), 1, "ts is not a timestamp"),
    ]


def test_a_file_with_another_header_than_the_first_is_noticed(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("n,s\n1,a\n")
    stream = declared("n int, s string", "csv", {"path": str(tmp_path), "header": True})
    frame = open_stream(spark, stream)
    (tmp_path / "b.csv").write_text("s,n\nb,2\n")
    query = frame.writeStream.format("memory").queryName("headers").start()
    query.processAllAvailable()
    query.stop()
    found = {(r["n"], r["_bad"]) for r in spark.table("headers").collect()}
    assert found == {(1, None), (None, "the header differs from that of the first file"), (None, "n is not an int")}


def test_parquet(spark: SparkSession, tmp_path: Path) -> None:
    table = pa.table(
        {
            "ts": pa.array([dt.datetime(2024, 1, 1), None], pa.timestamp("us")),
            "N": pa.array([1, 2], pa.int16()),
            "x": pa.array([1.5, None], pa.float32()),
            "price": pa.array([Decimal("1.25"), None], pa.decimal128(4, 2)),
            "unread": ["a", "b"],
        }
    )
    parquet.write_table(table, tmp_path / "a.parquet")
    columns = "ts timestamp, n bigint, x double, price decimal(6,2)"
    good, bad = read(spark, declared(columns, "parquet", {"path": str(tmp_path)}, "ts"))
    assert (good["_ts"], good["n"], good["x"], good["price"]) == (MIDNIGHT, 1, 1.5, Decimal("1.25"))
    assert (good["_offset"], bad["_offset"], bad["_bad"], bad["_raw"]) == (0, 1, "ts is NULL", '{"n":2}')


def test_parquet_with_nanoseconds(spark: SparkSession, tmp_path: Path) -> None:
    parquet.write_table(pa.table({"ts": pa.array([MIDNIGHT * 1000 + 1], pa.timestamp("ns"))}), tmp_path / "a.parquet")
    given: Options = {"path": str(tmp_path)}
    with pytest.raises(PenstockError, match="column 'ts' is bigint in the files"):
        read(spark, declared("ts timestamp", "parquet", given, "ts"))
    rows = read(spark, declared("ts timestamp", "parquet", {**given, "timestamp_unit": "ns"}, "ts"))
    assert [r["_ts"] for r in rows] == [MIDNIGHT]


def test_relations(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text("1,a\nx,b\n")
    rows = load(spark, "n int, s string", "csv", {"path": str(tmp_path / "r.csv")})
    assert [(r["n"], r["s"], r["_offset"], r["_bad"], r["_raw"]) for r in rows] == [
        (1, "a", 0, None, None), (None, "b", 1, "n is not an int", "x,b")
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("columns", "format", "options", "said"),
    [
        ("n int", "csv", {}, "csv needs the option 'path'"),
        ("n int", "csv", {"path": "nowhere"}, "there is no file or folder"),
        ("n int", "csv", {"path": ".", "heder": True}, "did you mean 'header'"),
        ("n int", "csv", {"path": ".", "multiLine": True}, "multiLine is not supported"),
        ("n int", "json", {"path": ".", "timestamp_unit": "minutes"}, "unknown timestamp_unit"),
        ("n int, _ts timestamp", "csv", {"path": "."}, "the column name '_ts' is Penstock's own"),
        ("n int", "nosuch", {"path": "."}, "no data source 'nosuch'"),
    ],
)
def test_what_is_wrong_is_said(spark: SparkSession, columns: str, format: str, options: Options, said: str) -> None:
    with pytest.raises(PenstockError) as caught:
        read(spark, declared(columns, format, options))
    assert said in str(caught.value)
    assert "\tat " not in str(caught.value)


def test_columns_that_files_do_not_have(spark: SparkSession, tmp_path: Path) -> None:
    parquet.write_table(pa.table({"bytes": ["a"], "when": [1]}), tmp_path / "a.parquet")
    with pytest.raises(PenstockError) as caught:
        read(spark, declared("byte int, bytes int", "parquet", {"path": str(tmp_path)}))
    assert "there is no column 'byte'" in str(caught.value) and "did you mean 'bytes'" in str(caught.value)
    assert "column 'bytes' is string in the files, not an int" in str(caught.value)
    (tmp_path / "b.csv").write_text("bytes,when\n1,2\n")
    with pytest.raises(PenstockError, match="the header of the files has no column 'byte'"):
        read(spark, declared("byte int", "csv", {"path": str(tmp_path / "b.csv"), "header": True}))


def test_a_file_that_is_not_parquet(spark: SparkSession, tmp_path: Path) -> None:
    stream = declared("n int", "parquet", {"path": str(tmp_path)})
    with running(spark, stream) as (query, _):
        (tmp_path / "a.parquet").write_text("junk" * 10)
        with pytest.raises(PenstockError, match=r"cannot be read|not Parquet"):
            read(spark, stream)
        assert query.id


@pytest.mark.parametrize("format", ["json", "csv", "parquet"])
def test_a_single_file_is_a_stream_too(spark: SparkSession, tmp_path: Path, format: str) -> None:
    file = tmp_path / f"only one.{format}"
    if format == "parquet":
        parquet.write_table(pa.table({"n": pa.array([1, 2], pa.int32())}), file)
    else:
        file.write_text('{"n":1}\n{"n":2}\n' if format == "json" else "n\n1\n2\n")
    (tmp_path / f"only on.{format}").write_text("another")
    options = {"path": str(file)} | ({"header": True} if format == "csv" else {})
    assert [r["n"] for r in read(spark, declared("n int", format, options))] == [1, 2]


def test_a_day_that_is_no_date_of_ours_is_set_aside(spark: SparkSession, tmp_path: Path) -> None:
    days = pa.array([-719_162, 2_932_896, 2_932_897, -719_163, None], pa.date32())
    parquet.write_table(pa.table({"n": range(5), "day": days}), tmp_path / "a.parquet")
    rows = read(spark, declared("n bigint, day date", "parquet", {"path": str(tmp_path)}))
    beyond = "day is not a date of the years 1 to 9999"
    assert [r["_bad"] for r in sorted(rows, key=lambda r: r["n"])] == [None, None, beyond, beyond, None]
