"""Metrics: served, documented, and equal to what the reports said."""

from __future__ import annotations

import re
import socket
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.console.metrics import METRICS, Exporter, markdown
from penstock.console.watch import Watch
from penstock.errors import PenstockError
from tests.console.reports import network, report

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def exporter() -> Iterator[Exporter]:
    made = Exporter(Watch(network(), 0.0), "127.0.0.1", 0)
    yield made
    made.close()


def scraped(exporter: Exporter) -> dict[str, float]:
    with urllib.request.urlopen(f"http://127.0.0.1:{exporter.port}/metrics", timeout=10) as answer:
        lines = answer.read().decode().splitlines()
    return {line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in lines if not line.startswith("#")}


def test_counters_follow_the_reports(exporter: Exporter) -> None:
    exporter.batch(report(0, 100, 10, waits=(0.3, 4.0)), 100.0)
    exporter.batch(report(1, 250, 30, waits=(0.04,)), 101.0)
    found = scraped(exporter)
    assert found['penstock_input_rows_total{stream="s"}'] == 250
    assert found['penstock_dropped_rows_total{location="stream s",queries="q",reason="random"}'] == 30
    assert found['penstock_malformed_rows_total{reason="a is not an int",stream="s"}'] == 6
    assert found['penstock_set_aside_rows_total{function="f"}'] == 1
    assert found['penstock_late_rows_total{kept="true",stream="s"}'] == 2
    assert found['penstock_result_rows_total{query="q"}'] == 3
    assert found['penstock_batch_seconds_total{part="gate"}'] == pytest.approx(0.2)
    assert found['penstock_delay_target_seconds{query="q"}'] == 2
    assert found["penstock_state_bytes"] == 512 and found["penstock_batches_total"] == 2
    assert found["penstock_processor_seconds_total"] == pytest.approx(1.0)
    assert found['penstock_stream_lag_seconds{stream="t"}'] == pytest.approx(101 - 7e-6)


def test_response_times_are_a_histogram(exporter: Exporter) -> None:
    exporter.batch(report(0, waits=(0.3, 4.0, 1000.0)), 0.0)
    found = scraped(exporter)
    name = 'penstock_response_seconds_bucket{{le="{}",query="q"}}'
    assert [found[name.format(b)] for b in ("0.2", "0.3", "3.0", "5.0", "+Inf")] == [0, 1, 1, 2, 3]
    assert found['penstock_response_seconds_count{query="q"}'] == 3
    assert found['penstock_response_seconds_sum{query="q"}'] == pytest.approx(1004.3)


def test_what_sparks_listener_tells(exporter: Exporter) -> None:
    sources = [{"metrics": {"maxOffsetsBehindLatest": "17"}}, {}]
    rates = {"inputRowsPerSecond": 2.5, "processedRowsPerSecond": None}
    exporter.progress({"numInputRows": 5, **rates, "durationMs": {"addBatch": 120}, "sources": sources})
    found = scraped(exporter)
    assert found["penstock_spark_input_rows_per_second"] == 2.5
    assert found['penstock_spark_trigger_seconds{phase="addBatch"}'] == 0.12
    assert found['penstock_source_behind_rows{source="0"}'] == 17
    assert (found["penstock_running"], found["penstock_spark_triggers_total"]) == (1, 1)
    exporter.ended()
    assert scraped(exporter)["penstock_running"] == 0


def test_every_metric_that_is_served_is_documented_and_the_other_way_round(exporter: Exporter) -> None:
    exporter.batch(report(0), 0.0)
    sources = [{"metrics": {"maxOffsetsBehindLatest": 1}}]
    exporter.progress({"numInputRows": 1, "durationMs": {"x": 1}, "sources": sources})
    served = {re.sub(r"_(bucket|count|sum)$", "", name.partition("{")[0]) for name in scraped(exporter)}
    assert {name for name in served if not name.endswith("_created")} == {m.name for m in METRICS}
    assert (ROOT / "docs" / "metrics.md").read_text("utf-8") == markdown()


def test_a_port_that_is_taken() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(PenstockError, match=f"--metrics-port {port}: the port is taken") as caught:
            Exporter(Watch(network(), 0.0), "127.0.0.1", port)
    assert caught.value.diagnostics[0].help == "choose another one; 0 takes one that is free"
