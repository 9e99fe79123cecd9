"""What a run tells Prometheus (`--metrics-port`): after each batch from its report, and from Spark's listener.

`docs/metrics.md` is this module's output (`python -m penstock.console.metrics`), and a test keeps the two equal.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from penstock.console.watch import PARTS, Watch, delay_target
from penstock.errors import Diagnostic, PenstockError
from penstock.stats.batches import Waits
from penstock.stats.snapshot import Snapshot

if TYPE_CHECKING:
    from penstock.spark.batch import BatchReport

BUCKETS: Final = (0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1, 1.5, 2, 3, 5, 7.5, 10, 15, 30, 60, 120, 300)
"""Upper bounds of the response times that are counted together, in seconds."""


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric: its name, its kind (counter, gauge, histogram), its labels and what it says."""

    name: str
    kind: str
    labels: tuple[str, ...]
    says: str


METRICS: Final = (
    Metric("penstock_input_rows_total", "counter", ("stream",), "rows that came in, those that were dropped too"),
    Metric("penstock_result_rows_total", "counter", ("query",), "results delivered"),
    Metric("penstock_dropped_rows_total", "counter", ("location", "reason", "queries"),
           "rows that were given up; `queries` are those that miss them"),
    Metric("penstock_malformed_rows_total", "counter", ("stream", "reason"),
           "rows that could not be read, and were set aside"),
    Metric("penstock_set_aside_rows_total", "counter", ("function",), "rows on which a Python function failed"),
    Metric("penstock_late_rows_total", "counter", ("stream", "kept"),
           "rows past the skew bound, kept (restamped) or not"),
    Metric("penstock_batches_total", "counter", (), "batches committed, those without rows too"),
    Metric("penstock_batch_seconds_total", "counter", ("part",),
           "wall time of all batches by part: gate, lanes, state, sink"),
    Metric("penstock_processor_seconds_total", "counter", (), "processor time of the run's processes"),
    Metric("penstock_response_seconds", "histogram", ("query",),
           "response times: from when a result was due to its delivery"),
    Metric("penstock_delay_target_seconds", "gauge", ("query",), "the delay that the query asks for"),
    Metric("penstock_stream_lag_seconds", "gauge", ("stream",),
           "how far the stream's time is behind the clock; of use where it is stamped by now"),
    Metric("penstock_state_bytes", "gauge", (), "what windows and other stores hold on all lanes"),
    Metric("penstock_shut_down", "gauge", ("query",), "1 where the query is shut down to keep within the machine"),
    Metric("penstock_delivered_share", "gauge", ("query",),
           "of what the query would have got without drops, the share that it got"),
    Metric("penstock_utility_lost", "gauge", ("query",),
           "what the newest batch's drops cost the query, by its own loss or value function: 0 nothing, 1 everything"),
    Metric("penstock_longest_gap_seconds", "gauge", ("query",),
           "the longest time between two results in a row, since the run started"),
    Metric("penstock_estimate_error", "gauge", ("query",), "the average relative half-width of the query's estimates"),
    Metric("penstock_busy_share", "gauge", (), "the share of the time in which the pipeline was at work"),
    Metric("penstock_overloaded", "gauge", (), "1 where it is busy all the time and response times grow"),
    Metric("penstock_spark_triggers_total", "counter", (), "Spark's triggers that brought rows"),
    Metric("penstock_spark_input_rows_per_second", "gauge", (), "what Spark says comes in"),
    Metric("penstock_spark_processed_rows_per_second", "gauge", (), "what Spark says it could take"),
    Metric("penstock_spark_trigger_seconds", "gauge", ("phase",), "the newest trigger's time by Spark's own phases"),
    Metric("penstock_source_behind_rows", "gauge", ("source",),
           "rows that a source (Kafka) holds and the run has not read"),
    Metric("penstock_running", "gauge", (), "1 while Spark's query is active"),
)  # fmt: skip


class Exporter:
    """Serves METRICS at http://`host`:`port`/metrics; port 0 takes a free one."""

    def __init__(self, watch: Watch, host: str, port: int) -> None:
        from prometheus_client import CollectorRegistry, Counter, Gauge, start_http_server

        kinds = {"counter": Counter, "gauge": Gauge}
        self._registry, self._watch = CollectorRegistry(), watch
        self._made: dict[str, Any] = {}
        for m in METRICS:
            if m.kind in kinds:
                self._made[m.name] = kinds[m.kind](m.name, m.says, m.labels, registry=self._registry)
        self._responses = ResponseTimes(next(m for m in METRICS if m.kind == "histogram"))
        self._registry.register(self._responses)
        try:
            self._server, self._thread = start_http_server(port, host, self._registry)
        except OSError as error:
            raise _refused(host, port, error) from None
        self.port: int = self._server.server_port
        for query in watch.network.queries:
            if (target := delay_target(query)) is not None:
                self._of("penstock_delay_target_seconds", query.name).set(target)
        self._totals: dict[tuple[str, tuple[str, ...]], float] = {}

    def batch(self, report: BatchReport, now_s: float) -> None:
        """Takes in a batch; `now_s` is the clock's time, in seconds since the epoch."""
        self._of("penstock_batches_total").inc()
        for query, rows in report.rows_out.items():
            self._of("penstock_result_rows_total", query).inc(rows)
        for (stream, reason), rows in report.malformed.items():
            self._of("penstock_malformed_rows_total", stream, reason).inc(rows)
        for part, names in PARTS.items():
            self._of("penstock_batch_seconds_total", part).inc(sum(report.seconds.get(n, 0.0) for n in names))
        for query, waits in report.waits.items():
            self._responses.add(query, waits)
        self._snapshot(report, now_s)

    def _snapshot(self, report: BatchReport, now_s: float) -> None:
        snapshot = report.snapshot
        if snapshot is None:
            return
        for s in snapshot.streams:
            self._total("penstock_input_rows_total", s.rows, s.name)
            self._total("penstock_late_rows_total", s.late_kept, s.name, "true")
            self._total("penstock_late_rows_total", s.late_dropped, s.name, "false")
            if abs(s.progress) < 1 << 61:
                self._of("penstock_stream_lag_seconds", s.name).set(now_s - s.progress / 1e6)
        for d in snapshot.drops:
            queries = ",".join(self._watch.affected(d.location))
            self._total("penstock_dropped_rows_total", d.dropped, str(d.location), d.reason, queries)
        for function, rows in snapshot.set_aside:
            self._total("penstock_set_aside_rows_total", rows, function)
        for query in self._watch.network.queries:
            self._of("penstock_shut_down", query.name).set(query.name in snapshot.shut_down)
        self._of("penstock_state_bytes").set(snapshot.store_bytes)
        self._given(snapshot)
        if snapshot.batch is not None:
            self._of("penstock_processor_seconds_total").inc(max(0.0, snapshot.batch.processor_s))

    def _given(self, snapshot: Snapshot) -> None:
        """What each query got and lost, and whether the machine can keep up."""
        for account in snapshot.accounts:
            self._of("penstock_delivered_share", account.query).set(account.share)
            self._of("penstock_utility_lost", account.query).set(account.lost)
            self._of("penstock_longest_gap_seconds", account.query).set(account.gap_us / 1e6)
            if account.error is not None:
                self._of("penstock_estimate_error", account.query).set(account.error)
        if snapshot.overload is not None:
            self._of("penstock_busy_share").set(snapshot.overload.used)
            self._of("penstock_overloaded").set(snapshot.overload.why is not None)

    def progress(self, told: Mapping[str, Any]) -> None:
        """Takes in what Spark's listener tells of a trigger."""
        self._of("penstock_running").set(1)
        if told.get("numInputRows"):
            self._of("penstock_spark_triggers_total").inc()
        self._of("penstock_spark_input_rows_per_second").set(told.get("inputRowsPerSecond") or 0)
        self._of("penstock_spark_processed_rows_per_second").set(told.get("processedRowsPerSecond") or 0)
        for phase, ms in (told.get("durationMs") or {}).items():
            self._of("penstock_spark_trigger_seconds", phase).set(ms / 1e3)
        for number, source in enumerate(told.get("sources") or ()):
            behind = (source.get("metrics") or {}).get("maxOffsetsBehindLatest")
            if behind is not None:
                self._of("penstock_source_behind_rows", str(number)).set(float(behind))

    def ended(self) -> None:
        """Spark's query has ended."""
        self._of("penstock_running").set(0)

    def close(self) -> None:
        """Serves no longer."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _of(self, name: str, *labels: str) -> Any:
        return self._made[name].labels(*labels) if labels else self._made[name]

    def _total(self, name: str, value: float, *labels: str) -> None:
        """Brings a counter up to a total."""
        before = self._totals.get((name, labels), 0)
        self._totals[name, labels] = value
        self._of(name, *labels).inc(max(0, value - before))


class ResponseTimes:
    """The histogram of response times. Points stand for several results each, which Prometheus's own cannot count."""

    def __init__(self, metric: Metric) -> None:
        self._metric = metric
        self._counts: dict[str, npt.NDArray[np.float64]] = {}
        self._sums: dict[str, float] = {}

    def add(self, query: str, waits: Waits) -> None:
        """Counts the results of a batch."""
        counts = self._counts.setdefault(query, np.zeros(len(BUCKETS) + 1))
        np.add.at(counts, np.searchsorted(BUCKETS, waits.seconds), waits.share)
        self._sums[query] = self._sums.get(query, 0.0) + float(waits.seconds @ waits.share)

    def collect(self) -> Iterator[Any]:
        """What Prometheus is given."""
        from prometheus_client.core import HistogramMetricFamily

        family = HistogramMetricFamily(self._metric.name, self._metric.says, labels=self._metric.labels)
        for query, counts in list(self._counts.items()):
            reached = np.cumsum(counts).round().tolist()
            bounds = [*(str(float(b)) for b in BUCKETS), "+Inf"]
            family.add_metric([query], list(zip(bounds, reached, strict=True)), self._sums[query])
        yield family


def _refused(host: str, port: int, error: OSError) -> PenstockError:
    if error.errno == errno.EADDRINUSE:
        return PenstockError(
            Diagnostic(f"--metrics-port {port}: the port is taken", help="choose another one; 0 takes one that is free")
        )
    why = error.strerror or str(error)
    return PenstockError(Diagnostic(f"cannot serve metrics at {host}:{port}: {why}", help="check --metrics-host"))


def markdown() -> str:
    """The page `docs/metrics.md`."""
    rows = [f"| `{m.name}` | {m.kind} | {', '.join(f'`{n}`' for n in m.labels)} | {m.says} |" for m in METRICS]
    return "\n".join([_HEADER, *rows, _FOOTER])


_HEADER: Final = """\
# Metrics

`penstock run app.cql --metrics-port 9400` serves these at `http://HOST:9400/metrics` for Prometheus; port 0 takes a
free one and says which. `--metrics-host` names the interface (all of them by default). Written by
`./penstockw python -m penstock.console.metrics > docs/metrics.md`.

| name | kind | labels | what it says |
|---|---|---|---|"""
_FOOTER: Final = """
What begins with `penstock_spark_` comes from Spark's `StreamingQueryListener`, as does `penstock_source_behind_rows`;
the rest with each batch's report. A row that is dropped at one place for two queries counts once, under both names.

## What to look at

**Does a query keep its target?** Compare with `penstock_delay_target_seconds`:

```
histogram_quantile(0.99, sum by (query, le) (rate(penstock_response_seconds_bucket[1m])))
```

**What share is given up?**

```
sum(rate(penstock_dropped_rows_total[1m])) / sum(rate(penstock_input_rows_total[1m]))
```

**Where does a batch's time go?** `rate(penstock_batch_seconds_total[1m])`

**What did it cost?** `penstock_utility_lost`, query by query; `penstock_longest_gap_seconds` and
`penstock_estimate_error` for those that bound gaps and errors

**Is data bad?** `rate(penstock_malformed_rows_total[5m])` and `rate(penstock_set_aside_rows_total[5m])`
"""


if __name__ == "__main__":
    print(markdown(), end="")
