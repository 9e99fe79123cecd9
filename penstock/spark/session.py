"""Starts Spark with the settings that short micro-batches need, and without its chatter."""

from __future__ import annotations

import hashlib
import json
import os
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pyspark.sql import SparkSession

from penstock.errors import Diagnostic, PenstockError
from penstock.spark.java import find_java, quiet_home
from penstock.spark.shipping import archive

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
    "spark.ui.showConsoleProgress": "false",
}
"""Measured: a micro-batch of the default settings spends 79 ms before any work, one of these 31."""
JAVA: Final = "-XX:+UseParallelGC"
LOCAL: Final[Mapping[str, str]] = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.hadoop.fs.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem",
}
"""On one machine. Hadoop's default for local files writes a second file with checksums beside each, and starts a
process for each to set its mode: three logs of Spark's a batch are twelve processes, or six."""
PROMPT: Final = "-XX:TieredStopAtLevel=1"
"""Where answers are wanted in time and lanes share their machine with Java: Spark plans every batch anew, and in a
run's first minute Java's optimizing compiler takes up to a tenth of two cores to make that faster
(`docs/decisions/overlapping-batches.md`)."""
LOGGING: Final = """
rootLogger.level = {level}
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
{layout}
logger.gateway.name = org.apache.spark.api.python.PythonGatewayServer
logger.gateway.level = error
"""
"""The gateway's level is said apart, or Spark announces on every start that it takes the root's."""
RAISED_ANYWAY: Final = (
    "org.apache.spark.broadcast.TorrentBroadcast",
    "org.apache.spark.executor.Executor",
    "org.apache.spark.scheduler.TaskSetManager",
    "org.apache.spark.util.Utils",
    "org.apache.spark.sql.execution.streaming.runtime.MicroBatchExecution",
    "org.apache.spark.sql.execution.datasources",
    "org.apache.spark.sql.execution.datasources.v2",
    "org.apache.kafka",
)
"""What these log on a failure is the error that the caller is given."""


@dataclass(frozen=True, slots=True)
class JavaLog:
    """What Java says on standard error: from `level` on, as text or as lines of JSON. Failures that become errors of
    ours are not said twice, unless more than errors is asked for."""

    level: str = "error"
    as_json: bool = False

    def settings(self) -> str:
        """For log4j."""
        text = LOGGING.format(level=self.level, layout=JSON if self.as_json else TEXT)
        if self.level != "error":
            return text
        silent = [f"logger.s{i}.name = {name}\nlogger.s{i}.level = off\n" for i, name in enumerate(RAISED_ANYWAY)]
        return text + "".join(silent)


def cache_folder() -> Path:
    """Where this user's runs keep what Java needs on disk."""
    return Path(tempfile.gettempdir()) / f"penstock-{os.getuid()}"


TEXT: Final = """appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = %d{ISO8601} %-5p %c{1}: %m%n"""
JSON: Final = """appender.stderr.layout.type = JsonTemplateLayout
appender.stderr.layout.eventTemplate = """ + json.dumps({
    "at": {"$resolver": "timestamp", "epoch": {"unit": "secs"}},
    "level": {"$resolver": "level", "field": "name"},
    "kind": "spark",
    "logger": {"$resolver": "logger", "field": "name"},
    "message": {"$resolver": "message", "stringified": True},
    "error": {"$resolver": "exception", "field": "stackTrace", "stackTrace": {"stringified": True}},
})  # fmt: skip
"""Spark's messages in the shape of our own log's lines."""
HERE: Final = "local[*]"
SUBMITTED: Final = "PYSPARK_GATEWAY_PORT"
"""In the environment of what spark-submit has started; its Java runs already."""
EXECUTORS_S: Final = 15.0
STEADY_S: Final = 2.0
"""How long executors are waited for, and after how long without a new one they are all there."""
LEVELS: Final = ("off", "error", "warn", "info", "debug")


def open_session(
    name: str, master: str | None, cache: Path, extra: Mapping[str, str] | None = None, log: JavaLog | None = None,
    prompt: bool = False,
) -> SparkSession:  # fmt: skip
    """A session on `master` (`local[2]`, `spark://...`; None: where spark-submit says, else here); `extra` settings win
    over ours.

    `cache` is a folder for what Java needs on disk: the logging settings, and the start script of a packaged runtime.
    `prompt` says that answers are wanted in time.
    """
    log, submitted = log or JavaLog(), SUBMITTED in os.environ
    if not submitted:
        master = master or HERE
        java = find_java(os.environ, cache)
        os.environ["JAVA_HOME"] = str(quiet_home(java, cache))
    local = master is not None and master.startswith("local")
    if local or "PYSPARK_PYTHON" not in os.environ:
        os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    options = f"{JAVA} {PROMPT}" if prompt and local else JAVA
    settings = {**FAST, **(LOCAL if local else {}), **_java_options(options, cache, log), **(extra or {})}
    builder = SparkSession.builder.appName(name)
    for key, value in settings.items():
        builder = builder.config(key, value)
    session = (builder if master is None else builder.master(master)).getOrCreate()
    if submitted:
        _hush(session, log)
    if not is_local(session):
        session.sparkContext.addPyFile(str(archive(cache)))
    return session


def _hush(session: SparkSession, log: JavaLog) -> None:
    """What `_logging` says to a Java that starts, to one that runs."""
    session.sparkContext.setLogLevel(log.level.upper())
    if log.level == "error" and session._jvm is not None:
        log4j = session._jvm.org.apache.logging.log4j
        for name in RAISED_ANYWAY:
            log4j.core.config.Configurator.setLevel(name, log4j.Level.OFF)


def is_local(session: SparkSession) -> bool:
    """True where all of Spark is one process, the driver's own Java."""
    master = str(session.sparkContext.master)
    return master == "local" or master.startswith("local[")


def cores(session: SparkSession) -> int:
    """How many tasks run at a time. Executors of a cluster come one after the other, and are waited for a while."""
    context = session.sparkContext
    if is_local(session) or context.getConf().contains("spark.default.parallelism"):
        return max(1, int(context.defaultParallelism))
    context.parallelize([0], 1).count()
    deadline, known, since = time.monotonic() + EXECUTORS_S, 0, time.monotonic()
    while time.monotonic() < deadline and time.monotonic() - since < STEADY_S:
        now = context._jsc.sc().getExecutorMemoryStatus().size()
        if now != known:
            known, since = now, time.monotonic()
        time.sleep(0.1)
    return max(1, int(context.defaultParallelism))


def _java_options(options: str, cache: Path, log: JavaLog) -> dict[str, str]:
    """Java's options, with the settings for its logging, which it reads before any of Spark's own."""
    text = log.settings()
    file = cache / f"log4j2-{hashlib.sha256(text.encode()).hexdigest()[:12]}.properties"
    try:
        cache.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        help = "free some space there, or name another folder in TMPDIR"
        raise PenstockError(Diagnostic(f"cannot write to {cache}: {error.strerror}", help=help)) from None
    return {"spark.driver.extraJavaOptions": f"{options} -Dlog4j2.configurationFile={file.resolve().as_uri()}"}
