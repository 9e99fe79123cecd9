"""The query networks of Tatbul, section 5.7, and what is shared by the figures: timing, sampling, checking against
the program.
"""

from __future__ import annotations

import tarfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from benchmarks.figures.reporting import data
from penstock.cluster.flows import Floats, compile_flows
from penstock.cluster.replay import replay
from penstock.cluster.selecting import best_flows, filling_rates, flow_dictionary
from penstock.cluster.topology import Input, Node, Operator, Topology

T = TypeVar("T")
# Costs in milliseconds of the two queries on each server: the same total, rising imbalance. Only (64, 32) is in the
# thesis' text.
IMBALANCES = ((48.0, 48.0), (64.0, 32.0), (72.0, 24.0), (80.0, 16.0), (88.0, 8.0))


def chains(costs: tuple[float, ...], below: tuple[float, ...] | None = None, selectivity: float = 1.0) -> Topology:
    """One query per input: an operator on server A and one on server B, with these costs in milliseconds (figure
    5.11).
    """
    return Topology(
        (Node("A", 1000.0), Node("B", 1000.0)),
        tuple(Input(f"r{i}", "A") for i in range(len(costs))),
        tuple(Operator(f"a{i}", "A", cost, 1.0, (f"r{i}",)) for i, cost in enumerate(costs))
        + tuple(
            Operator(f"b{i}", "B", cost, selectivity if i == 0 else 1.0, (f"a{i}",))
            for i, cost in enumerate(below or costs)
        ),
    )


def split_chains(costs: tuple[float, ...]) -> Topology:
    """The same chains, each splitting on server B into two queries of a half and a quarter of its cost and yield."""
    plain = chains(costs)
    ends = tuple(
        Operator(f"q{i}{end}", "B", cost * share, share, (f"b{i}",))
        for i, cost in enumerate(costs)
        for end, share in (("x", 0.5), ("y", 0.25))
    )
    return Topology(plain.nodes, plain.inputs, plain.operators + ends)


def fan_out(branches: int, seed: int) -> Topology:
    """One input, one shared operator, and so many query branches on one server (figure 5.15)."""
    rng = np.random.default_rng(seed)
    costs, shares = rng.uniform(1, 20, branches), rng.uniform(0.2, 1.0, branches)
    reads = tuple(Operator(f"q{i}", "A", float(costs[i]), float(shares[i]), ("shared",)) for i in range(branches))
    return Topology((Node("A", 1000.0),), (Input("r", "A"),), (Operator("shared", "A", 4.0, 1.0, ("r",)), *reads))


def timed(work: Callable[[], T], repeats: int) -> tuple[T, float, float]:
    """The result, the median time in seconds, and half the range; one run before them compiles kernels."""
    result, seconds = work(), []
    for _ in range(repeats):
        start = time.perf_counter()
        result = work()
        seconds.append(time.perf_counter() - start)
    return result, float(np.median(seconds)), float(np.ptp(seconds) / 2)


def infeasible(topology: Topology, rng: np.random.Generator, count: int) -> list[dict[str, float]]:
    """Rates that overload some node, up to three times what fills one alone."""
    model = compile_flows(topology)
    limits = filling_rates(model.total_loads, model.capacities)
    found: list[dict[str, float]] = []
    while len(found) < count:
        rates = 3.0 * limits * rng.uniform(0, 1, len(limits)) ** 2
        if (model.total_loads @ rates > model.capacities).any():
            found.append(dict(zip(model.inputs, rates.tolist(), strict=True)))
    return found


@dataclass(frozen=True, slots=True)
class Checked:
    """How plans did against the program: the largest share of the optimum missed, and the largest share of capacity
    used.
    """

    worst_gap: float
    mean_gap: float
    most_load: float


def checked(
    topology: Topology,
    select: Callable[[dict[str, float]], dict[str, dict[str, float]]],
    points: list[dict[str, float]],
) -> Checked:
    """Every plan pushed through the operators and held against the optimum; more load than capacity ends the
    measurement.
    """
    model = compile_flows(topology)
    tableau, gaps, loads = flow_dictionary(model), [], []
    for rates in points:
        after = replay(topology, rates, select(rates))
        best = float(model.scores @ best_flows(model, tableau, np.array(list(rates.values()))))
        gaps.append(1 - after.score / best)
        loads.append(max(after.loads[n.name] / n.capacity for n in topology.nodes))
    if max(loads) > 1 + 1e-9:
        raise AssertionError(f"a plan loads a node with {max(loads):.6f} of its capacity")
    return Checked(max(gaps), float(np.mean(gaps)), max(loads))


def trace() -> Floats | None:
    """A web site's requests per minute over weeks, at two inputs (the two halves of the time); None where the file
    is absent.
    """
    path = data("http", "nasa-rate-per-second.tbz2")
    if path is None:
        return None
    with tarfile.open(path) as archive:
        file = archive.extractfile(archive.getmembers()[0])
        assert file is not None
        rates = np.array(file.read().split(), dtype=float)
    half = len(rates) // 120
    minutes = rates[: 120 * half].reshape(2 * half, 60).mean(axis=1)
    return np.stack([minutes[:half], minutes[half:]], axis=1)
