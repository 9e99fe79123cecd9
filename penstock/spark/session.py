"""Starts Spark with the settings that short micro-batches need, and without its chatter."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from pyspark.sql import SparkSession

from penstock.spark.java import find_java, quiet_home

CHECKPOINT_MANAGERS: Final = "org.apache.spark.sql.execution.streaming.checkpointing"
FAST: Final[Mapping[str, str]] = {
    "spark.sql.streaming.checkpointFileManagerClass": f"{CHECKPOINT_MANAGERS}.FileSystemBasedCheckpointFileManager",
    "spark.sql.streaming.pollingDelay": "1ms",
    "spark.sql.adaptive.enabled": "false",
    "spark.ui.enabled": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.speculation": "false",
    "spark.python.worker.reuse": "true",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "65536",
    "spark.driver.extraJavaOptions": "-XX:+UseParallelGC",
    "spark.ui.showConsoleProgress": "false",
}
"""Measured: a micro-batch of the default settings spends 79 ms before any work, one of these 31."""
LOCAL: Final[Mapping[str, str]] = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.hadoop.fs.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem",
}
"""On one machine. Hadoop's default for local files writes a second file with checksums beside each, and starts a
process for each to set its mode: three logs of Spark's a batch are twelve processes, or six."""
LOGGING: Final = """
rootLogger.level = error
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = %d{ISO8601} %-5p %c{1}: %m%n
logger.gateway.name = org.apache.spark.api.python.PythonGatewayServer
logger.gateway.level = error
"""
"""The gateway's level is said apart, or Spark announces on every start that it takes the root's."""
RAISED_ANYWAY: Final = (
    "org.apache.spark.executor.Executor",
    "org.apache.spark.scheduler.TaskSetManager",
    "org.apache.spark.util.Utils",
    "org.apache.spark.sql.execution.streaming.runtime.MicroBatchExecution",
    "org.apache.spark.sql.execution.datasources",
    "org.apache.spark.sql.execution.datasources.v2",
    "org.apache.kafka",
)
"""What these log on a failure is the error that the caller is given."""


def cache_folder() -> Path:
    """Where this user's runs keep what Java needs on disk."""
    return Path(tempfile.gettempdir()) / f"penstock-{os.getuid()}"


def open_session(name: str, master: str, cache: Path, extra: Mapping[str, str] | None = None) -> SparkSession:
    """A session on `master` (`local[2]`, `spark://...`); `extra` settings win over ours.

    `cache` is a folder for what Java needs on disk: the logging settings, and the start script of a packaged runtime.
    """
    java = find_java(os.environ, cache)
    os.environ["JAVA_HOME"] = str(quiet_home(java, cache))
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    settings = {**FAST, **_local(master), **_logging(cache), **(extra or {})}
    builder = SparkSession.builder.appName(name).master(master)
    for key, value in settings.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def _local(master: str) -> Mapping[str, str]:
    return LOCAL if master.startswith("local") else {}


def _logging(cache: Path) -> dict[str, str]:
    """Settings for Java's logging, which it reads before any of Spark's own."""
    cache.mkdir(parents=True, exist_ok=True)
    file = cache / "log4j2.properties"
    silent = [f"logger.s{i}.name = {name}\nlogger.s{i}.level = off\n" for i, name in enumerate(RAISED_ANYWAY)]
    file.write_text(LOGGING + "".join(silent), encoding="utf-8")
    options = f"{FAST['spark.driver.extraJavaOptions']} -Dlog4j2.configurationFile={file.resolve().as_uri()}"
    return {"spark.driver.extraJavaOptions": options}
