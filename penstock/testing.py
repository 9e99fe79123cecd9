"""The testing kit, for us and for users: any script, on any engine, over a list of events.

    >>> result = evaluate("CREATE STREAM s (a INT); CREATE QUERY q AS SELECT a + 1 AS b FROM s WHERE a > 1",
    ...                   [("s", 10, {"a": 1}), ("s", 20, {"a": 2})])
    >>> result["q"]
    [Element(timestamp=20, sign=1, values={'b': 3})]
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from numbers import Integral
from typing import Any, Final, NamedTuple, Protocol

from penstock.control.controllers import Controller
from penstock.control.excess import Excess, Order
from penstock.control.loop import Loop
from penstock.control.steer import Wishes, steer
from penstock.cql import compile_script
from penstock.errors import Diagnostic, PenstockError, unknown
from penstock.lane import reference
from penstock.lane.events import Arrival, Given, Inputs, arrivals, skew_us, stamp_of
from penstock.lane.files import READERS, read
from penstock.lane.lanes import Lanes
from penstock.lane.paced import Paced, PacedClock, clock_of
from penstock.lane.runtime import Lane
from penstock.lane.session import Job, Outcome, run
from penstock.operators.base import Row
from penstock.operators.histories import row_key
from penstock.plan.network import Network, Query, StreamDefinition
from penstock.plan.node import Kind
from penstock.plan.rewrites import optimize
from penstock.plan.running import Plan
from penstock.plan.schema import Schema
from penstock.plan.types import to_internal, to_python
from penstock.plan.windows import BEGIN, END
from penstock.shed.watching import watched
from penstock.stats.accounts import QueryAccount
from penstock.stats.snapshot import Snapshot

_LATER: Final = ("joins", "caches", "constraints")
"""Keywords of policies to come; None, False and empty values ask for nothing."""


class Element(NamedTuple):
    """One element of a result: `sign` is +1 or -1, `values` are by output column."""

    timestamp: int
    sign: int
    values: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Result:
    """What the queries of a script delivered: `result["query"]` is the list of its elements in emission order."""

    elements: Mapping[str, list[Element]]
    stats: Snapshot
    log: Sequence[Any] = field(default=())

    def __getitem__(self, query: str) -> list[Element]:
        if query not in self.elements:
            raise PenstockError(unknown("query", query, self.queries))
        return self.elements[query]

    @property
    def queries(self) -> list[str]:
        """The names of the queries."""
        return list(self.elements)

    @property
    def accounts(self) -> list[QueryAccount]:
        """What each query got and lost, period by period; none where nothing could be shed."""
        return [a for e in self.log if isinstance(e, Snapshot) for a in e.accounts]


class HasNetwork(Protocol):
    """An App: streams and queries made in Python."""

    @property
    def network(self) -> Network:
        """What is registered."""


def evaluate(
    script: str | Network | HasNetwork,
    events: Iterable[Given] = (),
    engine: str = "lane",
    batches: int | Sequence[int] | None = None,
    lanes: int = 1,
    seed: int = 0,
    close: bool = True,
    scheduler: str | None = None,
    sharing: bool = True,
    shed: Mapping[str, Any] | None = None,
    filters: str | None = None,
    controller: str | Controller | None = None,
    clock: str | PacedClock | None = None,
    **others: Any,
) -> Result:
    """The results of all queries of `script` over `events`.

    `events` are (stream, timestamp in microseconds, {column: value}), in arrival order; the timestamp is the
    element's. A column left out is NULL. Relations are loaded from their files, and so are streams that have a file and
    no event. Where a stream declares no skew bound, it is measured over all events, and none is late.
    `batches` are rows a batch (an int, a list of ints, None for one batch), `lanes` how many lanes share the work,
    `engine` is "lane", "reference" or "spark". The end of the events is the end of time, unless `close` is False: then
    time stands right after the last event.

    `shed` is {"policy": a name in `penstock.shed.POLICIES`, "excess": the share of the network's load that must go,
    "mode": "off", "monitor" or "on"}. The load is what the network needs for this input (its first `REHEARSED` events):
    delay boxes at what they state, every other operator alike. The reference gives the exact answer.

    `clock` makes events arrive at their timestamps, wait in queues and be answered in time: "virtual" (only what delay
    boxes state takes time), "wall", or a clock of your own. Every half second (setting `control_period_us`) there is a
    snapshot with response times, and where a query declares a delay, `controller` decides how much to shed: a name of
    `penstock.control.controllers` ("seamless" unless said otherwise, "off" for none) or one that you made; the policy
    may be named by `shed`. One processor runs it, whatever `lanes` says, and `batches` says nothing. `scheduler` says
    which operator runs next (`penstock.lane.schedulers`): without one, "latency" on a clock where a query declares its
    latency QoS, else "fifo".
    """
    _refuse(engine, others)
    wishes = Wishes(shed, filters, controller, clock, seed)
    network = _network(script, sharing)
    inputs = Inputs(network)
    given = [*_loaded(inputs), *_arriving(inputs, list(events))]
    streams = [_bounded(s, given) for s in inputs.streams.values()]
    until = END if close else max([BEGIN, *(a.ts for a in given)]) + 1
    job = Job(network, streams, list(inputs.relations.values()), given, _sizes(batches), until)
    steering = steer(network, wishes, lambda: _rehearsed(job))
    if engine == "reference":
        found = reference.evaluate(network, streams, given, until)
        return Result({q.name: _shown(found[q.name], q.root.schema) for q in network.queries}, _nothing_shed(wishes))
    if engine == "spark":
        from penstock.spark import kit

        return _result(network, kit.run(job, lanes, steering), steering)
    if wishes.timed:
        paced = Paced(job, clock_of(clock or "virtual"), scheduler, steering)
        return _result(network, paced.run(), steering)
    named = scheduler or "fifo"
    on = Lane(network, scheduler=named) if lanes == 1 else Lanes(network, lanes, scheduler=named)
    return _result(network, run(job, on, steering), steering)


def net(elements: Iterable[Element]) -> dict[tuple[int, tuple[Any, ...]], int]:
    """How often each (timestamp, values in column order) is in a result on balance: what the invariance law compares.

    >>> net([Element(1, 1, {"a": 2}), Element(1, -1, {"a": 2}), Element(3, 1, {"a": 2})])
    {(3, (2,)): 1}
    """
    counts: Counter[tuple[int, tuple[Any, ...]]] = Counter()
    for element in elements:
        counts[element.timestamp, tuple(map(_hashable, element.values.values()))] += element.sign
    return {key: count for key, count in counts.items() if count}


def _hashable(value: Any) -> Any:
    """`value` so that equal ones are one key: arrays as tuples, the one NaN that equals itself in a tuple."""
    if isinstance(value, list):
        return tuple(map(_hashable, value))
    return NAN if isinstance(value, float) and value != value else value


NAN: Final = float("nan")
REHEARSED: Final = 20_000
"""Events of the input that tell, before the run, what the network's load is."""
ENGINES: Final = ("lane", "reference", "spark")


def _refuse(engine: str, others: Mapping[str, Any]) -> None:
    mistakes = [] if engine in ENGINES else [unknown("engine", str(engine), ENGINES)]
    for name, value in others.items():
        if name not in _LATER:
            mistakes.append(unknown("keyword", name, (*_LATER, "batches", "lanes", "close", "scheduler", "sharing")))
        elif value not in (None, False) and value != {} and value != () and value != []:
            mistakes.append(Diagnostic(f"{name} = {value!r} is not available on engine '{engine}'"))
    if mistakes:
        raise PenstockError(*mistakes)


def _network(script: str | Network | HasNetwork, sharing: bool) -> Network:
    if isinstance(script, str):
        network = compile_script(script)
    else:
        network = script if isinstance(script, Network) else script.network
    return replace(network, sharing=sharing and network.sharing)


def _loaded(inputs: Inputs) -> Iterator[Arrival]:
    """The rows of relations that come from files: they stand from the beginning."""
    for relation in inputs.relations.values():
        if relation.source is not None:
            rows = read(relation.source, relation.schema)
            yield from arrivals(inputs, ((relation.name, BEGIN, row) for row in rows))


def _arriving(inputs: Inputs, events: list[Given]) -> list[Arrival]:
    """The events, and the rows of streams that have a file and no events, as if they came together."""
    fed = {str(e[0]).lower() for e in events if e}
    read_in = [_from_file(s) for s in inputs.streams.values() if _in_file(s) and s.name.lower() not in fed]
    ordered = sorted((e for stream in read_in for e in stream), key=lambda e: e[0])
    return arrivals(inputs, [*events, *(e for _, e in ordered)])


def _in_file(stream: StreamDefinition) -> bool:
    return stream.source is not None and stream.source.format.lower() in READERS


def _from_file(stream: StreamDefinition) -> list[tuple[int, Given]]:
    """The rows of the stream's file, each with the stream's current time; rows without a timestamp column are stamped
    with their numbers."""
    assert stream.source is not None
    now = BEGIN
    listed: list[tuple[int, Given]] = []
    for number, values in enumerate(read(stream.source, stream.schema)):
        ts = number if stream.timestamp is None else _stamp(stream, number, values)
        now = max(now, ts)
        listed.append((now, (stream.name, ts, values)))
    return listed


def _stamp(stream: StreamDefinition, number: int, values: Mapping[str, Any]) -> int:
    assert stream.timestamp is not None
    t = stream.schema.type_of(stream.timestamp)
    value = to_internal(values.get(stream.timestamp), t)
    if value is None:
        raise PenstockError(f"row {number} of stream '{stream.name}' has no {stream.timestamp}, which is its timestamp")
    return stamp_of(value, t)


def _bounded(stream: StreamDefinition, given: Iterable[Arrival]) -> StreamDefinition:
    """`stream` with its declared skew bound or, without, the one that its arrivals keep."""
    if stream.within_us is not None:
        return stream
    return replace(stream, within_us=skew_us(a.ts for a in given if a.name == stream.name))


def _sizes(batches: int | Sequence[int] | None) -> Sequence[int] | int | None:
    """`batches`, checked."""
    if batches is None:
        return None
    sizes: list[Any] = list(batches) if isinstance(batches, Iterable) and not isinstance(batches, str) else [batches]
    if not all(isinstance(size, Integral) for size in sizes):
        raise PenstockError(Diagnostic(f"batches = {batches!r} is no number of rows", help="such as 1000 or [3, 0, 5]"))
    alone = isinstance(batches, Integral)
    if any(size < 0 for size in sizes) or (alone and batches == 0):
        raise PenstockError(f"batches = {batches!r}: a batch cannot have so few rows")
    return int(sizes[0]) if alone else [int(size) for size in sizes]


def _rehearsed(job: Job) -> Snapshot:
    """The job, or its beginning, at work without drops."""
    start = job.given[:REHEARSED]
    until = job.until if len(start) == len(job.given) else start[-1].ts + 1
    network = optimize(job.network)
    lane = Lane(network, optimized=False)
    lane.adopt(Plan(network, watched=watched(network)))
    return run(replace(job, given=start, sizes=None, until=until), lane).log[-1]


def _nothing_shed(wishes: Wishes) -> Snapshot:
    """What is said of an engine that never sheds."""
    ordered = wishes.shed is not None and not wishes.timed
    return Snapshot(1, 0.0, shortfall=Order.of(wishes.shed or {}).excess if ordered else 0.0)


def _result(network: Network, outcome: Outcome, steering: Loop | None) -> Result:
    shown = {q.name: _shown(_netted(q, outcome.elements[q.name]), q.root.schema) for q in network.queries}
    if steering is None:
        return Result(shown, outcome.log[-1], outcome.log)
    short = sum(s.shortfall for s in steering.strategies if isinstance(s, Excess))
    heard = max(e.number for e in steering.log if isinstance(e, Snapshot))
    log = [*steering.log, *(s for s in outcome.log if s.number > heard)]
    last = next(e for e in reversed(log) if isinstance(e, Snapshot))
    return Result(shown, replace(last, shortfall=short), log)


def _netted(query: Query, elements: Iterable[tuple[int, int, Row]]) -> Iterator[tuple[int, int, Row]]:
    """A relation's elements without those of one instant that cancel: an operator may put in and take out a row within
    it."""
    if query.root.kind is Kind.STREAM:
        yield from elements
        return
    for _, instant in groupby(elements, key=lambda e: e[0]):
        changes = list(instant)
        rest: Counter[Any] = Counter()
        for _, sign, row in changes:
            rest[row_key(row)] += sign
        for ts, sign, row in changes:
            if rest[row_key(row)] * sign > 0:
                rest[row_key(row)] -= sign
                yield ts, sign, row


def _shown(elements: Iterable[tuple[int, int, Row]], schema: Schema) -> list[Element]:
    types, names = schema.types, schema.names
    return [
        Element(ts, sign, {n: to_python(v, t) for n, v, t in zip(names, row, types, strict=True)})
        for ts, sign, row in elements
    ]
