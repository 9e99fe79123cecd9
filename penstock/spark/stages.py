"""How a network lies on Spark: fragments, the stages that they form, and the entries by which rows come into each.

All fragments of one depth share one exchange. Stage 0 is fed by the gate, a later stage by what earlier ones hand on.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from penstock.lane.partition import Fragment, Inlet, Partition, partition
from penstock.plan.expressions import Column
from penstock.plan.network import Network
from penstock.plan.node import Node, walk
from penstock.plan.nodes import Source
from penstock.plan.rewrites import optimize
from penstock.plan.running import Plan
from penstock.plan.windows import BEGIN
from penstock.settings import Settings
from penstock.spark.entries import Entry
from penstock.spark.generations import Generation, Registered, first
from penstock.spark.panes import Panes, panes_of

DEFAULT_GROUPS = Settings().key_groups


@dataclass(frozen=True, slots=True)
class Staged:
    """A network cut for `lanes` lanes: `depths` has each fragment's stage, `entries` those of all fragments, `inner`
    for each node the one that stands for it in its fragment, `panes` what the gate may aggregate, `leaves` for each
    result that is handed on the leaf that it is."""

    network: Network
    lanes: int
    fragments: tuple[Fragment, ...]
    depths: tuple[int, ...]
    entries: tuple[Entry, ...]
    groups: int = DEFAULT_GROUPS
    inner: Mapping[Node, Node] = field(default_factory=dict)
    panes: tuple[Panes, ...] = ()
    leaves: Mapping[Node, Node] = field(default_factory=dict)

    @property
    def stages(self) -> int:
        """How many stages there are."""
        return max(self.depths, default=0) + 1

    def entries_of(self, stage: int) -> tuple[Entry, ...]:
        """The entries of a stage's fragments."""
        return tuple(e for e in self.entries if self.depths[e.fragment] == stage)

    def arriving(self, stage: int) -> tuple[Entry, ...]:
        """Those whose rows come then: before stage 0 the gate's, and what it sends in their place; later ones may come
        early, from lanes of a stage that is not the one before theirs."""
        if stage == 0:
            return (*self.entries_of(0), *(p.entry for p in self.panes))
        return tuple(e for e in self.entries if self.depths[e.fragment] >= stage)

    def roots_of(self, fragment: int) -> tuple[Node, ...]:
        """The results that `fragment` makes."""
        return tuple(o.root for o in self.fragments[fragment].outlets)

    def plans(self, plan: Plan) -> list[Plan]:
        """For each fragment its part of `plan`."""
        return Partition(self.fragments, self.inner, self.leaves).plans(plan)

    def lanes_of(self, fragment: int) -> tuple[int, ...]:
        """The lanes that run `fragment`; none where nothing of it runs any more."""
        if not self.fragments[fragment].outlets:
            return ()
        return tuple(range(self.lanes)) if self.fragments[fragment].spread else (fragment % self.lanes,)


def staged(network: Network | Registered, lanes: int) -> Staged:
    """`network`, rewritten and cut.

    >>> from penstock.cql import compile_script
    >>> cut = staged(compile_script('''
    ...     CREATE STREAM s (a INT, b INT);
    ...     CREATE QUERY q AS SELECT b, count(*) AS n FROM s [Range 1 Minute] GROUP BY b'''), 2)
    >>> cut.stages, cut.lanes_of(0)
    (1, (0, 1))
    """
    registered = network if isinstance(network, Registered) else first(network)
    parts = [_generation(registered, g, n) for n, g in enumerate(registered.generations)]
    fragments = tuple(f for part in parts for f in part.fragments)
    births = [g for g, part in zip(registered.generations, parts, strict=True) for _ in part.fragments]
    depths = _depths(fragments)
    inlets = [(f, inlet) for f, fragment in enumerate(fragments) for inlet in fragment.inlets]
    entries = [_entry(n, f, inlet, f % lanes, births[f]) for n, (f, inlet) in enumerate(inlets)]
    panes = panes_of([e for e in entries if depths[e.fragment] == 0], fragments)
    running = _running(fragments, [part.alive for part in parts for _ in part.fragments])
    kept = tuple(e for e in entries if any(i.leaf == e.leaf for i in running[e.fragment].inlets))
    queries = tuple(q for part in parts for q in part.network.queries if q.name in part.alive)
    whole = replace(registered.network, queries=queries)
    inner = {node: inside for part in reversed(parts) for node, inside in part.inner.items()}
    alive = set(whole.nodes())
    leaves = {node: leaf for part in reversed(parts) for node, leaf in part.leaves.items() if node in alive}
    taken = _taken(panes, kept, running)
    return Staged(whole, lanes, running, tuple(depths), kept, inner=inner, panes=taken, leaves=leaves)


@dataclass(frozen=True, slots=True)
class _Part:
    """A generation, rewritten and cut."""

    network: Network
    fragments: tuple[Fragment, ...]
    inner: Mapping[Node, Node]
    leaves: Mapping[Node, Node]
    alive: frozenset[str]


def _generation(registered: Registered, generation: Generation, number: int) -> _Part:
    rewritten = optimize(registered.of(generation))
    cut = partition(rewritten, f"exchange {number}." if number else "exchange ")
    made = {o.name for f in cut.fragments for o in f.outlets}
    fragments = [f if any(i.leaf.name in made for i in f.inlets) else _native(f) for f in cut.fragments]
    return _Part(rewritten, tuple(fragments), cut.inner, cut.leaves, generation.alive)


def _depths(fragments: Sequence[Fragment]) -> list[int]:
    made = {o.name: i for i, f in enumerate(fragments) for o in f.outlets}
    depths: list[int] = []
    for fragment in fragments:
        below = [depths[made[i.leaf.name]] for i in fragment.inlets if i.leaf.name in made]
        depths.append(1 + max(below, default=-1))
    return depths


def _entry(number: int, fragment: int, inlet: Inlet, home: int, generation: Generation) -> Entry:
    born = generation.born if isinstance(inlet.leaf, Source) else BEGIN
    return Entry(number, fragment, inlet, home, born, generation.first)


def _running(fragments: Sequence[Fragment], alive: Sequence[frozenset[str]]) -> tuple[Fragment, ...]:
    """The fragments without results that nobody takes any more; one that is left with none is empty, so that the
    others keep their numbers."""
    results: list[Fragment] = []
    read: set[str] = set()
    made = {o.name for f in fragments for o in f.outlets}
    for fragment, names in reversed(list(zip(fragments, alive, strict=True))):
        outlets = tuple(o for o in fragment.outlets if o.name in names or o.name in read)
        below = set(walk(*(o.root for o in outlets)))
        inlets = tuple(i for i in fragment.inlets if i.leaf in below)
        read |= {i.leaf.name for i in inlets} & made
        results.append(fragment if outlets == fragment.outlets else Fragment(inlets, outlets))
    return tuple(reversed(results))


def _taken(panes: Iterable[Panes], entries: Sequence[Entry], fragments: Sequence[Fragment]) -> tuple[Panes, ...]:
    """Those of entries that rows come by, which somebody takes."""
    listed = [p for p in panes if p.source in entries]
    alive = [set(walk(*(o.root for o in f.outlets))) for f in fragments]
    return tuple(p for p in listed if any(t.node in alive[p.source.fragment] for t in p.aggregates))


def _native(fragment: Fragment) -> Fragment:
    """A fragment that the gate can spread: where a route is more than columns, all goes to one lane."""
    if all(isinstance(e, Column) for inlet in fragment.inlets for e in inlet.route):
        return fragment
    return replace(fragment, inlets=tuple(replace(inlet, route=()) for inlet in fragment.inlets))
