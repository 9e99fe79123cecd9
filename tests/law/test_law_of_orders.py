"""The invariance law with filters that reorder themselves: whatever orders filters, and whatever is profiled of them,
results are those of the reference. Strategies that choose at random reach orders that no statistics would ask for."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock.adapt.filter_orders import ORDERINGS
from penstock.control.loop import Loop
from penstock.control.steer import Wishes, steer
from penstock.lane import reference
from penstock.lane.lanes import Lanes
from penstock.lane.runtime import Lane
from penstock.lane.session import Job, run
from penstock.plan.filters import ALL, NEXT, Profiling, allowed, filters_of, orderable
from penstock.plan.network import Network
from penstock.plan.proposal import Proposal
from penstock.plan.rewrites import optimize
from penstock.plan.running import Plan, Profile, Reorder
from penstock.plan.shared_filters import shared_filters
from penstock.stats.snapshot import Snapshot
from tests.law.cases import Case, Way, cases, ways
from tests.law.compare import difference


@dataclass
class AtRandom:
    """Any allowed order and any measurement, anew after every batch."""

    network: Network
    seed: int
    name: str = "at random"
    draw: random.Random = field(init=False)

    def __post_init__(self) -> None:
        self.draw = random.Random(self.seed)

    def propose(self, plan: Plan, snapshot: Snapshot) -> Sequence[Proposal]:
        found = []
        nodes = self.network.nodes()
        for node in filter(orderable, (*nodes, *shared_filters(nodes))):
            n = len(filters_of(node))
            order = tuple(self.draw.sample(range(n), n))
            what = self.draw.choice([ALL, NEXT, self.draw.randrange(n)])
            profiling = Profiling(self.draw.choice([0.1, 1.0]), what, 0, self.draw.random() < 0.5)
            found.append(Proposal(Profile(node, self.draw.choice([profiling, None])), "at random"))
            if allowed(node, order):
                found.append(Proposal(Reorder(node, order), "at random"))
        return found


def obeys(case: Case, way: Way, name: str, seed: int) -> None:
    network = replace(case.network, sharing=way.sharing)
    how = {"scheduler": way.scheduler, "train_rows": way.train_rows}
    engine = Lane(network, **how) if way.lanes == 1 else Lanes(network, way.lanes, **how)
    rewritten = optimize(network)
    at_random = Loop(Plan(rewritten), [AtRandom(rewritten, seed)])
    loop = steer(network, Wishes(filters=name, seed=seed)) if name else at_random
    given = (case.streams, case.relations, case.given, way.sizes)
    found = run(Job(network, *given, heartbeats=way.heartbeats, sweeps=way.sweeps), engine, loop).elements
    expected = reference.evaluate(case.network, case.streams, case.given)
    for query in case.network.queries:
        apart = difference(found[query.name], expected[query.name], case.given)
        assert not apart, f"{query.name} with filters {name or 'at random'} under {way}: {apart}"


@given(cases(filters=True), ways(), st.sampled_from(["", "", *ORDERINGS]), st.integers(0, 1000))
@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
def test_the_law_with_filters_that_reorder_themselves(case: Case, way: Way, name: str, seed: int) -> None:
    obeys(case, way, name, seed)
