"""Window-aware load shedding: window drops where they save most, as many windows as the excess asks for (Tatbul 4.8).

Candidate places are streams and the arcs behind them, alone or, before a join, together, and the arcs into aggregates.
Queries that share a place may share a drop, with longer windows and smaller batches, or have one each behind the split:
the cover of the queries that loses less is taken, worked out with the corrected cost model. Under one cover the windows
that go are chosen as the road map chooses tuples, by the utility lost for the load gained.

A query's gap allows B of B + 1 windows to go, fewer where only a delivered result tells that one was delivered. If that
is not enough, the queries that bear no more are shut down, the most costly first (Tatbul 4.3).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

from penstock.plan.drops import Placed, WindowDrop
from penstock.plan.network import Network
from penstock.plan.running import Plan
from penstock.plan.window_reach import Needs, reach, size_of
from penstock.plan.windows import SlideRange
from penstock.shed.graph import Graph
from penstock.shed.group_values import Groups, group_valuing, groups_at, places
from penstock.shed.mapped import SEEDS
from penstock.shed.policy import Shedding
from penstock.shed.qos import QoS, qos
from penstock.shed.shutting_down import costliest, cuts, of, only
from penstock.shed.window_cost import savings
from penstock.shed.window_links import Place, Together, alone, linked
from penstock.shed.window_rules import Grid, common
from penstock.stats.load import LoadModel

UNBOUNDED: Final = 10
"""B where a query bounds no gap: the thesis's own in its experiments, or four times the overlap of the windows."""
EVERY, BOUNDED, VALUED = "every", "bounded", "valued"
ENOUGH: Final = 1e-6
"""Parts of the excess below this are none."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """Window drops that could stand at `places`, linked where they are several: `gain` is what they save for p = 1,
    `most` the largest p, and `charge` what they cost whatever p. `losses` are the loss functions of the queries, and
    `groups` says which groups go first where one of them values its groups."""

    places: tuple[Place, ...]
    grid: Grid
    batch: int
    gain: float
    charge: float
    most: float
    queries: frozenset[str]
    losses: tuple[Graph, ...]
    groups: Groups | None = None
    rows: bool = False

    def saved(self, rate: float) -> float:
        """Processor seconds a second."""
        return rate * self.gain - self.charge if rate > 0 else 0.0

    def drops(self, rate: float, seed: int) -> Iterator[Placed]:
        """The drops themselves."""
        g = self.grid
        link = ", ".join(sorted(self.queries)) if len(self.places) > 1 else ""
        classes = () if self.groups is None else self.groups.rates(rate, self.most)
        for at, keys in self.places:
            yield at, WindowDrop(g.size, g.slide, rate, self.batch, keys, g.origin, seed, classes=classes,
                                 rows=self.rows, link=link)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Cover:
    """Candidates of which no two have a query in common, and the p of each."""

    rates: tuple[tuple[Candidate, float], ...]
    saved: float
    lost: float


class WindowShedding:
    """`whose` windows may go: of `EVERY` query, of those that are `BOUNDED` or value what they group by, or of those
    alone that are `VALUED` so; `shuts`: where that is not enough, queries are shut down at once."""

    name = "window"

    def __init__(self, seed: int = 0, whose: str = EVERY, shuts: bool = True) -> None:
        self._seed = seed
        self._whose = whose
        self._shuts = shuts
        self._valuing: frozenset[str] = frozenset()

    def patient(self) -> WindowShedding:
        """The same for who shuts queries down himself, when the excess stays too large for long."""
        return WindowShedding(self._seed, self._whose, shuts=False)

    def shed(self, plan: Plan, load: LoadModel, excess: float) -> Shedding:
        """See `penstock.shed.policy.Policy`."""
        if excess <= 0 or load.load() <= 0:
            return Shedding()
        declared = {q.name: qos(q) for q in plan.network.queries}
        self._valuing = group_valuing(load.network)
        if not any(self._may(name, each) for name, each in declared.items()):
            return Shedding(shortfall=excess)
        gone: tuple[str, ...] = ()
        made = self._without(load, declared, excess, gone)
        while made.shortfall > ENOUGH * excess and self._shuts:
            victim = costliest(load, gone, {name for name, q in declared.items() if q.max_gap is not None})
            if victim is None:
                break
            further = self._without(load, declared, excess, (*gone, victim))
            if further.saved <= made.saved * (1 + ENOUGH):
                break
            gone, made = (*gone, victim), further
        return made

    def _without(self, load: LoadModel, declared: Mapping[str, QoS], excess: float, gone: tuple[str, ...]) -> Shedding:
        """The drops for the queries that run, and those that cut off what only the others need."""
        running = only(load.network, gone)
        rest = of(running, load)
        spared = load.load() - rest.load()
        cover = _best(self._candidates(rest, declared, load.network), max(0.0, excess - spared))
        listed = enumerate(cover.rates)
        drops = [d for i, (c, rate) in listed if rate > 0 for d in c.drops(rate, self._seed * SEEDS + i)]
        saved = spared + cover.saved
        short = excess - saved
        lost = cover.lost + sum(declared[name].loss(1.0) for name in gone)
        shed = (*(cuts(load.network, running) if gone else ()), *drops)
        return Shedding(shed, gone, saved, short if short > ENOUGH * excess else 0.0, lost)

    def _candidates(self, load: LoadModel, declared: Mapping[str, QoS], whole: Network) -> list[Candidate]:
        """For each set of queries that a drop can serve the one that saves most. `whole` is the network with those that
        were shut down: a drop must be allowed before them too."""
        running = {q.name for q in load.network.queries}
        best: dict[frozenset[str], Candidate] = {}
        reached = [(at, found) for at in places(load.network) if (found := reach(whole, at)).why is None]
        reached = [(at, replace(f, needs=tuple(n for n in f.needs if n.query in running))) for at, f in reached]
        for each in (*(alone(at, found) for at, found in reached), *linked(reached)):
            made = self._candidate(load, each, declared)
            known = None if made is None else best.get(made.queries)
            if made is not None and (known is None or made.saved(made.most) > known.saved(known.most)):
                best[made.queries] = made
        return sorted(best.values(), key=lambda c: (len(c.queries), sorted(c.queries)))

    def _may(self, query: str, declared: QoS) -> bool:
        if self._whose == EVERY:
            return True
        return query in self._valuing or (self._whose == BOUNDED and declared.max_gap is not None)

    def _candidate(self, load: LoadModel, each: Together, declared: Mapping[str, QoS]) -> Candidate | None:
        found, standing = each.found, [place.location for place in each.places]
        mine = [declared[n.query] for n in found.needs]
        if any(q.answer == "estimate" or not self._may(n.query, q) for n, q in zip(found.needs, mine, strict=True)):
            return None
        grid = common(found.needs)
        batch = grid.batch([bears(n, q) for n, q in zip(found.needs, mine, strict=True)])
        if batch < 1:
            return None
        most = min(batch / (batch + _kept(n, grid)) for n in found.needs)
        gain = savings(load, standing, found, grid, batch)
        charge = load.drop_s * sum(map(load.rate, standing))
        names = frozenset(n.query for n in found.needs)
        groups = groups_at(load, standing[0], found) if len(standing) == 1 else None
        losses = tuple(q.loss for q in mine) if groups is None else (groups.loss(most),)
        made = Candidate(each.places, grid, batch, gain, charge, most, names, losses, groups, found.rows)
        return made if made.saved(most) > 0 else None


def bears(needs: Needs, declared: QoS) -> int:
    """B: the windows in a row that a query can miss. A gap in time lies between two results that are delivered."""
    gap = declared.max_gap
    if gap is None:
        return max(UNBOUNDED, 4 * -(-size_of(needs.top) // needs.slide))
    if gap.results is not None:
        return gap.results
    timed = isinstance(needs.top.window, SlideRange)
    return max(0, (gap.span_us or 0) // needs.slide - 1) if timed else 0


def _kept(needs: Needs, grid: Grid) -> int:
    """Windows that are kept between two batches: one and, where only a delivered result counts, those until it has
    come."""
    return 1 + -(-(size_of(needs.top) + 1) // grid.slide) if needs.swallows else 1


def _best(candidates: Sequence[Candidate], excess: float) -> Cover:
    """The cover that loses least: beginning with a drop for each query alone, drops for several take the place of
    theirs where that is better."""
    chosen: list[Candidate] = []
    cover = _spread((), excess)
    for each in candidates:
        apart = [c for c in chosen if not c.queries & each.queries]
        taken = [c for c in chosen if c.queries & each.queries]
        if any(not c.queries <= each.queries for c in taken):
            continue
        found = _spread([*apart, each], excess)
        if _better(found, cover, excess):
            chosen, cover = [*apart, each], found
    return cover


def _better(new: Cover, old: Cover, excess: float) -> bool:
    short = min(new.saved, excess) - min(old.saved, excess)
    if abs(short) > ENOUGH * max(excess, ENOUGH):
        return short > 0
    return new.lost < old.lost - 1e-9


def _spread(chosen: Sequence[Candidate], excess: float) -> Cover:
    """The p of each drop by which `excess` is saved at the least loss: pieces of straight loss, cheapest first."""
    rates = dict.fromkeys(range(len(chosen)), 0.0)
    pieces = sorted(piece for i, c in enumerate(chosen) for piece in _pieces(i, c))
    missing = excess
    for _, i, low, high in pieces:
        if missing <= 0:
            break
        candidate = chosen[i]
        wanted = missing + (candidate.charge if low == 0 else 0.0)
        rates[i] = min(high, low + wanted / candidate.gain)
        missing = excess - sum(c.saved(rates[j]) for j, c in enumerate(chosen))
    saved = sum(c.saved(rates[i]) for i, c in enumerate(chosen))
    lost = sum(_lost(graph, rates[i]) for i, c in enumerate(chosen) for graph in c.losses)
    return Cover(tuple((c, rates[i]) for i, c in enumerate(chosen)), saved, lost)


def _pieces(i: int, candidate: Candidate) -> Iterator[tuple[float, int, float, float]]:
    """(loss for a unit of gain, candidate, from p, to p)."""
    graphs = candidate.losses
    bends = sorted({1 - x for g in graphs for x, _ in g.points if 0 < 1 - x < candidate.most} | {0.0, candidate.most})
    for low, high in pairwise(bends):
        fall = sum(_lost(g, high) - _lost(g, low) for g in graphs) / (high - low)
        yield fall / candidate.gain, i, low, high


def _lost(graph: Graph, rate: float) -> float:
    return graph(1.0) - graph(1 - rate)
