"""What shedding itself costs, and how good its errors and plans are: the road map of 1,140 operators, the statistics,
sampling, and the gap to the optimum where the road map is not one.
"""

from __future__ import annotations

import gc
import statistics
import time
from dataclasses import replace

import numpy as np

from benchmarks.figures.reporting import Row, at_most, row
from benchmarks.figures.shedding_thesis import separate_stage
from benchmarks.lane_network import network as many_operators
from penstock.lane.runtime import Lane
from penstock.operators.columns.train import Train
from penstock.operators.columns.vector import Vector
from penstock.plan.network import Network
from penstock.plan.nodes import Source
from penstock.plan.running import Plan
from penstock.plan.windows import END
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
    """Processor time of counting values: its own, and of the whole run with and without, in turn."""
    stage = separate_stage(seed, full)
    network = stage.network
    plans = {"on": Plan(network, watched=watched(network)), "off": Plan(network)}
    rows, rounds = (3_000_000, 15) if full else (1_500_000, 7)
    random = np.random.default_rng(seed)
    sources = [n.name for n in network.nodes() if isinstance(n, Source)]
    trains = {name: random.integers(0, 101, rows).astype(np.float64) for name in sources}
    plain = _without_boxes(network, plans)
    own, ratios = [], []
    for _ in range(rounds):
        spent = {}
        for side in ("on", "off"):
            spent[side], counting = _run(*plain[side], trains)
            if side == "on":
                own.append(counting / spent[side])
        ratios.append(spent["on"] / spent["off"] - 1)
    half = 2 * statistics.stdev(ratios) / len(ratios) ** 0.5
    middle = statistics.mean(ratios)
    return [
        at_most("statistics of values, their own share of processor time", 100 * statistics.median(own), "%", 2.0,
                f"{len(plans['on'].watched)} columns of 20 queries watched"),
        row("statistics of values, a run with over one without", 100 * middle, "%", 100 * half, 2.0,
            middle - half <= 0.02, "interleaved; holds unless the 95% interval excludes it"),
    ]  # fmt: skip


def _without_boxes(network: Network, plans: dict[str, Plan]) -> dict[str, tuple[Network, Plan]]:
    """The network with boxes that cost nothing: what is measured is the wall clock's work alone."""
    from penstock.plan.node import Node, rewrite
    from penstock.plan.nodes import Delay

    def bare(node: Node) -> Node:
        return replace(node, cost_s=0.0) if isinstance(node, Delay) else node

    queries = tuple(replace(q, root=rewrite(q.root, bare)) for q in network.queries)
    light = replace(network, queries=queries)
    return {"on": (light, Plan(light, watched=watched(light))), "off": (light, Plan(light))}


def _run(network: Network, plan: Plan, columns: dict[str, np.ndarray]) -> tuple[float, float]:  # type: ignore[type-arg]
    lane = Lane(network, optimized=False)
    lane.adopt(plan)
    gc.collect()
    step, started = 5000, time.process_time()
    rows = len(next(iter(columns.values())))
    for first in range(0, rows, step):
        ts = np.arange(first, first + step)
        for name, values in columns.items():
            last = first + step >= rows
            lane.push(name, Train([Vector(values[first : first + step])], ts, seq=ts), END if last else first + step)
        lane.run()
        for query in network.queries:
            lane.take(query.name)
    return time.process_time() - started, lane.counting_s


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
