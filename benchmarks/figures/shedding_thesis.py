"""QoS-driven shedding against admission control, semantic against random, and shared operators: figures 3.11 to 3.14 of
Tatbul's thesis."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np

from benchmarks.figures.reporting import Row, at_least, at_most, row
from benchmarks.figures.shedding_runs import Losses, Stage
from penstock.cql import parse_expression
from penstock.plan.network import Network, Query
from penstock.plan.node import Node
from penstock.plan.nodes import Delay, Filter, Source, Union
from penstock.plan.schema import Schema
from penstock.shed.graph import stacked

SCHEMA = Schema.parse("x double")
CONTROLS = ("input-random", "input-top-cost", "input-uniform", "input-uniform-cost")
EXCESS = (0.1, 0.2, 0.35, 0.5, 0.65, 0.8)
"""Shares of the load that must go: the higher the mean arrival rate, the larger."""
TOLERATED = 2.0
"""Points of utility by which QoS-driven shedding may lose more than an admission control."""
CHECKED = "subset of the exact answer, at the load that was to be left"
LEVELS = np.arange(11) / 10


def zipf(random: np.random.Generator, skew: float) -> float:
    """A utility in [0, 1]: the larger the skew, the more often a low one."""
    weights = 1 / np.arange(1, len(LEVELS) + 1) ** skew
    return float(random.choice(LEVELS, p=weights / weights.sum()))


def with_qos(network: Network, exact: dict[str, list[float]], cut: float, lows: dict[str, float]) -> Network:
    """Queries with a value function of two intervals and the loss function that it and the histogram give (3.7.1)."""
    queries = []
    for query in network.queries:
        low, below = lows[query.name], float(np.mean(np.array(exact[query.name]) < cut))
        graph = stacked([(below, low * below), (1 - below, 1 - below)])
        loss = ", ".join(f"{100 * share:.6f}: {utility:.9f}" for share, utility in reversed(graph.points))
        value = f"x: 0..{cut:g} = {low:.3f}, {cut:g}..101 = 1"
        queries.append(replace(query, options=(("loss", loss), ("value", value))))
    return replace(network, queries=tuple(queries))


def separate(random: np.random.Generator, queries: int = 20, streams: int = 10) -> Network:
    """Filters and unions: each query reads one or two streams, costs and thresholds differ."""
    sources = [Source(f"i{k}", SCHEMA) for k in range(streams)]

    def branch(k: int) -> Node:
        box = Delay(sources[k], float(random.uniform(0.5, 1.5)) * 1e-5)
        return Filter(box, parse_expression(f"x > {random.integers(0, 50)}", SCHEMA))

    made = []
    for q in range(queries):
        members = [branch(int(k)) for k in random.choice(streams, size=int(random.integers(1, 3)), replace=False)]
        both: Node = members[0] if len(members) == 1 else Union(tuple(members))
        made.append(Query(f"q{q}", Delay(both, float(random.uniform(0.5, 1.5)) * 1e-5)))
    return Network(queries=tuple(made))


def staged(network: Network, rows: int, skew: float, cut: float, random: np.random.Generator) -> Stage:
    """The network over uniform integers in [0, 100], with utilities of this skew."""
    names = [n.name for n in network.nodes() if isinstance(n, Source)]
    columns = {n: [random.integers(0, 101, rows).astype(np.float64)] for n in names}
    exact = {name: values.tolist() for name, values in Stage(network, columns).exact.items()}
    lows = {q.name: zipf(random, skew) for q in network.queries}
    return Stage(with_qos(network, exact, cut, lows), columns)


def mean(found: list[Losses]) -> Losses:
    """The average of several networks."""
    return Losses(float(np.mean([f.tuples for f in found])), float(np.mean([f.values for f in found])))


@lru_cache(maxsize=2)
def curves(full: bool, seed: int) -> dict[str, list[Losses]]:
    """Every policy at every excess, over several networks."""
    stages = [separate_stage(seed + k, full) for k in range(4 if full else 2)]
    policies = ("random", "semantic", *CONTROLS)
    return {p: [mean([s.shed(s.network, p, e, seed) for s in stages]) for e in EXCESS] for p in policies}


def separate_stage(seed: int, full: bool, skew: float = 0.0) -> Stage:
    """The network of the first experiments."""
    random = np.random.default_rng(seed)
    return staged(separate(random), 6000 if full else 3000, skew, 51, random)


def figure_3_11(full: bool, seed: int) -> list[Row]:
    """Tuple utility."""
    found = curves(full, seed)
    rows = [row(f"figure 3.11 {p}, {e:.0%} must go", at.tuples, "% utility lost")
            for p, curve in found.items() for e, at in zip(EXCESS, curve, strict=True)]  # fmt: skip
    best = [min(found[c][i].tuples for c in CONTROLS) for i in range(len(EXCESS))]
    worst = max(at.tuples - b for at, b in zip(found["random"], best, strict=True))
    won = sum(b - at.tuples for at, b in zip(found["random"], best, strict=True)) / len(EXCESS)
    over = max(s.tuples - r.tuples for s, r in zip(found["semantic"], found["random"], strict=True))
    return [
        *rows,
        at_most("figure 3.11 random beyond the best admission control, at worst", worst, "points", TOLERATED, CHECKED),
        at_least("figure 3.11 best admission control beyond random, on average", won, "points", 0.0, CHECKED),
        at_most("figure 3.11 semantic beyond random, at worst", over, "points", TOLERATED, CHECKED),
    ]


def figure_3_12(full: bool, seed: int) -> list[Row]:
    """Value utility."""
    found = curves(full, seed)
    rows = [row(f"figure 3.12 {p}, {e:.0%} must go", at.values, "% value lost")
            for p, curve in found.items() for e, at in zip(EXCESS, curve, strict=True)]  # fmt: skip
    others = [min(found[p][i].values for p in ("random", *CONTROLS)) for i in range(len(EXCESS))]
    over = max(at.values - o for at, o in zip(found["semantic"], others, strict=True))
    return [*rows, at_most("figure 3.12 semantic beyond the best other, at worst", over, "points", 0.0, CHECKED)]


def figure_3_13(full: bool, seed: int) -> list[Row]:
    """The ratio of value lost, random to semantic, for skews of the utilities."""
    skews, rates = (0.0, 1.0, 2.0, 3.0), (0.5, 0.65, 0.8, 0.9)
    ratios: dict[float, list[float]] = {}
    rows = []
    for skew in skews:
        stages = [separate_stage(seed + k, full, skew) for k in range(6 if full else 3)]
        lost = {p: [mean([s.shed(s.network, p, e, seed) for s in stages]).values for e in rates]
                for p in ("random", "semantic")}  # fmt: skip
        ratios[skew] = [a / max(b, 0.01) for a, b in zip(lost["random"], lost["semantic"], strict=True)]
        rows += [row(f"figure 3.13 skew {skew:g}, {e:.0%} must go", r, "random / semantic")
                 for e, r in zip(rates, ratios[skew], strict=True)]  # fmt: skip
    middle = [float(np.mean(ratios[s])) for s in skews]
    fall = min(ratios[s][0] - ratios[s][-1] for s in skews)
    return [
        *rows,
        at_least("figure 3.13 least ratio", min(min(r) for r in ratios.values()), "random / semantic", 1.0, CHECKED),
        at_least("figure 3.13 ratio at the highest skew over that at none", middle[-1] / middle[0], "times", 1.0),
        at_least("figure 3.13 fall of the ratio from the lowest rate to the highest", fall, "random / semantic", 0.0),
    ]


def shared(queries: int = 20) -> Network:
    """One stream, one operator for all, and an operator for each."""
    common = Delay(Source("i", SCHEMA), 1e-5)
    ends = [Delay(Filter(common, parse_expression(f"x >= {k} * 0", SCHEMA)), (10 + k) * 1e-6) for k in range(queries)]
    return Network(queries=tuple(Query(f"q{k}", end) for k, end in enumerate(ends)))


def figure_3_14(full: bool, seed: int) -> list[Row]:
    """The ratio of tuple utility lost, Input-Uniform to random, on a shared plan."""
    skews, rates = (0.0, 1.0, 2.0), (0.2, 0.4, 0.6, 0.8, 0.93, 0.97)
    ratios: dict[float, list[float]] = {}
    rows = []
    for skew in skews:
        random = np.random.default_rng(seed)
        stages = [staged(shared(), 5000, skew, 76, random) for _ in range(4 if full else 2)]
        lost = {p: [mean([s.shed(s.network, p, e, seed) for s in stages]).tuples for e in rates]
                for p in ("input-uniform", "random")}  # fmt: skip
        ratios[skew] = [a / b for a, b in zip(lost["input-uniform"], lost["random"], strict=True)]
        rows += [row(f"figure 3.14 skew {skew:g}, {e:.0%} must go", r, "Input-Uniform / random")
                 for e, r in zip(rates, ratios[skew], strict=True)]  # fmt: skip
    low = [float(np.mean(ratios[s][:3])) for s in skews]
    extreme = max(abs(ratios[s][-1] - 1) for s in skews)
    return [
        *rows,
        at_least("figure 3.14 least ratio", min(min(r) for r in ratios.values()), "Input-Uniform / random", 0.98),
        at_least("figure 3.14 ratio at the highest skew over that at none", low[-1] / low[0], "times", 1.0, CHECKED),
        at_most("figure 3.14 distance from 1 at extreme excess", extreme, "Input-Uniform / random", 0.1, CHECKED),
    ]

