"""Figures 5.15, 5.16 and table 5.5: fan-out, dimensions, the size of tables."""

from __future__ import annotations

import time

import numpy as np

from benchmarks.figures.distributed_networks import chains, checked, fan_out, infeasible, split_chains, timed
from benchmarks.figures.distributed_solver import PROGRAM, division
from benchmarks.figures.reporting import Row, at_least, at_most, row
from penstock.cluster.central import whole_fit
from penstock.cluster.flows import compile_flows
from penstock.cluster.limits import useful_rates
from penstock.cluster.planner import plan, solver_space
from penstock.cluster.points import Points, eliminated, leaf_points, mapped_back, rate_limits, spreads
from penstock.cluster.quadtree import quadtree
from penstock.cluster.regions import divided
from penstock.cluster.topology import Topology
from penstock.cluster.workload import Exponential

BY_INPUTS = {2: (64.0, 32.0), 4: (32.0, 16.0) * 2, 8: (16.0, 8.0) * 4}
SELECTION_US = 100.0
THESIS_ENTRIES = {2: 46, 4: 984, 8: 42_472}


def figure_5_15(full: bool, seed: int) -> list[Row]:
    """Plan generation by fan-out at epsilon 1%."""
    rows, rng = [], np.random.default_rng(seed)
    for branches in (2, 4, 8, 16, 32) if full else (2, 4, 8, 16):
        topology = fan_out(branches, seed)
        points = infeasible(topology, rng, 40)
        gap = max(checked(topology, plan(topology, 1, m).select, points).worst_gap for m in ("solver", "c-fit"))
        _, slow, slow_spread = timed(lambda t=topology: division(t, 0.01), 1)  # type: ignore[misc]
        fit, fast, fast_spread = timed(lambda t=topology: whole_fit(t, 0.01), 3)  # type: ignore[misc]
        rows += [
            at_most(f"5.15 fan-out {branches} worst gap at 1%", 100 * max(gap, 0.0), "%", 1.0 + 1e-4, PROGRAM),
            row(f"5.15 fan-out {branches} Solver", slow, "s", slow_spread),
            row(f"5.15 fan-out {branches} C-FIT", fast, "s", fast_spread),
            row(f"5.15 fan-out {branches} C-FIT rows", len(fit), "rows"),
        ]
        ahead = f"5.15 fan-out {branches} C-FIT ahead of Solver"
        rows.append(at_least(ahead, slow / fast, "times", 1.0) if branches > 2 else row(ahead, slow / fast, "times"))
    return rows


def figure_5_16(full: bool, seed: int) -> list[Row]:
    """Dimensions: Solver-W's expected error after so many programs (a), C-FIT's time to epsilon 10% (b), selection."""
    rows, rng = [], np.random.default_rng(seed)
    for inputs, costs in BY_INPUTS.items():
        topology = chains(costs)
        for programs in (300, 1_000, 3_000) if full else (100, 400):
            rows.append(_converged(topology, inputs, programs))
        for name, network in {"": topology, " with splits": split_chains(costs)}.items():
            rows += _guaranteed(network, f"5.16b C-FIT {inputs} inputs{name}", rng, 500 if full else 100)
            rows.append(_selection(network, f"selection, {inputs} inputs{name}", rng))
        rows += _left_open(topology, inputs, rng, 2_000 if full else 200)
    return rows


def _guaranteed(topology: Topology, name: str, rng: np.random.Generator, points: int) -> list[Row]:
    """How long C-FIT takes to epsilon 10%, and what it misses of the optimum at most."""
    start = time.perf_counter()
    planner = plan(topology, 10)
    seconds = time.perf_counter() - start
    gap = checked(topology, planner.select, infeasible(topology, rng, points)).worst_gap
    return [
        at_most(f"{name} at 10%", seconds, "s", 60.0, PROGRAM),
        at_most(f"{name} worst gap", 100 * max(gap, 0.0), "%", 10.0, PROGRAM),
    ]


def _left_open(topology: Topology, inputs: int, rng: np.random.Generator, programs: int) -> list[Row]:
    """Solver's division at epsilon 10%, stopped: how many selections still meet a region that has to be solved when
    asked.
    """
    planner = plan(topology, 10, "solver", most_plans=programs)
    points = infeasible(topology, rng, 300)
    solved = [planner.choose(rates).plan == "program" for rates in points]
    gap = checked(topology, planner.select, points).worst_gap
    name = f"5.16 Solver {inputs} inputs at 10%, {programs} programs:"
    return [
        row(f"{name} solved when asked", 100 * float(np.mean(solved)), "% of selections"),
        at_most(f"{name} worst gap", 100 * max(gap, 0.0), "%", 10.0, PROGRAM),
    ]


def _converged(topology: Topology, inputs: int, programs: int) -> Row:
    """Solver-W stopped after so many programs: the expected error that it has reached."""
    space = solver_space(compile_flows(topology), useful_rates(whole_fit(topology, 0.0)))
    start = time.perf_counter()
    regions = divided(space, 0.0, programs, Exponential(np.full(inputs, 3.0)))
    seconds = time.perf_counter() - start
    return row(f"5.16a Solver-W {inputs} inputs after {seconds:.2f} s", 100 * regions.expected, "% expected error")


def _selection(topology: Topology, name: str, rng: np.random.Generator) -> Row:
    """The median time of a selection at overloaded points, drops named and all."""
    planner, seconds = plan(topology, 10), []
    for rates in infeasible(topology, rng, 2_000):
        start = time.perf_counter()
        planner.select(rates)
        seconds.append(time.perf_counter() - start)
    low, middle, high = np.percentile(seconds, [10, 50, 90]) * 1e6
    return row(name, middle, "us", float((high - low) / 2), SELECTION_US, middle < SELECTION_US)


def thesis_points(
    costs: tuple[float, ...], below: tuple[float, ...], epsilon: float, selectivity: float = 1.0
) -> Points:
    """The table of points that the thesis would send from B and keep at A (`points`)."""
    gains = np.ones(len(costs))
    gains[0] = selectivity
    spread = spreads(rate_limits(np.array(below), 1000.0), epsilon)
    child = leaf_points(np.array(below), gains, spread, 1000.0)
    return eliminated(mapped_back(child, np.ones(len(costs))), np.array(costs), 1000.0)


def table_5_5(full: bool, seed: int) -> list[Row]:
    """Entries at epsilon 10%: the thesis, its points on our reading of its networks, and our rows; and how far
    points are off.
    """
    rows, rng = [], np.random.default_rng(seed)
    networks = {f"{n} inputs": (costs, costs) for n, costs in BY_INPUTS.items()}
    networks["figure 5.1, 2 inputs"] = ((1000.0, 2000.0), (3000.0, 1000.0))
    for name, (above, below) in networks.items():
        topology, points = chains(above, below), thesis_points(above, below, 10)
        table, told = whole_fit(topology, 0.1), f"the thesis: {THESIS_ENTRIES[len(above)]} (its loads are lost)"
        index = quadtree(points)
        gap = checked(
            topology,
            lambda rates, i=index: _to_point(rates, i),  # type: ignore[misc]
            infeasible(topology, rng, 300 if full else 100),
        ).worst_gap
        rows += [
            row(f"table 5.5 {name}: points", len(points), "entries", checked_against=told),
            row(f"table 5.5 {name}: our rows", len(table), "entries"),
            at_most(f"table 5.5 {name}: our rows per point", len(table) / len(points), "times", 1.0),
            row(f"table 5.5 {name}: bytes", points.bytes_per_entry, "bytes per point"),
            row(f"table 5.5 {name}: worst gap of points at 10%", 100 * gap, "%", checked_against=PROGRAM),
        ]
    return rows


def _to_point(rates: dict[str, float], index: object) -> dict[str, dict[str, float]]:
    """The drops that bring an observation down to its point."""
    given = np.array(list(rates.values()))
    point = index.table.rates[index.find(given)]  # type: ignore[attr-defined]
    shares = np.divide(point, given, out=np.ones_like(given), where=given > point)
    return {"A": {name: 1 - share for name, share in zip(rates, shares.tolist(), strict=True)}}
