"""What shedding itself costs, and how good its errors and plans are: the road map of 1,140 operators, the statistics,
sampling, and the gap to the optimum where the road map is not one.
"""

from __future__ import annotations

import gc
import math
import statistics
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from benchmarks.figures.reporting import Row, at_most, row
from benchmarks.figures.shedding_thesis import separate_stage
from benchmarks.lane_network import network as many_operators
from penstock.lane.runtime import Lane
from penstock.operators.columns.train import Train
from penstock.operators.columns.vector import Array, Vector
from penstock.plan.network import Network
from penstock.plan.node import Node, rewrite
from penstock.plan.nodes import Delay, Source
from penstock.plan.running import Plan
from penstock.shed.bounds import HOEFFDING, VARIANCE
from penstock.shed.mapped import Mapped
from penstock.shed.watching import watched
from penstock.stats.load import LoadModel, Work


def road_map(full: bool, seed: int) -> list[Row]:
    """Building the map of 1,140 operators, and looking a plan up."""
    random = np.random.default_rng(seed)
    plain = many_operators()
    losses = [f"100: 1, {50 + i % 40}: {0.7 + i % 30 / 100:.2f}, 0: 0" for i in range(len(plain.queries))]
    network = replace(plain, queries=tuple(
        replace(q, options=(("loss", loss),)) for q, loss in zip(plain.queries, losses, strict=True)))  # fmt: skip
    work = {n: Work(float(random.uniform(0.5, 5)) * 1e-7, 0.98) for n in network.nodes() if n.inputs}
    load, plan = LoadModel(network, work, {"s": 1e5}), Plan(network)
    builds = []
    for _ in range(5 if full else 3):
        kept = Mapped(seed)
        started = time.perf_counter()
        kept.shed(plan, load, 0.3 * load.load())
        builds.append(time.perf_counter() - started)
    road = kept.road_map(plan, load)
    looked, at = [], 0
    for part in 0.5 + 0.4 * np.sin(np.arange(200) / 10):
        started = time.perf_counter()
        at = road.search(float(part) * road.load, at)
        looked.append(time.perf_counter() - started)
    through = []
    for part in random.uniform(0.1, 0.9, 20):
        started = time.perf_counter()
        kept.shed(plan, load, float(part) * load.load())
        through.append(time.perf_counter() - started)
    checked = f"{len(load.nodes)} nodes, {len(road)} rows, the plan saves what was asked for"
    return [
        at_most("road map of 1,140 operators, building it", statistics.median(builds), "s", 2.0, checked),
        at_most("road map of 1,140 operators, looking a row up", 1e3 * statistics.median(looked), "ms", 1.0, checked),
        row("road map of 1,140 operators, a whole decision with its drops", 1e3 * statistics.median(through), "ms"),
    ]


def statistics_cost(full: bool, seed: int) -> list[Row]:
    """Processor time of counting values: its own, and of a lane that counts over one that does not, train by train in
    turn."""
    stage = separate_stage(seed, full)
    sides = [_lane(*each) for each in _without_boxes(stage.network)]
    blocks, ratios, columns = 240 if full else 120, [], len(sides[0].plan.watched)
    whole = 0.0
    for block in range(WARM + blocks):
        spent = _block(sides, block, seed)
        if block < WARM:
            before = sides[0].lane.counting_s
        else:
            ratios.append(math.log(spent[0] / spent[1]))
            whole += spent[0]
    own = (sides[0].lane.counting_s - before) / whole
    middle, half = statistics.mean(ratios), 1.96 * statistics.stdev(ratios) / math.sqrt(len(ratios))
    checked = f"{columns} columns of 20 queries watched"
    return [
        at_most("statistics of values, their own share of processor time", 100 * own, "%", 2.0, checked),
        row("statistics of values, a lane with over one without", 100 * math.expm1(middle), "%", 100 * half, 2.0,
            math.expm1(middle - half) <= 0.02, f"{blocks} blocks in turn; holds unless the 95% interval excludes it"),
    ]  # fmt: skip


WARM = 5
"""Blocks before the clock counts."""
TRAINS, TRAIN_ROWS = 16, 5000
"""A block is so many trains of so many rows for each stream, on either side."""


class _Side(NamedTuple):
    lane: Lane
    plan: Plan


def _block(sides: Sequence[_Side], block: int, seed: int) -> list[float]:
    """Processor time of both sides for the same trains; who begins changes with every train."""
    random, spent = np.random.default_rng((seed, block)), [0.0, 0.0]
    names = [n.name for n in sides[0].plan.network.nodes() if isinstance(n, Source)]
    gc.collect()
    for train in range(block * TRAINS, (block + 1) * TRAINS):
        columns = {name: random.integers(0, 101, TRAIN_ROWS).astype(np.float64) for name in names}
        for side in (0, 1) if train % 2 else (1, 0):
            spent[side] += _push(sides[side], columns, train * TRAIN_ROWS)
    return spent


def _lane(network: Network, plan: Plan) -> _Side:
    lane = Lane(network, optimized=False)
    lane.adopt(plan)
    return _Side(lane, plan)


def _push(side: _Side, columns: Mapping[str, Array], first: int) -> float:
    started = time.process_time()
    ts = np.arange(first, first + TRAIN_ROWS)
    for name, values in columns.items():
        side.lane.push(name, Train([Vector(values)], ts, seq=ts), first + TRAIN_ROWS)
    side.lane.run()
    for query in side.plan.network.queries:
        side.lane.take(query.name)
    return time.process_time() - started


def _without_boxes(network: Network) -> tuple[tuple[Network, Plan], tuple[Network, Plan]]:
    """The network with boxes that cost nothing, watched and not: what is measured is the wall clock's work alone."""

    def bare(node: Node) -> Node:
        return replace(node, cost_s=0.0) if isinstance(node, Delay) else node

    queries = tuple(replace(q, root=rewrite(q.root, bare)) for q in network.queries)
    light = replace(network, queries=queries)
    return (light, Plan(light, watched=watched(light))), (light, Plan(light))


def sampling(full: bool, seed: int) -> list[Row]:
    """Coverage of the stated half-widths over many windows, and their width beside Hoeffding's."""
    rows = []
    for name, draw in (("even", lambda r, n: r.random(n)), ("exponential", lambda r, n: r.exponential(size=n))):
        for rate in (0.1, 0.5, 0.9):
            outside, ratio = _coverage(draw, rate, 20_000 if full else 4000, seed)
            rows.append(at_most(f"sampling {rate:.0%} of {name} values, errors beyond what is stated at 95%",
                                100 * outside, "% of answers", 5.0, "2,000 windows of 1,000 tuples and more"))
            rows.append(row(f"sampling {rate:.0%} of {name} values, half-width beside Hoeffding's", ratio, "times"))
    scatter = 1.25 / 1000
    rows.append(row("rate for an error of 5% at 95%, by Hoeffding", HOEFFDING.rate(0.05, scatter, 0.05), "rate"))
    rows.append(row("rate for an error of 5% at 95%, by the variance", VARIANCE.rate(0.05, scatter, 0.05), "rate"))
    return rows


def _coverage(draw: object, rate: float, runs: int, seed: int) -> tuple[float, float]:
    """The share of the answers beyond the half-width of `penstock.plan.estimates`, and its size beside Hoeffding's."""
    from statistics import NormalDist

    from penstock.plan.estimates import MARGIN

    assert callable(draw)
    random, delta = np.random.default_rng(seed), 0.05
    x, w = draw(random, 1000), 1 / rate
    z = NormalDist().inv_cdf(1 - MARGIN * delta / 2)
    outside, ratios = 0, []
    for _ in range(runs):
        kept = x[random.random(len(x)) < rate]
        spread = w * (w - 1) * kept**2
        variance, few = spread.sum(), (spread**2).sum() / spread.sum() ** 2
        half = z * np.sqrt(variance * (1 + z * z * few)) + 0.5 * np.sqrt(variance * few)
        outside += abs(w * kept.sum() - x.sum()) > half
        ratios.append(half / np.sqrt((w**3 * kept**2).sum() * np.log(2 / delta) / 2))
    return outside / runs, float(np.mean(ratios))
