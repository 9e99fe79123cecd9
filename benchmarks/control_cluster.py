"""A standalone cluster on this machine: a master and two workers of a core each."""

from __future__ import annotations

import os
import re
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pyspark

from penstock.spark.java import find_java, quiet_home

SPARK: Final = Path(pyspark.__file__).parent
PATIENCE_S: Final = 60
MEMORY: Final = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1",
                 "spark.executor.memory": "1g"}  # fmt: skip
"""What a session on such a cluster is to be told."""


@contextmanager
def standalone(folder: Path) -> Iterator[str]:
    """The master's address, while the cluster stands."""
    folder.mkdir(parents=True)
    java = quiet_home(find_java(os.environ, folder), folder)
    environment = {**os.environ, "JAVA_HOME": str(java), "SPARK_LOCAL_IP": "127.0.0.1"}
    started: list[subprocess.Popen[bytes]] = []

    def start(name: str, *arguments: str) -> Path:
        log = folder / f"{name}.log"
        command = [str(SPARK / "bin" / "spark-class"), f"org.apache.spark.deploy.{arguments[0]}", *arguments[1:]]
        with open(log, "wb") as sink:
            started.append(subprocess.Popen(command, cwd=folder, env=environment, stdout=sink, stderr=sink))
        return log

    try:
        said = start("master", "master.Master", "--host", "127.0.0.1", "--port", "0", "--webui-port", "0")
        address = _awaited(said, r"Starting Spark master at (spark://\S+)")
        for name in ("one", "two"):
            start(name, "worker.Worker", "--cores", "1", "--memory", "1200m", "--host", "127.0.0.1",
                  "--webui-port", "0", "--work-dir", str(folder / name), address)  # fmt: skip
        for name in ("one", "two"):
            _awaited(folder / f"{name}.log", r"Successfully (registered) with master")
        yield address
    finally:
        for process in started:
            process.kill()
            process.wait()


def _awaited(log: Path, pattern: str) -> str:
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        if found := re.search(pattern, log.read_text(errors="replace")):
            return found[1]
        time.sleep(0.1)
    raise RuntimeError(f"the cluster did not start; see {log}")
