"""A real cluster on this machine: a standalone master and two workers of a core each, without this package."""

from __future__ import annotations

import datetime as dt
import json
import os
import random
import re
import subprocess
import sys
import time
import zipfile
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyspark
import pytest

from penstock.spark import shipping
from penstock.spark.java import find_java, quiet_home
from penstock.testing import evaluate

ROOT = Path(__file__).resolve().parents[2]
SPARK = Path(pyspark.__file__).parent
PATIENCE_S = 60
SETTINGS = {
    "spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1", "spark.executor.memory": "512m",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Cluster:
    """A master's address, and the folder of its logs."""

    address: str
    folder: Path


def environment(java: Path) -> dict[str, str]:
    """What the cluster's processes have: a Java, and no module path."""
    return {"PATH": os.environ["PATH"], "JAVA_HOME": str(java), "SPARK_LOCAL_IP": "127.0.0.1", "HOME": "/nonexistent"}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    folder = tmp_path_factory.mktemp("cluster")
    java = quiet_home(find_java(os.environ, folder), folder)
    started: list[subprocess.Popen[bytes]] = []

    def start(name: str, *arguments: str) -> Path:
        log = folder / f"{name}.log"
        command = [str(SPARK / "bin" / "spark-class"), f"org.apache.spark.deploy.{arguments[0]}", *arguments[1:]]
        with open(log, "wb") as sink:
            started.append(subprocess.Popen(command, cwd=folder, env=environment(java), stdout=sink, stderr=sink))
        return log

    try:
        said = start("master", "master.Master", "--host", "127.0.0.1", "--port", "0", "--webui-port", "0")
        address = awaited(said, r"Starting Spark master at (spark://\S+)")
        for worker in ("one", "two"):
            said = start(worker, "worker.Worker", "--cores", "1", "--memory", "600m", "--host", "127.0.0.1",
                         "--webui-port", "0", "--work-dir", str(folder / worker), address)  # fmt: skip
        for worker in ("one", "two"):
            awaited(folder / f"{worker}.log", r"Successfully (registered) with master")
        yield Cluster(address, folder)
    finally:
        for process in started:
            process.kill()
            process.wait()


def awaited(log: Path, pattern: str) -> str:
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        if found := re.search(pattern, log.read_text(errors="replace")):
            return found[1]
        time.sleep(0.1)
    raise AssertionError(log.read_text(errors="replace")[-3000:])


SCRIPT = """
CREATE STREAM p (ts TIMESTAMP, k INT, v DOUBLE) TIMESTAMP BY ts
  FROM json OPTIONS (path = 'in/p', maxFilesPerTrigger = 2);
CREATE STREAM r (ts TIMESTAMP, k INT, w STRING) TIMESTAMP BY ts
  FROM json OPTIONS (path = 'in/r', maxFilesPerTrigger = 2);
CREATE QUERY sums AS SELECT k, sum(v) AS total, count(*) AS n FROM p [Range 2 Seconds Slide 1 Second] GROUP BY k
  INTO json OPTIONS (path = 'out/sums');
CREATE QUERY words AS
  SELECT w, count(*) AS n FROM (SELECT r.w AS w FROM p [Now], r [Range 1 Second] WHERE p.k = r.k) GROUP BY w
  INTO json OPTIONS (path = 'out/words');
"""
Rows = dict[str, Counter[tuple[object, ...]]]


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Rows]:
    """A folder with the inputs of two streams, and what two queries over them come to in process, one of them in two
    stages."""
    folder, draw = tmp_path_factory.mktemp("work"), random.Random(3)
    for name, other in (("p", "v"), ("r", "w")):
        (folder / "in" / name).mkdir(parents=True)
        for i in range(4):
            lines = [json.dumps({"ts": f"2026-01-01T00:00:{i:02d}.{j:03d}Z", "k": draw.randrange(5),
                                 other: draw.random() if other == "v" else draw.choice("abc")})
                     for j in sorted(draw.sample(range(1000), 50))]  # fmt: skip
            (folder / "in" / name / f"{i}.json").write_text("\n".join(lines) + "\n")
            os.utime(folder / "in" / name / f"{i}.json", (1_700_000_000 + i, 1_700_000_000 + i))
    (folder / "app.cql").write_text(SCRIPT, encoding="utf-8")
    result = evaluate(SCRIPT.replace("'in/", f"'{folder}/in/"))
    exact = {q: Counter((e.timestamp, e.sign, *_plain(e.values)) for e in result[q]) for q in result.queries}
    assert all(len(rows) > 20 for rows in exact.values())
    return folder, exact


def delivered(folder: Path) -> Rows:
    """What lies in the output folders."""
    found: Rows = {}
    for query in ("sums", "words"):
        lines = [line for f in (folder / "out" / query).glob("*.json") for line in f.read_text().splitlines()]
        found[query] = Counter(map(_row, map(json.loads, lines)))
    return found


def _row(row: dict[str, Any]) -> tuple[object, ...]:
    at = dt.datetime.fromisoformat(row.pop("_timestamp"))
    return (round(at.timestamp() * 1e6), row.pop("_sign", 1), *_plain(row))


def _plain(row: Mapping[str, Any]) -> list[object]:
    return [round(v, 9) if isinstance(v, float) else v for v in row.values()]


def test_a_standalone_cluster_runs_it_with_this_package_and_its_kernels(
    cluster: Cluster, expected: tuple[Path, Rows]
) -> None:
    folder, exact = expected
    conf = [f"--conf={k}={v}" for k, v in SETTINGS.items()]
    command = [sys.executable, "-m", "penstock", "run", "app.cql", "--master", cluster.address, "--until-idle",
               "--close", "--json", "--checkpoint", "ck", *conf]  # fmt: skip
    given = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=folder, env=given, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    assert json.loads(done.stdout.splitlines()[-1])["kind"] == "end"
    assert delivered(folder) == exact
    executors = [e for worker in ("one", "two") for e in (cluster.folder / worker).glob("app-*/*")]
    assert len({e.parent.parent.name for e in executors}) == 2
    assert json.loads((folder / "ck" / "format.json").read_bytes().rpartition(b"PNST")[0])["lanes"] == 2


@pytest.mark.slow
def test_spark_submit_runs_it(cluster: Cluster, expected: tuple[Path, Rows]) -> None:
    folder, exact = expected
    subprocess.run(["rm", "-rf", str(folder / "out")], check=True)
    conf = [part for k, v in SETTINGS.items() for part in ("--conf", f"{k}={v}")]
    command = [str(SPARK / "bin" / "spark-submit"), "--master", cluster.address, *conf,
               str(ROOT / "penstock" / "__main__.py"), "run", "app.cql", "--until-idle", "--close", "--quiet",
               "--checkpoint", "ck-submitted"]  # fmt: skip
    given = {**os.environ, "PYTHONPATH": str(ROOT), "PYSPARK_PYTHON": sys.executable}
    done = subprocess.run(command, cwd=folder, env=given, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    assert delivered(folder) == exact


def test_the_archive_is_the_package_with_its_kernels(tmp_path: Path) -> None:
    made = shipping.archive(tmp_path)
    assert shipping.archive(tmp_path) == made
    names = zipfile.ZipFile(made).namelist()
    assert {"penstock/__init__.py", "penstock/py.typed", "penstock/spark/lanes/server.py"} <= set(names)
    assert any(n.endswith(".nbi") for n in names) == any(shipping.PACKAGE.rglob("*.nbi"))
    home = shipping.unpacked(f"{made}/penstock/spark/shipping.py", tmp_path / "code")
    assert home == str(tmp_path / "code" / made.stem)
    assert shipping.unpacked(f"{made}/penstock/spark/shipping.py", tmp_path / "code") == home
    code = "import penstock.spark.shipping as s; print(s.__file__, s.unpacked())"
    done = subprocess.run([sys.executable, "-c", code], env={"PYTHONPATH": home}, cwd=tmp_path, capture_output=True,
                          text=True, check=True)  # fmt: skip
    assert done.stdout.split() == [f"{home}/penstock/spark/shipping.py", "None"]
