"""One Spark session and one Kafka broker for all tests that need them."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from penstock.errors import PenstockError
from penstock.spark.packages import kafka_connector
from penstock.spark.session import open_session
from tests.spark.kafka import Broker, cache, unavailable

CORES = 2


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """The session, with the Kafka connector where it can be had."""
    folder = Path(tempfile.gettempdir()) / f"penstock-{os.getuid()}"
    settings = {"spark.sql.shuffle.partitions": str(CORES), "spark.sql.warehouse.dir": str(folder / "warehouse")}
    session = open_session("penstock-tests", f"local[{CORES}]", folder, {**settings, **_connector()})
    yield session
    session.stop()


def _connector() -> dict[str, str]:
    try:
        return {"spark.jars": ",".join(map(str, kafka_connector(cache())))}
    except PenstockError as error:
        unavailable.append(str(error))
        return {}


@pytest.fixture(scope="session")
def broker(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """A real Kafka broker on a free port."""
    if not unavailable:
        try:
            broker = Broker.start(tmp_path_factory.mktemp("kafka"))
        except PenstockError as error:
            unavailable.append(str(error))
    if unavailable:
        _skip_loudly()
    yield broker
    broker.stop()


def _skip_loudly() -> None:
    """Where packages cannot be fetched, the tests against Kafka do not run; in CI that is a failure."""
    reason = f"no Kafka: {unavailable[0]}"
    if os.environ.get("CI", "").lower() in ("1", "true"):
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Says at the end of the run, not only in the list of skipped tests, that Kafka was not tested."""
    if unavailable:
        terminalreporter.section("NOT TESTED: Kafka", sep="!", red=True)
        terminalreporter.write_line(unavailable[0])
