"""How a network lies on Spark: fragments, the stages that they form, and the entries by which rows come into each.

All fragments of one depth share one exchange. Stage 0 is fed by the gate, a later stage by what earlier ones hand on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from penstock.lane.partition import Fragment, Partition, partition
from penstock.plan.expressions import Column
from penstock.plan.network import Network
from penstock.plan.node import Node
from penstock.plan.rewrites import optimize
from penstock.plan.running import Plan
from penstock.settings import Settings
from penstock.spark.entries import Entry
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
        """Those, and what the gate sends in their place."""
        return (*self.entries_of(stage), *(p.entry for p in self.panes if stage == 0))

    def roots_of(self, fragment: int) -> tuple[Node, ...]:
        """The results that `fragment` makes."""
        return tuple(o.root for o in self.fragments[fragment].outlets)

    def plans(self, plan: Plan) -> list[Plan]:
        """For each fragment its part of `plan`."""
        return Partition(self.fragments, self.inner, self.leaves).plans(plan)

    def lanes_of(self, fragment: int) -> tuple[int, ...]:
        """The lanes that run `fragment`."""
        return tuple(range(self.lanes)) if self.fragments[fragment].spread else (fragment % self.lanes,)


def staged(network: Network, lanes: int) -> Staged:
    """`network`, rewritten and cut.

    >>> from penstock.cql import compile_script
    >>> cut = staged(compile_script('''
    ...     CREATE STREAM s (a INT, b INT);
    ...     CREATE QUERY q AS SELECT b, count(*) AS n FROM s [Range 1 Minute] GROUP BY b'''), 2)
    >>> cut.stages, cut.lanes_of(0)
    (1, (0, 1))
    """
    rewritten = optimize(network)
    cut = partition(rewritten)
    fragments = tuple(map(_native, cut.fragments))
    made = {o.name: i for i, f in enumerate(fragments) for o in f.outlets}
    depths: list[int] = []
    for fragment in fragments:
        below = [depths[made[i.leaf.name]] for i in fragment.inlets if i.leaf.name in made]
        depths.append(1 + max(below, default=-1))
    inlets = [(f, inlet) for f, fragment in enumerate(fragments) for inlet in fragment.inlets]
    entries = tuple(Entry(n, f, inlet, f % lanes) for n, (f, inlet) in enumerate(inlets))
    first = [e for e in entries if depths[e.fragment] == 0]
    panes = panes_of(first, fragments, len(entries))
    return Staged(rewritten, lanes, fragments, tuple(depths), entries, inner=cut.inner, panes=panes, leaves=cut.leaves)


def _native(fragment: Fragment) -> Fragment:
    """A fragment that the gate can spread: where a route is more than columns, all goes to one lane."""
    if all(isinstance(e, Column) for inlet in fragment.inlets for e in inlet.route):
        return fragment
    return replace(fragment, inlets=tuple(replace(inlet, route=()) for inlet in fragment.inlets))
