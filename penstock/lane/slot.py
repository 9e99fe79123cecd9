"""A running operator with its queues and counters: what the runtime schedules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from penstock.lane.clock import Clock
from penstock.lane.contexts import ORIGIN, Birth
from penstock.lane.queue import Arc
from penstock.operators.base import Context, Operator, Stateless
from penstock.operators.columns.train import Train
from penstock.operators.drops import Valve
from penstock.operators.drops.window_decoder import Decoder
from penstock.plan.latency import Latency
from penstock.plan.node import Node
from penstock.plan.windows import BEGIN, END

NUMBERS_HZ: Final = 1e9
"""Inputs are numbered in the order in which they come, by the time at which they do: so many numbers a second."""


class Key(NamedTuple):
    """What makes two running operators one: the node, the birth and, with sharing off, the query it runs for."""

    node: Node
    birth: Birth = ORIGIN
    owner: str | None = None


class Feed:
    """Where a stream's or a relation's elements come in: the arcs out of one Source or Table node.

    `log` is what a relation was given so far; a stream's is not kept.
    """

    __slots__ = ("key", "log", "outputs", "probe", "progress", "rows_out", "valve")

    def __init__(self, key: Key, progress: int, log: list[Train]) -> None:
        self.key = key
        self.outputs: list[Arc] = []
        self.valve: Valve | None = None
        self.probe: Callable[[Train], None] | None = None
        self.progress = progress
        self.rows_out = 0
        self.log = log

    def put(self, train: Train, progress: int, number: int) -> None:
        """Hands on `train`; nothing stamped before `progress` comes after it."""
        if self.valve is not None and len(train):
            train = self.valve(train)
        rows = len(train)
        self.rows_out += rows
        if self.probe is not None and rows:
            self.probe(train)
        for arc in self.outputs:
            if rows:
                arc.put(train, rows, number)
            arc.progress = progress
        self.progress = progress


class Slot:
    """One operator in its place. `done` is the instant before which it has processed everything; `valve` has the drops
    before its result fans out, `decoder` takes out windows that were dropped above, `probe` looks at what comes before
    drops.

    `latencies` are the latency QoS of the queries that it works for, as far as they declare one.

    `unborn` is the instant that its inputs must have come to before it starts, None once it runs (see `graph.bear`).
    """

    __slots__ = (
        "busy_s", "clock", "context", "decoder", "delay_s", "done", "inputs", "key", "latencies", "operator", "outputs",
        "position", "probe", "process", "producers", "rows_in", "rows_out", "runs", "stateless", "unborn", "valve",
        "worked",
    )  # fmt: skip

    def __init__(self, key: Key, context: Context, clock: Clock, delay_s: float = 0.0) -> None:
        self.key = key
        self.context = context
        self.clock = clock
        self.worked = clock.worked
        self.delay_s = delay_s
        self.operator: Operator | None = None
        self.process: Callable[[Sequence[Train], int], Train] | None = None
        self.stateless = False
        self.inputs: list[Arc] = []
        self.outputs: list[Arc] = []
        self.producers: list[Slot | Feed] = []
        self.decoder: Decoder | None = None
        self.valve: Valve | None = None
        self.probe: Callable[[Train], None] | None = None
        self.latencies: tuple[Latency, ...] = ()
        self.position = 0
        self.done = BEGIN
        self.unborn: int | None = None
        self.rows_in = self.rows_out = self.runs = 0
        self.busy_s = 0.0

    def install(self, operator: Operator) -> None:
        """Makes `operator` the one that runs here."""
        self.operator = operator
        self.process = operator.process
        self.stateless = isinstance(operator, Stateless)

    @property
    def reach(self) -> int:
        """The instant before which every input is complete."""
        inputs = self.inputs
        return inputs[0].progress if len(inputs) == 1 else min(arc.progress for arc in inputs)

    def advance(self, until: int) -> None:
        """Processes everything stamped before `until` (at most `reach`), and says so to the consumers."""
        inputs = self.inputs
        number = 0
        if len(inputs) == 1:
            arc = inputs[0]
            rows = arc.rows
            if rows:
                number = arc.numbers[0]
                taken = arc.take(until)
                if until < arc.progress:
                    rows = len(taken)
                trains: Sequence[Train] = (taken,)
            else:
                trains = (arc.empty,)
        else:
            number = min((arc.numbers[0] for arc in inputs if arc.rows), default=0)
            trains = [arc.take(until) for arc in inputs]
            rows = sum(map(len, trains))
        self.done = until
        if rows or not self.stateless:
            self._run(trains, rows, until, number)
        for arc in self.outputs:
            arc.progress = until

    def _run(self, trains: Sequence[Train], rows: int, until: int, number: int) -> None:
        started = self.worked()
        if self.delay_s and rows:
            self.clock.spend(self.delay_s * rows)
        result = self.process(trains, until)  # type: ignore[misc]
        self.busy_s += self.worked() - started
        self.runs += 1
        self.rows_in += rows
        out = len(result)
        if out:
            self.rows_out += out
            if self.probe is not None:
                self.probe(result)
            if self.decoder is not None:
                result = self.decoder(result, until)
                out = len(result)
            if self.valve is not None and out:
                result = self.valve(result)
                out = len(result)
        if out:
            for arc in self.outputs:
                arc.put(result, out, number)

    def cut(self, rows: int, until: int) -> int:
        """An instant up to `until` before which about `rows` elements wait at every input, more than at `done`."""
        cuts = [c for arc in self.inputs if (c := arc.cut(rows)) is not None]
        return min([until, *cuts])

    @property
    def queued(self) -> int:
        """Elements that wait before it."""
        return sum(arc.rows for arc in self.inputs)

    @property
    def around(self) -> int:
        """Elements in the queues before and behind it, those of results that nobody has collected left out."""
        return self.queued + sum(arc.rows for arc in self.outputs if arc.consumer is not None)

    @property
    def oldest(self) -> int:
        """The number of the input that the first waiting element was made from."""
        return min((arc.numbers[0] for arc in self.inputs if arc.rows), default=0)

    @property
    def waited_s(self) -> float:
        """Seconds since that input came: inputs are numbered by the time."""
        return self.clock.now() - self.oldest / NUMBERS_HZ

    @property
    def cost_s(self) -> float:
        """Measured seconds an element."""
        return self.busy_s / self.rows_in if self.rows_in else 0.0

    @property
    def selectivity(self) -> float:
        """Measured elements out for an element in; 1 while nothing is known."""
        return self.rows_out / self.rows_in if self.rows_in else 1.0

    @property
    def takers(self) -> list[Slot]:
        """The operators that take its result."""
        return list({id(a.consumer): a.consumer for a in self.outputs if isinstance(a.consumer, Slot)}.values())

    @property
    def successor(self) -> Slot | None:
        """The operator that takes its result, where there is exactly one."""
        takers = self.takers
        return takers[0] if len(takers) == 1 else None

    @property
    def closed(self) -> bool:
        """True where the end of time has been processed."""
        return self.done >= END
