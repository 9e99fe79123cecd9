"""Each fault ends a run with what was wrong and what to do, or is counted; and the run can go on where it stopped."""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession

from penstock.errors import PenstockError
from penstock.spark.state.files import Folder
from penstock.spark.state.lock import Lock
from tests.spark.runs import run

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = """
CREATE STREAM s (ts TIMESTAMP, k INT) TIMESTAMP BY ts FROM {format} OPTIONS (path = '{folder}/in', {options});
CREATE QUERY q AS SELECT k FROM s INTO {sink};
"""


def script(folder: Path, format: str = "json", sink: str = "", options: str = "maxFilesPerTrigger = 1") -> str:
    into = sink or f"json OPTIONS (path = '{folder}/out')"
    return SCRIPT.format(folder=folder, format=format, sink=into, options=options)


def feed(folder: Path, *keys: int) -> None:
    """A file for each key, in their order."""
    (folder / "in").mkdir(exist_ok=True)
    for key in keys:
        file = folder / "in" / f"{key:03d}.json"
        file.write_text(json.dumps({"ts": f"2026-01-01T00:00:{key:02d}Z", "k": key}) + "\n")
        os.utime(file, (1_700_000_000 + key, 1_700_000_000 + key))


def delivered(folder: Path) -> list[int]:
    lines = [line for file in (folder / "out").glob("*.json") for line in file.read_text().splitlines()]
    return sorted(json.loads(line)["k"] for line in lines)


@contextmanager
def called(function: Any) -> Iterator[str]:
    """A sink that calls `function(rows, batch)`."""
    CALLS["now"] = function
    yield f"foreach_batch OPTIONS (function = '{__name__}:call')"
    del CALLS["now"]


CALLS: dict[str, Any] = {}


def call(rows: DataFrame, batch: int) -> None:
    CALLS["now"](rows, batch)


@pytest.mark.parametrize("java", [None, "1.8.0_402", "broken"])
def test_no_java_that_will_do(
    java: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock.spark.java._packaged", lambda cache: None)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    if java is not None:
        (tmp_path / "bin").mkdir()
        says = f"echo 'openjdk version \"{java}\"' >&2" if java[0] == "1" else "exit 1"
        (tmp_path / "bin" / "java").write_text(f"#!/bin/sh\n{says}\n")
        (tmp_path / "bin" / "java").chmod(0o755)
        monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(PenstockError, match="Spark needs Java 17 or later") as caught:
        run(script(tmp_path), tmp_path)
    said = {None: "none found", "1.8.0_402": "is Java 8", "broken": "not a Java that starts"}[java]
    assert said in str(caught.value) and "openjdk" in str(caught.value.diagnostics[0].help)


def test_a_checkpoint_that_another_run_has_names_that_run_before_spark_starts(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    holder = subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path / "ck")], cwd=ROOT, stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True)  # fmt: skip
    assert holder.stdout is not None and holder.stdout.readline() == "held\n"
    feed(tmp_path, 1)
    with monkeypatch.context() as without, pytest.raises(PenstockError) as caught:
        without.setattr("penstock.spark.run.open_session", None)
        run(script(tmp_path), tmp_path)
    assert f"in use by process {holder.pid} on " in str(caught.value)
    assert "since " in str(caught.value) and "another checkpoint" in str(caught.value)
    holder.kill()
    holder.wait()
    run(script(tmp_path), tmp_path)
    assert delivered(tmp_path) == [1]


HOLD = """
import sys
from penstock.spark.state.files import Folder
from penstock.spark.state.lock import Lock
lock = Lock(Folder(sys.argv[1]))
print("held", flush=True)
sys.stdin.read()
"""


def test_of_two_that_come_at_once_one_gets_the_checkpoint(tmp_path: Path) -> None:
    code = HOLD.replace("lock = Lock", "try: lock = Lock", 1).replace(
        'print("held"', 'except Exception: sys.exit(7)\nprint("held"'
    )
    both = [subprocess.Popen([sys.executable, "-c", code, str(tmp_path / "ck")], cwd=ROOT, stdin=subprocess.PIPE)
            for _ in range(4)]  # fmt: skip
    waits = [threading.Thread(target=p.wait) for p in both]
    for wait in waits:
        wait.start()
    for wait in waits:
        wait.join(15 if sum(p.poll() == 7 for p in both) < 3 else 0)
        if sum(p.poll() == 7 for p in both) == 3:
            break
    assert sorted(str(p.poll()) for p in both) == ["7", "7", "7", "None"]
    for process in both:
        process.communicate()


@pytest.mark.parametrize("what", ["checkpoint", "dead_letters", "sink"])
def test_a_place_that_cannot_be_written(spark: SparkSession, tmp_path: Path, what: str) -> None:
    feed(tmp_path, 1)
    (tmp_path / "in" / "000.json").write_text("nonsense\n")
    (tmp_path / "file").write_text("no folder")
    place = tmp_path / "file" / "x"
    sink = f"parquet OPTIONS (path = '{place}')" if what == "sink" else ""
    given: dict[str, Any] = {what: "file/x" if what == "checkpoint" else str(place)} if what != "sink" else {}
    with pytest.raises(PenstockError, match=r"cannot (use|write)") as caught:
        run(script(tmp_path, sink=sink), tmp_path, **given)
    assert str(place) in str(caught.value) and "can be written to" in str(caught.value)


def test_a_source_that_does_not_exist(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(PenstockError, match=r"stream 's': there is no file or folder .*/in") as caught:
        run(script(tmp_path), tmp_path)
    assert "check the option 'path'" in str(caught.value)


def test_a_folder_that_vanishes_while_the_run_goes(spark: SparkSession, tmp_path: Path) -> None:
    feed(tmp_path, 1, 2)
    with (
        called(lambda rows, batch: shutil.rmtree(tmp_path / "in", ignore_errors=True)) as sink,
        pytest.raises(PenstockError, match="stream 's': what it reads has vanished") as caught,
    ):
        run(script(tmp_path, sink=sink), tmp_path, until_idle=False, close=False)
    assert "put it back" in str(caught.value)


def test_a_file_that_vanishes_before_it_is_read(spark: SparkSession, tmp_path: Path) -> None:
    feed(tmp_path, 1, 2, 3, 4)
    with (
        called(lambda rows, batch: (tmp_path / "in" / "004.json").unlink(missing_ok=True)) as sink,
        pytest.raises(PenstockError, match=r"a file vanished before it was read: .*004\.json") as caught,
    ):
        run(script(tmp_path, sink=sink), tmp_path)
    assert "ignoreMissingFiles" in str(caught.value)
    with called(lambda rows, batch: None) as sink:
        patient = script(tmp_path, sink=sink, options="maxFilesPerTrigger = 1, ignoreMissingFiles = true")
        assert sum(r.rows_in for r in run(patient, tmp_path, "other")) == 3


def test_a_file_whose_schema_does_not_match(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    stamps = pa.array([0, 1], pa.timestamp("us", tz="UTC"))
    pq.write_table(pa.table({"ts": stamps, "k": pa.array([1, 2], pa.int32())}), tmp_path / "in" / "a.parquet")
    wrong = tmp_path / "in" / "b.parquet"

    def spoil(rows: DataFrame, batch: int) -> None:
        pq.write_table(pa.table({"ts": stamps, "k": ["one", "two"]}), wrong)

    with called(spoil) as sink, pytest.raises(PenstockError, match="column k has another type in the file"):
        run(script(tmp_path, "parquet", sink), tmp_path, until_idle=False, close=False)


def test_a_full_disk_ends_the_run_and_room_lets_it_go_on(spark: SparkSession, tmp_path: Path) -> None:
    feed(tmp_path, 1, 2)
    big = tmp_path / "in" / "005.json"
    big.write_text("".join(f'{{"ts": "2026-01-01T00:00:05Z", "k": {k}}}\n' for k in range(10_000)))
    with limited(65_536), pytest.raises(PenstockError, match=r"File too large|the disk is full") as caught:
        run(script(tmp_path), tmp_path)
    assert "Traceback" not in str(caught.value)
    assert set(delivered(tmp_path)) <= {1, 2}
    run(script(tmp_path), tmp_path)
    assert delivered(tmp_path) == sorted([1, 2, *range(10_000)])


@contextmanager
def limited(size: int) -> Iterator[None]:
    """Lets no file of this process, or of those that it starts, grow past `size`: what a full disk does to it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_an_owner_elsewhere_is_believed_while_it_is_heard_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import penstock.spark.state.lock as lock

    place = Folder(f"file://{tmp_path}")
    monkeypatch.setattr(lock, "_held", lambda path: None)
    place.write("lock", json.dumps({"host": "elsewhere", "process": 1, "started": "1", "since": "today"}).encode())
    assert lock._lives(json.loads(place.read("lock")), place)
    os.utime(tmp_path / "lock", (1_000, 1_000))
    assert not lock._lives(json.loads(place.read("lock")), place)
    with pytest.raises(PenstockError, match="in use by process 1 on elsewhere"):
        Lock(place)
