"""Filters at the gate in the order of the plan (Babu 4.1), profiled on samples (4.3.1).

Where a stream's rows go to one operator, the gate evaluates those of its filters that Catalyst can say batch by batch
in the order that the plan of the batch has: each for the rows that those before it have left, in generated code. A
batch's frame is still the query over its sources, so Spark puts the filters at the scan, and keeps their order. What
Catalyst cannot say is asked in the lanes of the rows that are left, in the plan's order, and profiled there.

In some batches (see `penstock.spark.cadence`) a share of the rows is sampled, by a hash of their places. A sampled row
carries a bitmap of every filter's verdict, and passes whatever they say; if one of them drops it, it goes to a lane as
a row of no entry, which counts its bitmap and forgets it. Catalyst gives no cost per filter:
`penstock.spark.calibration` measures these on a sample.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Final, NamedTuple

import numpy as np
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from penstock.plan.expressions import Column as Name
from penstock.plan.expressions import Expression, substitute
from penstock.plan.filters import Profiling, filters_of, orderable
from penstock.plan.node import Node, walk
from penstock.plan.nodes import Filter, Source
from penstock.plan.running import Plan
from penstock.spark.cadence import Cadence
from penstock.spark.catalyst import catalyst, named, sayable
from penstock.spark.entries import Entry
from penstock.spark.lanes.wire import PROFILED, VERDICTS, column_name
from penstock.spark.plans import Plans
from penstock.spark.stages import Staged
from penstock.spark.state.records import Attempt
from penstock.stats.snapshot import FilterProfile

FILTER_BITS: Final = 40
"""Of a verdict word the lower bits are filters, those above say which entry the row is of."""
MOST_SAMPLED: Final = 0.05
"""The largest share of a batch that is sampled: batches are large, and sampled rows cross whatever they are."""
_ALL: Final = 1 << 24


@dataclass(frozen=True, slots=True)
class GateFilters:
    """The filters of `node`, a node of the network, on the rows of `entry`; `places` are those that the gate asks."""

    node: Node
    entry: Entry
    filters: tuple[Expression, ...]
    places: tuple[int, ...]

    @property
    def whole(self) -> bool:
        """True where the gate asks all of them."""
        return len(self.places) == len(self.filters)

    def conditions(self) -> dict[int, Column]:
        """The filters that the gate asks, by their places, over the columns of the wire; a filter that is NULL drops
        its row."""
        leaf = self.entry.leaf
        names = {f.name: Name(column_name(leaf.name, f.name), f.type) for f in leaf.schema}
        found = {i: catalyst(substitute(self.filters[i], names)) for i in self.places}
        return {i: c for i, c in found.items() if c is not None}


def at_gate(staged: Staged) -> tuple[GateFilters, ...]:
    """What the gate orders: filters on rows that nobody else in their fragment reads, and that no panes are made of."""
    outer = {inner: node for node, inner in staged.inner.items()}
    paned = {p.source.number for p in staged.panes}
    found = []
    for entry in staged.entries_of(0):
        readers = [n for n in walk(*staged.roots_of(entry.fragment)) if entry.leaf in n.inputs]
        whole = entry.leaf in staged.roots_of(entry.fragment)
        if len(readers) == 1 and not whole and isinstance(entry.leaf, Source) and entry.number not in paned:
            node = readers[0]
            listed = filters_of(node)
            mine = isinstance(node, Filter) and orderable(node) and len(listed) <= FILTER_BITS
            places = tuple(i for i, f in enumerate(listed) if sayable(f))
            if mine and len(places) > 1 and outer.get(node) is not None:
                found.append(GateFilters(outer[node], entry, listed, places))
    return tuple(found)


class Ordered:
    """The gate's filters under one plan; made once for all batches that have the plan. What is said to Spark is said
    once, too: a column takes as many calls into the JVM as it has parts."""

    def __init__(self, filters: Sequence[GateFilters], plan: Plan, cadence: Cadence | None = None) -> None:
        orders, profiled = dict(plan.orders), dict(plan.profiled)
        self.parts = [(g, orders.get(g.node), profiled.get(g.node)) for g in filters]
        self.cadence = cadence or Cadence()
        self._said: dict[tuple[bool, tuple[str, ...]], _Said] = {}

    def left(self, plan: Plan) -> Plan:
        """`plan` without what is measured here alone."""
        mine = {g.node for g, _, _ in self.parts if g.whole}
        return replace(plan, profiled=tuple(p for p in plan.profiled if p[0] not in mine))

    def __call__(self, rows: DataFrame) -> DataFrame:
        """The rows that pass, and sampled ones where the batch is one of those that are sampled."""
        if not self.parts:
            return rows
        what = self.cadence.due, tuple(rows.columns)
        said = self._said.get(what)
        if said is None:
            said = self._said[what] = self._say(*what)
        rows = rows.where(said.kept)
        if said.word is None:
            return rows
        rows = rows.withColumn(VERDICTS, said.word)
        return rows.withColumn("_entry", said.entry)

    def _say(self, sampling: bool, columns: Sequence[str]) -> _Said:
        tests: list[Column] = []
        words: list[Column] = []
        for gate, order, profiled in self.parts:
            conditions = gate.conditions()
            other = F.col("_entry") != gate.entry.number
            kept = reduce(lambda a, b: a & b, [conditions[i] for i in order or gate.places if i in conditions])
            if profiled is None or not sampling:
                tests.append(other | kept)
            else:
                sampled = _sampled(columns, profiled)
                tests.append(other | sampled | kept)
                words.append(F.when(~other & sampled, _word(gate.entry, conditions)))
        dropped = F.col(VERDICTS).bitwiseAND(F.lit((1 << FILTER_BITS) - 1)) > 0
        entry = F.when(dropped, F.lit(PROFILED)).otherwise(F.col("_entry"))
        return _Said(reduce(lambda a, b: a & b, tests), F.coalesce(*words) if words else None, entry)


class _Said(NamedTuple):
    """What is kept of a batch's rows; where some are sampled, their words, and the entry that rows with words are of:
    those that a filter drops are of none."""

    kept: Column
    word: Column | None
    entry: Column


def _sampled(columns: Sequence[str], profiling: Profiling) -> Column:
    """True for a share of the rows, by their places; where the source gives none, by what they hold."""
    read = ["_seq"] if "_seq" in columns else [c for c in columns if c == "_ts" or ":" in c]
    drawn = F.xxhash64(*(named(c) for c in read), F.lit(profiling.seed)).bitwiseAND(F.lit(_ALL - 1))
    return drawn < F.lit(int(min(profiling.rate, MOST_SAMPLED) * _ALL))


def _word(entry: Entry, conditions: Mapping[int, Column]) -> Column:
    """The verdicts of all filters in one word: a bit for each that drops the row, and the entry's number."""
    bits = [F.when(F.coalesce(c, F.lit(False)), 0).otherwise(1 << i) for i, c in conditions.items()]
    return F.lit(entry.number << FILTER_BITS).cast("bigint") + reduce(lambda a, b: a + b, bits).cast("bigint")


def profiles(
    filters: Iterable[GateFilters], counted: Mapping[str, int], costs: Mapping[Node, Sequence[float]]
) -> tuple[FilterProfile, ...]:
    """What the lanes counted in a batch, as what was measured of each operator's filters. The words come without an
    order of arrival: they are all of one batch."""
    found = []
    low = (1 << FILTER_BITS) - 1
    for gate in filters:
        mine = {int(w) & low: n for w, n in counted.items() if int(w) >> FILTER_BITS == gate.entry.number}
        if mine:
            bits = np.repeat(np.array(list(mine), np.int64), list(mine.values()))
            cost = np.asarray(costs.get(gate.node, ()) or np.zeros(len(gate.filters)))
            rows = np.full(len(gate.filters), float(len(bits)))
            mixed = np.random.default_rng(len(bits)).permutation(bits[bits != 0])
            found.append(FilterProfile(gate.node, mixed, len(bits), cost * rows, rows, outside=True))
    return tuple(found)


def in_lanes(
    attempts: Iterable[Attempt], plans: Plans, filters: Iterable[GateFilters] = ()
) -> tuple[FilterProfile, ...]:
    """What lanes have measured of filters in a batch; not the times of those that the gate asks."""
    found, asked = [], {g.node: list(g.places) for g in filters}
    for attempt in attempts:
        for place, words, sampled, seconds, rows in attempt.counters["profiles"]:
            bits = np.repeat(np.array([w for w, _ in words], np.int64), [n for _, n in words])
            node, times = plans.node(place), np.array(seconds)
            times[asked.get(node, [])] = 0.0
            found.append(FilterProfile(node, bits, sampled, times, np.array(rows), outside=node in asked))
    return tuple(found)


def counted(attempts: Iterable[Attempt]) -> dict[str, int]:
    """The words of verdicts that came to all lanes in a batch."""
    total: Counter[str] = Counter()
    for attempt in attempts:
        total.update(attempt.counters["verdicts"])
    return dict(total)


def of_no_entry(attempts: Iterable[Attempt]) -> int:
    """The rows of a batch that crossed only to be counted: sampled, and dropped by a filter."""
    low = (1 << FILTER_BITS) - 1
    return sum(n for word, n in counted(attempts).items() if int(word) & low)
