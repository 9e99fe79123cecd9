"""The re-optimizer of filter orders: one ordering algorithm for each operator that has several filters."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from penstock.adapt.a_greedy import AGreedy
from penstock.adapt.independent import Independent
from penstock.adapt.initial import initial_order
from penstock.adapt.local_swaps import LocalSwaps
from penstock.adapt.ordering import Filters, Ordering
from penstock.adapt.shared_greedy import SharedGreedy
from penstock.adapt.sweep import Sweep
from penstock.adapt.yardsticks import Optimal, StaticGreedy
from penstock.errors import PenstockError, unknown
from penstock.plan.filters import Order, filters_of, orderable
from penstock.plan.node import Node
from penstock.plan.nodes.shared import SharedFilters
from penstock.plan.proposal import Proposal
from penstock.plan.running import Plan, Profile, Reorder
from penstock.settings import Settings
from penstock.stats.snapshot import Snapshot

Maker = Callable[[Filters, Settings, int], Ordering]

ORDERINGS: Final[Mapping[str, Maker]] = {
    "a-greedy": lambda f, s, seed: AGreedy(f, s.drop_profiling, s.profile_tuples, s.thrashing_avoidance, seed),
    "sweep": lambda f, s, seed: Sweep(f, s.drop_profiling, max(1, s.profile_tuples // 2), s.thrashing_avoidance, seed),
    "independent": lambda f, s, seed: Independent(
        f, s.drop_profiling / 2, s.profile_tuples, s.thrashing_avoidance, seed
    ),
    "local-swaps": lambda f, s, seed: LocalSwaps(f, s.drop_profiling, s.profile_tuples, s.thrashing_avoidance, seed),
    "static-greedy": lambda f, s, seed: StaticGreedy(f, 1.0, s.profile_tuples, 1.0, seed),
    "optimal": lambda f, s, seed: Optimal(f, 1.0, s.profile_tuples, 1.0, seed),
}
"""The first is the default. Window sizes and rates are in the proportions of the paper's table 4.1."""
OFF: Final = "off"


def known(name: str) -> str:
    """`name`, if there is an ordering of that name or it is `OFF`; raises PenstockError.

    >>> known("sweep")
    'sweep'
    """
    if name not in (*ORDERINGS, OFF):
        raise PenstockError(unknown("order of filters", name, [*ORDERINGS, OFF]))
    return name


@dataclass(slots=True)
class FilterOrders:
    """Keeps the filters of every operator in `nodes` in the order that the algorithm `ordering` prefers."""

    ordering: str
    nodes: Sequence[Node]
    settings: Settings = field(default_factory=Settings)
    seed: int = 0
    _orderings: dict[Node, Ordering] = field(default_factory=dict)
    _seen: int = -1

    @classmethod
    def over(
        cls, ordering: str, nodes: Iterable[Node], settings: Settings | None = None, seed: int = 0,
        shared: Sequence[SharedFilters] = (),
    ) -> FilterOrders:  # fmt: skip
        """For the operators among `nodes` that have a choice; those that share filters are ordered as one."""
        together = {member for group in shared for member in group.members}
        alone = [n for n in nodes if orderable(n) and n not in together]
        return cls(known(ordering), [*alone, *shared], settings or Settings(), seed)

    @property
    def name(self) -> str:
        """As the log has it."""
        return f"filters ({self.ordering})"

    def initial(self, plan: Plan) -> list[Proposal]:
        """The orders to begin with, by what filters are guessed to cost, and what to measure."""
        found = [(node, initial_order(node)) for node in self.nodes]
        why = "the least unit-time cost by guessed costs"
        chosen = [Proposal(Reorder(n, o), why) for n, o in found if o != order_of(plan, n)]
        return [*chosen, *self.needs(plan.apply(*(p.change for p in chosen)))]

    def needs(self, plan: Plan) -> list[Proposal]:
        """See `penstock.stats.streamon.Reoptimizer`."""
        return [p for node in self.nodes for p in self._measured(plan, node, order_of(plan, node))]

    def _measured(self, plan: Plan, node: Node, order: Order) -> Iterator[Proposal]:
        wanted = self._of(node).wants(order)
        if dict(plan.profiled).get(node) != wanted:
            yield Proposal(Profile(node, wanted), f"{self.ordering} needs it")

    def propose(self, plan: Plan, snapshot: Snapshot) -> list[Proposal]:
        """See `penstock.stats.streamon.Reoptimizer`."""
        if snapshot.number == self._seen:
            return []
        first, self._seen = self._seen < 0, snapshot.number
        if first and not snapshot.operators:
            return self.initial(plan)
        return [p for node in self.nodes for p in self._for(plan, node, snapshot)]

    def _for(self, plan: Plan, node: Node, snapshot: Snapshot) -> Iterator[Proposal]:
        ordering, order = self._of(node), order_of(plan, node)
        mine = [measured for measured in snapshot.profiles if measured.node == node]
        for measured in mine:
            ordering.see(measured)
        better = ordering.better(order) if mine else None
        better = better if better is not None and better.sure else None
        if better is not None:
            yield Proposal(Reorder(node, better.order), better.why, better.gain)
        yield from self._measured(plan, node, order if better is None else better.order)

    def _of(self, node: Node) -> Ordering:
        if node not in self._orderings:
            seed = self.seed * 1000 + len(self._orderings)
            self._orderings[node] = self._made(node, seed)
        return self._orderings[node]

    def _made(self, node: Node, seed: int) -> Ordering:
        s = self.settings
        if isinstance(node, SharedFilters):
            rate, tuples = s.drop_profiling, s.profile_tuples
            return SharedGreedy(Filters.of(node), node.words, rate, tuples, s.thrashing_avoidance, seed)
        return ORDERINGS[self.ordering](Filters.of(node), s, seed)


def order_of(plan: Plan, node: Node) -> Order:
    """The order that `plan` has for the filters of `node`."""
    return dict(plan.orders).get(node) or tuple(range(len(filters_of(node))))
