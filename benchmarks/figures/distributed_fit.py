"""Figures 5.15 to 5.17 and table 5.5: fan-out, dimensions, the size of tables and of what is sent after a change."""

from __future__ import annotations

import time

import numpy as np

from benchmarks.figures.distributed_networks import Row, chains, checked, fan_out, infeasible, row, timed
from benchmarks.figures.distributed_solver import PROGRAM, division
from penstock.cluster.central import whole_fit
from penstock.cluster.exchange import Exchange
from penstock.cluster.flows import compile_flows
from penstock.cluster.limits import useful_rates
from penstock.cluster.messages import Table
from penstock.cluster.peer import Agreement
from penstock.cluster.planner import plan, solver_space
from penstock.cluster.points import Points, changed_share, eliminated, leaf_points, mapped_back, rate_limits, spreads
from penstock.cluster.quadtree import quadtree
from penstock.cluster.regions import divided
from penstock.cluster.topology import Topology
from penstock.cluster.workload import Exponential

BY_INPUTS = {2: (64.0, 32.0), 4: (32.0, 16.0) * 2, 8: (16.0, 8.0) * 4}
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
        met = gap <= 0.01 + 1e-6
        rows += [
            row(f"5.15 fan-out {branches} Solver", slow, "s", slow_spread, "worst gap <= 1%", met, PROGRAM),
            row(f"5.15 fan-out {branches} C-FIT", fast, "s", fast_spread,
                "ahead of Solver past fan-out 2" if branches > 2 else None, branches <= 2 or fast < slow, PROGRAM),
            row(f"5.15 fan-out {branches} C-FIT rows", len(fit), "rows"),
        ]  # fmt: skip
    return rows


def figure_5_16(full: bool, seed: int) -> list[Row]:
    """Dimensions: Solver-W's expected error after so many programs (a), C-FIT's time to epsilon 10% (b), selection."""
    rows, rng = [], np.random.default_rng(seed)
    for inputs, costs in BY_INPUTS.items():
        topology = chains(costs)
        for programs in (300, 1_000, 3_000) if full else (100, 400):
            rows.append(_converged(topology, inputs, programs))
        start = time.perf_counter()
        planner = plan(topology, 10)
        seconds = time.perf_counter() - start
        result = checked(topology, planner.select, infeasible(topology, rng, 500 if full else 100))
        rows.append(row(f"5.16b C-FIT {inputs} inputs at 10%", seconds, "s", None, "under 60 s, worst gap <= 10%",
                        seconds < 60 and result.worst_gap <= 0.1 + 1e-9, PROGRAM))  # fmt: skip
        rows.append(
            row(
                f"5.16b C-FIT {inputs} inputs worst gap",
                100 * max(result.worst_gap, 0.0),
                "%",
                None,
                None,
                True,
                PROGRAM,
            )
        )
        rows.append(_selection(topology, inputs, rng))
        rows.append(_left_open(topology, inputs, rng, 2_000 if full else 200))
    return rows


def _left_open(topology: Topology, inputs: int, rng: np.random.Generator, programs: int) -> Row:
    """Solver's division at epsilon 10%, stopped: how many selections still meet a region that has to be solved when
    asked.
    """
    planner = plan(topology, 10, "solver", most_plans=programs)
    points = infeasible(topology, rng, 300)
    solved = [planner.choose(rates).plan == "program" for rates in points]
    gap = checked(topology, planner.select, points).worst_gap
    name = f"5.16 Solver {inputs} inputs at 10%, {programs} programs: solved when asked"
    return row(name, 100 * float(np.mean(solved)),
               "% of selections", None, "worst gap <= 10%", gap <= 0.1 + 1e-6, PROGRAM)  # fmt: skip


def _converged(topology: Topology, inputs: int, programs: int) -> Row:
    """Solver-W stopped after so many programs: the expected error that it has reached."""
    space = solver_space(compile_flows(topology), useful_rates(whole_fit(topology, 0.0)))
    start = time.perf_counter()
    regions = divided(space, 0.0, programs, Exponential(np.full(inputs, 3.0)))
    seconds = time.perf_counter() - start
    return row(f"5.16a Solver-W {inputs} inputs after {seconds:.2f} s", 100 * regions.expected, "% expected error")


def _selection(topology: Topology, inputs: int, rng: np.random.Generator) -> Row:
    """The median time of a selection at overloaded points, drops named and all."""
    planner, seconds = plan(topology, 10), []
    for rates in infeasible(topology, rng, 2_000):
        start = time.perf_counter()
        planner.select(rates)
        seconds.append(time.perf_counter() - start)
    low, middle, high = np.percentile(seconds, [10, 50, 90]) * 1e6
    return row(
        f"selection, {inputs} inputs", float(middle), "us", float((high - low) / 2), "under 100 us", middle < 100
    )


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
            row(f"table 5.5 {name}: our rows", len(table), "entries", None, "fewer", len(table) < len(points)),
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


def figure_5_17(full: bool, seed: int) -> list[Row]:
    """D-FIT: table size by epsilon and load (a), entries sent after a selectivity change (b) and a load movement
    (c).
    """
    rows = []
    for scale in (1.0, 0.75, 0.5):
        for epsilon in (1.0, 2.0, 5.0, 10.0) if full else (2.0, 10.0):
            costs = (64.0 * scale, 32.0 * scale)
            entries = len(thesis_points(costs, (32.0, 64.0), epsilon))
            rows.append(row(f"5.17a points, load {100 * scale:.0f}%, epsilon {epsilon:.0f}%", entries, "entries"))
    below = (32.0, 64.0)
    old = thesis_points((64.0, 32.0), below, 5)
    for change in (0.1, 0.3, 0.5):
        new = thesis_points((64.0, 32.0), below, 5, 1 - change)
        for difference in (0.0, 0.05, 0.2):
            share = changed_share(old, new, old.rates @ np.array([1 - change, 1.0]), difference)
            name = f"5.17b points, selectivity -{100 * change:.0f}%, difference {100 * difference:.0f}%"
            rows.append(row(name, 100 * share, "% of entries"))
    return rows + _movements() + _messages()


def _movements() -> list[Row]:
    """Figure 5.17c: cost moved from the parent's first operator to the child's; 24 units reverse the balance."""
    rows, old, floors = [], thesis_points((56.0, 32.0), (32.0, 32.0), 5), dict[float, float]()
    for moved in (8.0, 16.0, 24.0):
        above, below = (56.0 - moved, 32.0), (32.0 + moved, 32.0)
        new = thesis_points(above, below, 5)
        fits = ((old.rates @ np.array(above) <= 1000.0) & (old.rates @ np.array(below) <= 1000.0)).astype(bool)
        for difference in (0.0, 0.05, 0.1, 0.2):
            floors[moved] = 100 * changed_share(old, new, np.where(fits, old.scores, -np.inf), difference)
            name = f"5.17c points, {moved:.0f} moved, difference {100 * difference:.0f}%"
            rows.append(row(name, floors[moved], "% of entries"))
    return rows


def _messages() -> list[Row]:
    """Our own protocol on eight inputs: what is sent after one query changes, after all do, and below the tolerance."""
    costs = BY_INPUTS[8]
    cases = {
        "one selectivity -30%": (chains(costs, costs, 0.7), 0.0, "at most a quarter of the table", 0.25),
        "one operator's cost +50%": (
            chains(costs, (costs[0] * 1.5, *costs[1:])),
            0.0,
            "at most a quarter of the table",
            0.25,
        ),
        "balance reversed": (chains(costs, costs[1:] + costs[:1]), 0.0, None, 1.0),
        "drift of 0.1% under a tolerance of 5%": (chains(costs, (costs[0] * 1.001, *costs[1:])), 0.05, "nothing", 0.0),
    }
    rows = []
    for name, (topology, tolerance, bar, most) in cases.items():
        exchange = Exchange(chains(costs), Agreement(0.1, tolerance))
        exchange.settle()
        whole = len(exchange.peers["B"].fit)
        exchange.sent.clear()
        exchange.change(topology)
        exchange.settle()
        sent = sum(m.entries for m in exchange.sent if isinstance(m, Table)) / whole
        rows.append(row(f"5.17 our messages, {name}", 100 * sent, "% of the table", None, bar, sent <= most))
    return rows
