"""Drops at the gate: what a plan gives up on the arcs of sources goes in Catalyst, before any Python sees it.

A random drop hashes what `penstock.operators.drops.identity` hashes (the seed, then the row's place `_seq`) with the
same Murmur3, so the gate drops what a lane would. Rates come as elements of an array and not as literals: generated
code is kept by its text, and so one compilation serves all rates.

Each drop is a filter of its own, which Spark may not merge with others (its condition looks non-deterministic), and
Spark counts what leaves a filter: so input = kept + dropped is known for each drop without another pass.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from penstock.plan.drops import AgeDrop, Location, Placed, RandomDrop, SemanticDrop, WindowDrop
from penstock.plan.expressions import Column as Name
from penstock.plan.expressions import substitute
from penstock.plan.node import Node, walk
from penstock.plan.nodes import Filter, Source
from penstock.plan.running import Plan
from penstock.plan.windows import BEGIN
from penstock.spark import early
from penstock.spark.catalyst import catalyst
from penstock.spark.entries import Entry
from penstock.spark.lanes.courier import BATCH_BITS, ROW_BITS, SPARK_BITS, SPLIT_BITS
from penstock.spark.lanes.wire import DEAD, column_name
from penstock.spark.stages import Staged

_ALL: Final = 1 << 32
HEARTBEAT: Final = 256
_COUNTER: Final = -7_700_000
"""Partition numbers that no partition has, by which the filters of drops are found in Spark's plan."""


@dataclass(frozen=True, slots=True)
class GateDrop:
    """A drop of the plan that the gate makes, on the rows of one of the entries of its leaf."""

    placed: Placed
    entry: Entry


def at_gate(staged: Staged, plan: Plan) -> tuple[tuple[GateDrop, ...], Plan]:
    """The drops of `plan` that the gate makes, and the plan that is left to the lanes.

    Needs a session: what Catalyst can say is found by saying it.
    """
    mine: list[GateDrop] = []
    left: list[Placed] = []
    for placed in plan.drops:
        if isinstance(placed[1], WindowDrop):
            mine.extend(_shut(staged, placed))
            left.append((placed[0], replace(placed[1], shut=())))
            continue
        entries = _entries(staged, placed) if type(placed[1]) in NATIVE else ()
        if entries and NATIVE[type(placed[1])](placed[1], entries[0], len(staged.entries)) is not None:
            mine.extend(GateDrop(placed, entry) for entry in entries)
        else:
            left.append(placed)
    return tuple(mine), replace(plan, drops=tuple(left))


def _entries(staged: Staged, placed: Placed) -> tuple[Entry, ...]:
    """The entries whose rows are what comes to a drop, all of it and nothing else; none where there are no such."""
    found: list[Entry] = []
    for number, part in enumerate(staged.plans(Plan(staged.network, drops=(placed,)))):
        for location, _ in part.drops:
            leaf = _leaf(location, staged.roots_of(number))
            mine = [e for e in staged.entries_of(0) if e.fragment == number and e.leaf == leaf]
            if not mine:
                return ()
            found.extend(mine)
    return tuple(found)


def _shut(staged: Staged, placed: Placed) -> list[GateDrop]:
    """What the gate makes of a window drop: the batches that are being dropped, where one entry's rows come to it."""
    drop = placed[1]
    if not isinstance(drop, WindowDrop) or not drop.shut or not early.told_at_gate(placed[0].node, drop):
        return []
    entries = _entries(staged, (placed[0], replace(drop, shut=())))
    return [GateDrop(placed, entry) for entry in entries] if len(entries) == 1 else []


def _leaf(location: Location, roots: Sequence[Node]) -> Node | None:
    """The source whose rows, as they leave the gate, are what comes to `location`; None where there is none."""
    node = location.node
    if not _alone(location, roots):
        return None
    if isinstance(node, Filter) and _alone(Location(node.input, node), roots) and catalyst(node.predicate) is not None:
        node = node.input
    return node if isinstance(node, Source) else None


def _alone(location: Location, roots: Sequence[Node]) -> bool:
    """True where everything that leaves the location's node passes the location."""
    node = location.node
    if location.consumer is None and location.query is None:
        return True
    readers = [(n, i) for n in walk(*roots) for i, below in enumerate(n.inputs) if below == node]
    taps = sum(root == node for root in roots)
    if location.query is not None:
        return taps == 1 and not readers
    return not taps and readers == [(location.consumer, location.input)]


def _random(drop: Any, entry: Entry, width: int) -> Column:
    """The rows that a random drop keeps, of this entry; all rows of others."""
    return _draw(drop.seed) >= _by_entry(entry, width, math.ceil(drop.rate * _ALL), 0)


def _draw(seed: int) -> Column:
    """What a row draws: a number below `_ALL`, by its place."""
    return F.hash(F.lit(_signed(seed)), F.col("_seq")).cast("bigint").bitwiseAND(F.lit(_ALL - 1))


def _by_entry(entry: Entry, width: int, mine: float, others: float) -> Column:
    """One value for rows of `entry`, another for the others'."""
    values = F.lit([others, *(mine if n == entry.number else others for n in range(width))])
    return values[F.greatest(F.col("_entry"), F.lit(DEAD)) + 1]


def _signed(seed: int) -> Column:
    word = seed & 0xFFFFFFFFFFFFFFFF
    return F.lit(word - (1 << 64) if word >> 63 else word).cast("bigint")


def _semantic(drop: Any, entry: Entry, width: int) -> Column | None:
    """The rows for which the condition is true, where Catalyst means the same by it; all rows of other entries."""
    leaf = entry.leaf
    names = {f.name: Name(column_name(leaf.name, f.name), f.type) for f in leaf.schema}
    kept, partly = catalyst(substitute(drop.keep, names)), catalyst(substitute(drop.partly, names))
    if kept is None or partly is None:
        return None
    stays = F.coalesce(kept, F.lit(False))
    if drop.part > 0:
        stays = stays & (~F.coalesce(partly, F.lit(False)) | (_draw(drop.seed) >= F.lit(math.ceil(drop.part * _ALL))))
    return (F.col("_entry") != entry.number) | stays


def _window(drop: Any, entry: Entry, width: int) -> Column:
    """The rows that no batch of windows that is being dropped takes for sure. One in `HEARTBEAT` goes on: lanes drop
    it, but see that time passes."""
    stays = ~early.shut(drop, entry) | (F.hash(F.col("_seq")).bitwiseAND(F.lit(HEARTBEAT - 1)) == F.lit(0))
    return (F.col("_entry") != entry.number) | stays


def _age(drop: Any, entry: Entry, width: int) -> Column:
    """The rows that arrived late enough, of this entry; all rows of others."""
    return F.col("_arrival") >= _by_entry(entry, width, drop.before, BEGIN)


NATIVE: Final[Mapping[type, Callable[[Any, Entry, int], Column | None]]] = {
    RandomDrop: _random,
    SemanticDrop: _semantic,
    WindowDrop: _window,
    AgeDrop: _age,
}
"""For each kind of drop that Catalyst can make: what it keeps of an entry's rows, None where it cannot say."""


class Thinner:
    """Makes `drops` on frames as they leave the gate (`_entry`, `_seq`, columns as on the wire); what Spark needs
    for it is made once and used for every batch that has these drops."""

    def __init__(self, drops: Sequence[GateDrop], width: int) -> None:
        self.drops = tuple(drops)
        self._kept = [self._condition(i, d, width) for i, d in enumerate(drops)]
        self._weight = self._weights(width)

    @staticmethod
    def _condition(number: int, drop: GateDrop, width: int) -> Column:
        kept = NATIVE[type(drop.placed[1])](drop.placed[1], drop.entry, width)
        assert kept is not None
        return kept | (F.spark_partition_id() == _COUNTER - 1 - number)

    def _weights(self, width: int) -> Column | None:
        """What the rows that stay stand for."""
        weight: Column | None = None
        for drop, entry in ((d.placed[1], d.entry) for d in self.drops):
            if isinstance(drop, RandomDrop) and drop.weighted and drop.rate < 1:
                factor = _by_entry(entry, width, 1 / (1 - drop.rate), 1.0)
                weight = factor if weight is None else weight * factor
        return weight

    def __call__(self, rows: DataFrame, progress: Mapping[str, int]) -> DataFrame:
        """The rows that stay, with `_weight` where some count for more than themselves. `progress` says which rows are
        late: windows are not theirs."""
        if not self.drops:
            return rows
        rows = rows.where(F.spark_partition_id() != _COUNTER)
        for kept in self._conditions(progress):
            rows = rows.where(kept)
        return rows if self._weight is None else rows.withColumn("_weight", self._weight)

    def counted(self, work: DataFrame) -> Counted | None:
        """What the drops did in a job that has run, by what Spark counted behind each filter. A task that ran twice is
        counted twice: whoever knows how many rows arrived can tell, and asks `recounted`. None where Spark knew the
        rows and filtered them before it ran."""
        found = _filters(work._jdf.queryExecution().executedPlan())
        if len(found) <= len(self.drops):
            return None
        rows = [found[_COUNTER - i] for i in range(len(self.drops) + 1)]
        return Counted(tuple(a - b for a, b in pairwise(rows)), rows[-1])

    def _conditions(self, progress: Mapping[str, int]) -> Iterator[Column]:
        for drop, kept in zip(self.drops, self._kept, strict=True):
            late = F.col("_ts") < F.lit([progress.get(drop.entry.leaf.name, 0)])[0]
            yield kept | late if isinstance(drop.placed[1], WindowDrop) else kept

    def recounted(self, rows: DataFrame, progress: Mapping[str, int]) -> Counted:
        """The same in another pass over the rows that came to the drops."""
        counts = [rows.count()]
        for kept in self._conditions(progress):
            rows = rows.where(kept)
            counts.append(rows.count())
        return Counted(tuple(a - b for a, b in pairwise(counts)), counts[-1])


def place_in(batch: int, row: Column) -> Column:
    """A row's place as couriers give it where its source has not: batch, split and row in the split."""
    first = (batch % (1 << BATCH_BITS)) << (SPLIT_BITS + ROW_BITS)
    split = F.shiftleft(F.shiftright(row, SPARK_BITS), ROW_BITS)
    return F.lit(first).cast("bigint") + split + row.bitwiseAND(F.lit((1 << SPARK_BITS) - 1))


@dataclass(frozen=True, slots=True)
class Counted:
    """Rows that each of the gate's drops dropped, and those that left the last one."""

    dropped: tuple[int, ...]
    kept: int


def _filters(plan: Any) -> dict[int, int]:
    """For each filter of ours under a physical plan, its mark and the rows that left it."""
    found: dict[int, int] = {}
    while True:
        if plan.nodeName() == "Filter":
            mark = re.search(r"SPARK_PARTITION_ID\(\) = (-77\d+)", plan.condition().toString())
            if mark:
                found[int(mark[1])] = int(plan.metrics().get("numOutputRows").get().value())
        below = plan.children()
        if below.isEmpty():
            return found
        plan = below.head()
