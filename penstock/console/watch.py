"""What a run looks like now, from what it reports of each batch: the numbers behind every view of it.

Pure: reports and times in, numbers out. Rates are over the last `RATE_S` seconds, response times over the last minute.
"""

from __future__ import annotations

import threading
from collections import Counter, deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeVar

from penstock.console.responses import Responses
from penstock.errors import PenstockError
from penstock.plan.drops import Location
from penstock.plan.durations import parse_duration
from penstock.plan.network import Network, Query
from penstock.plan.node import walk
from penstock.stats.snapshot import DropStatistics, Snapshot

if TYPE_CHECKING:
    from penstock.spark.batch import BatchReport

_Key = TypeVar("_Key")

RATE_S: Final = 10.0
HISTORY_S: Final = 60
"""How many seconds of the input rate a view may draw."""
PARTS: Final[Mapping[str, tuple[str, ...]]] = {
    "gate": ("plan", "gate"), "lanes": ("lanes",), "state": ("state", "commit"), "sink": ("sinks",),
}  # fmt: skip
"""What people are shown of where a batch's time went: the plan record belongs to the gate, the commit to the state."""


@dataclass(frozen=True, slots=True)
class Flow:
    """Rows of a stream, or results of a query: since the start, and a second."""

    name: str
    rows: int
    per_s: float


@dataclass(frozen=True, slots=True)
class Response:
    """Response times of a query in seconds: `now` in the newest batch that had results, and over the last minute."""

    query: str
    now: float | None
    p50: float | None
    p99: float | None
    target: float | None

    @property
    def late(self) -> bool:
        """True where the newest results came past the target."""
        return self.target is not None and self.now is not None and self.now > self.target


@dataclass(frozen=True, slots=True)
class Loss:
    """What was dropped at one place for one reason, and the queries that miss it."""

    location: str
    reason: str
    queries: tuple[str, ...]
    rows: int
    per_s: float


@dataclass(frozen=True, slots=True)
class Now:
    """One look at a run."""

    elapsed_s: float
    batch: int | None
    mode: str
    inputs: tuple[Flow, ...]
    results: tuple[Flow, ...]
    responses: tuple[Response, ...]
    losses: tuple[Loss, ...]
    seconds: Mapping[str, float]
    history: tuple[float, ...]
    malformed: Mapping[tuple[str, str], int] = field(default_factory=dict)
    set_aside: Mapping[str, int] = field(default_factory=dict)
    late: int = 0
    shut_down: tuple[str, ...] = ()
    beginning: str = "starting"

    @property
    def batch_s(self) -> float:
        """How long a batch takes."""
        return sum(self.seconds.values())

    @property
    def dropped(self) -> int:
        """Rows that were dropped, at all places."""
        return sum(loss.rows for loss in self.losses)


@dataclass(frozen=True, slots=True)
class _Seen:
    """One report, and when it came."""

    at_s: float
    came: Mapping[str, int]
    report: BatchReport
    dropped: Mapping[tuple[Location, str], int]


class Watch:
    """Hears of every batch of a run of `network` that began at `started_s`; `beginning` says what it does until the
    first."""

    def __init__(self, network: Network, started_s: float, beginning: str = "starting") -> None:
        self.network = network
        self.beginning = beginning
        self.batches = 0
        self._lock = threading.Lock()
        self._started_s = started_s
        self._targets = {q.name: delay_target(q) for q in network.queries}
        self._affected: dict[Location, tuple[str, ...]] = {}
        self._recent: deque[_Seen] = deque()
        self._responses = {q.name: Responses() for q in network.queries}
        self._history: deque[tuple[int, int]] = deque(maxlen=HISTORY_S + 1)
        self._results: Counter[str] = Counter()
        self._malformed: Counter[tuple[str, str]] = Counter()
        self._snapshot: Snapshot | None = None

    def see(self, report: BatchReport, at_s: float) -> None:
        """Takes note of a batch that was reported at `at_s`."""
        with self._lock:
            self._see(report, at_s)

    def _see(self, report: BatchReport, at_s: float) -> None:
        snapshot, before = report.snapshot, self._snapshot
        came = {name: rows for name, rows in _grown(_rows(snapshot), _rows(before)).items() if rows}
        dropped = _grown(_drops(snapshot), _drops(before))
        self._recent.append(_Seen(at_s, came, report, dropped))
        for query, waits in report.waits.items():
            self._responses[query].add(at_s, waits)
        self._results.update(report.rows_out)
        self._malformed.update(report.malformed)
        self._snapshot = snapshot or before
        self.batches += 1
        self._remember(at_s, sum(came.values()))

    def _remember(self, at_s: float, rows: int) -> None:
        second = int(at_s)
        if self._history and self._history[-1][0] == second:
            rows += self._history.pop()[1]
        self._history.append((second, rows))

    def now(self, at_s: float) -> Now:
        """How the run stands at `at_s`; another thread than the one that reports may ask."""
        with self._lock:
            return self._now(at_s)

    def _now(self, at_s: float) -> Now:
        while self._recent and self._recent[0].at_s < at_s - RATE_S:
            self._recent.popleft()
        looked, snapshot = tuple(self._recent), self._snapshot
        span_s = max(min(RATE_S, at_s - self._started_s), 1e-3)
        return Now(
            elapsed_s=at_s - self._started_s,
            batch=looked[-1].report.batch if looked else None if snapshot is None else _number(snapshot),
            mode="on" if snapshot is None or snapshot.batch is None else snapshot.batch.mode,
            inputs=self._inputs(looked, span_s),
            results=self._flows(looked, span_s),
            responses=tuple(self._response(q.name, at_s) for q in self.network.queries),
            losses=self._losses(looked, span_s),
            seconds=_split(s.report.seconds for s in looked if s.report.source is not None),
            history=self._drawn(at_s),
            malformed=dict(self._malformed),
            set_aside={} if snapshot is None else dict(snapshot.set_aside),
            late=0 if snapshot is None else sum(s.late_kept + s.late_dropped for s in snapshot.streams),
            shut_down=() if snapshot is None else snapshot.shut_down,
            beginning=self.beginning,
        )

    def _inputs(self, looked: Iterable[_Seen], span_s: float) -> tuple[Flow, ...]:
        recent: Counter[str] = Counter()
        for seen in looked:
            recent.update(seen.came)
        total = _rows(self._snapshot)
        return tuple(Flow(s.name, total.get(s.name, 0), recent[s.name] / span_s) for s in self.network.streams)

    def _flows(self, looked: Iterable[_Seen], span_s: float) -> tuple[Flow, ...]:
        recent: Counter[str] = Counter()
        for seen in looked:
            recent.update(seen.report.rows_out)
        return tuple(Flow(q.name, self._results[q.name], recent[q.name] / span_s) for q in self.network.queries)

    def _response(self, query: str, at_s: float) -> Response:
        seen, target = self._responses[query], self._targets[query]
        whole = seen.over(at_s)
        if whole is None:
            return Response(query, None, None, None, target)
        return Response(query, seen.last, whole.quantile(0.5), whole.quantile(0.99), target)

    def _losses(self, looked: Iterable[_Seen], span_s: float) -> tuple[Loss, ...]:
        recent: Counter[tuple[Location, str]] = Counter()
        for seen in looked:
            recent.update(seen.dropped)
        drops: tuple[DropStatistics, ...] = () if self._snapshot is None else self._snapshot.drops
        return tuple(
            Loss(str(d.location), d.reason, self.affected(d.location), d.dropped,
                 recent[d.location, d.reason] / span_s)
            for d in drops
        )  # fmt: skip

    def affected(self, location: Location) -> tuple[str, ...]:
        """The queries that miss what is dropped at `location`."""
        if location not in self._affected:
            self._affected[location] = queries_below(self.network, location)
        return self._affected[location]

    def _drawn(self, at_s: float) -> tuple[float, ...]:
        """The input rate, second by second, up to the last second that is over."""
        rows, end = dict(self._history), int(at_s)
        first = max(int(self._started_s), end - HISTORY_S)
        return tuple(float(rows.get(second, 0)) for second in range(first, end))


def delay_target(query: Query) -> float | None:
    """The delay that `query` asks for, in seconds."""
    delay = dict(query.options).get("delay")
    try:
        return None if delay is None else parse_duration(str(delay)) / 1e6
    except PenstockError:
        return None


def queries_below(network: Network, location: Location) -> tuple[str, ...]:
    """The queries whose results lack what is dropped at `location`."""
    if location.query is not None:
        return (location.query,)
    node = location.node if location.consumer is None else location.consumer
    return tuple(q.name for q in network.queries if node in set(walk(q.root)))


def _rows(snapshot: Snapshot | None) -> Mapping[str, int]:
    return {} if snapshot is None else {s.name: s.rows for s in snapshot.streams}


def _drops(snapshot: Snapshot | None) -> Mapping[tuple[Location, str], int]:
    return {} if snapshot is None else {(d.location, d.reason): d.dropped for d in snapshot.drops}


def _grown(now: Mapping[_Key, int], before: Mapping[_Key, int]) -> dict[_Key, int]:
    return {key: rows - before.get(key, 0) for key, rows in now.items()}


def _number(snapshot: Snapshot) -> int | None:
    return None if snapshot.batch is None else snapshot.batch.number


def _split(batches: Iterable[Mapping[str, float]]) -> dict[str, float]:
    """The average batch's time by the parts that people are shown."""
    listed = list(batches)
    if not listed:
        return dict.fromkeys(PARTS, 0.0)
    return {part: sum(b.get(n, 0.0) for b in listed for n in names) / len(listed) for part, names in PARTS.items()}
