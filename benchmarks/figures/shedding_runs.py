"""Runs of the thesis's shedding networks (Tatbul 3.8, 3.9) in the lane engine, in a time that only delay boxes spend.

A network is rehearsed once: that gives its load, its histograms and its exact answer. Then every policy places its
drops for every excess, and each run is checked before it counts: what it delivers is in the exact answer, and what it
costs is what the policy promised.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from penstock.lane.clock import VirtualClock
from penstock.lane.runtime import Lane
from penstock.operators.columns.train import Train
from penstock.operators.columns.vector import Array, Vector
from penstock.plan.network import Network
from penstock.plan.nodes import Source
from penstock.plan.running import Plan
from penstock.plan.windows import END
from penstock.shed import POLICIES, Shedding
from penstock.shed.qos import qos
from penstock.shed.watching import watched
from penstock.stats.forgetting import Forgetting
from penstock.stats.load import LoadModel, with_stated_costs
from penstock.stats.snapshot import Snapshot, StreamStatistics

Answers = Mapping[str, Array]
CLOSE = 0.03
"""A run may cost so much more of the whole than what was to be left: drops are random, and loads are estimated."""


@dataclass(frozen=True, slots=True)
class Losses:
    """Utility lost over all queries, in percent: by their loss functions, and by the values of what they got."""

    tuples: float
    values: float


class Stage:
    """A network and its input: `columns` by stream, the attribute that queries value in each query's first column."""

    def __init__(self, network: Network, columns: Mapping[str, Sequence[Array]]) -> None:
        self.network = network
        self._columns = columns
        self.load: LoadModel
        self.exact, self._whole_s, looked = self._run(Plan(network, watched=watched(network)))
        seen = Forgetting(network)
        seen.see(looked)
        self.load = with_stated_costs(seen.model())

    def _run(self, plan: Plan) -> tuple[Answers, float, Snapshot]:
        clock = VirtualClock()
        lane = Lane(self.network, clock=clock, optimized=False)
        lane.adopt(plan)
        streams = []
        for node in self.network.nodes():
            if isinstance(node, Source):
                columns = self._columns[node.name]
                ts = np.arange(len(columns[0]))
                lane.push(node.name, Train([Vector(c) for c in columns], ts, seq=ts), END)
                streams.append(StreamStatistics(node.name, len(ts), 0, 0, 0, 0, END, float(len(ts))))
        lane.run()
        found = {q.name: self._values(lane.take(q.name)) for q in self.network.queries}
        return found, clock.now(), lane.snapshot(streams)

    @staticmethod
    def _values(trains: Sequence[Train]) -> Array:
        return np.concatenate([np.zeros(0), *(t.column(0).values for t in trains)])

    def shed(self, network: Network, policy: str, excess: float, seed: int = 0) -> Losses:
        """What is lost when `policy` takes the share `excess` of the load away; `network` has the same operators, and
        the options by which the policy chooses."""
        made = dict(POLICIES)[policy](seed)
        load = replace(self.load, network=network)
        chosen = made.shed(Plan(network), load, excess * load.load())
        found, spent_s, _ = self._run(Plan(self.network, drops=chosen.drops))
        self._check(found, spent_s, excess, chosen, policy)
        return self.losses(found)

    def _check(self, found: Answers, spent_s: float, excess: float, chosen: Shedding, policy: str) -> None:
        left = 1 - excess + chosen.shortfall / self.load.load()
        if spent_s > (left + CLOSE) * self._whole_s:
            raise AssertionError(f"{policy}: {spent_s / self._whole_s:.3f} of the load is left, not {left:.3f}")
        for name, values in found.items():
            mine, whole = Counter(values.tolist()), Counter(self.exact[name].tolist())
            if mine - whole:
                raise AssertionError(f"{policy}: {name} got what the exact answer has not")

    def losses(self, found: Answers) -> Losses:
        """Tuple and value utility lost (Tatbul 3.8.1), the mean over queries, in percent."""
        tuples, values = [], []
        for query in self.network.queries:
            declared, got, whole = qos(query), found[query.name], self.exact[query.name]
            tuples.append(1 - declared.loss(len(got) / len(whole)))
            if declared.value is not None:
                worth = [sum(declared.value.utility(v) for v in listed.tolist()) for listed in (got, whole)]
                values.append(1 - worth[0] / worth[1])
        return Losses(100 * float(np.mean(tuples)), 100 * float(np.mean(values or [0.0])))
