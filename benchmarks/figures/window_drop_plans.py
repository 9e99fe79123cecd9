"""Where drops stand on nested and shared plans: figures 4.8 and 4.10 of Tatbul's thesis."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from benchmarks.figures.reporting import Row, at_most, row
from benchmarks.figures.window_drop_runs import SENSOR, Bench, count
from penstock.plan.drops import Location, Placed, RandomDrop
from penstock.plan.node import Node
from penstock.plan.nodes import Delay

UNIT_S = 1e-4
"""A third of what a reading costs."""
EXCESS = (10, 25, 40, 50, 65, 80, 100, 150)
"""Percent by which the input is over capacity."""
CHECKED = "subset of the exact answer, and gaps of at most 10 results"
Plan = Callable[[float], Sequence[Placed]]


def figure_4_8(full: bool, seed: int) -> list[Row]:
    """Nested windows of 10 and 100, each third of the query equally costly."""
    inner = count(Delay(SENSOR, UNIT_S), 10, 10)
    middle = Delay(inner, 10 * UNIT_S)
    outer = count(middle, 100, 100)
    bench = Bench({"q": Delay(outer, 100 * UNIT_S)}, 1_000_000 if full else 300_000)
    at_input, between = Location(SENSOR), Location(inner, middle, 0)
    found = {
        "RDrop": _curve(bench, lambda p: [(_behind(bench, outer), RandomDrop(p, seed))], 1.0),
        "Nested1": _curve(bench, lambda p: [bench.window_drop(between, p, seed)], bench.most(between)),
        "Nested2": _curve(bench, lambda p: [bench.window_drop(at_input, p, seed)], bench.most(at_input)),
    }
    rows = _rows("figure 4.8", found)
    worst = max(b - a for a, b in zip(found["Nested1"], found["Nested2"], strict=True))
    rows.append(at_most("figure 4.8: Nested2 beyond Nested1, at worst", worst, "drop rate", 0.01, CHECKED))
    dead = {name: next((e for e, d in zip(EXCESS, curve, strict=True) if d >= 1), EXCESS[-1] + 1)
            for name, curve in found.items()}  # fmt: skip
    first = dead["RDrop"] < min(dead["Nested1"], dead["Nested2"])
    rows.append(row("figure 4.8: excess at which RDrop delivers nothing", dead["RDrop"], "percent", None, 65,
                    first and dead["RDrop"] <= 65, CHECKED))  # fmt: skip
    return rows


def figure_4_10(full: bool, seed: int) -> list[Row]:
    """Two queries behind one split."""
    shared = Delay(SENSOR, UNIT_S)
    sides = {size: Delay(shared, UNIT_S / 2) for size in (10,)} | {20: Delay(shared, UNIT_S / 2 * (1 + 1e-9))}
    tops = {size: count(side, size, size) for size, side in sides.items()}
    roots: dict[str, Node] = {f"q{size}": Delay(top, size * UNIT_S / 2) for size, top in tops.items()}
    bench = Bench(roots, 1_000_000 if full else 300_000)
    arcs = [Location(shared, side, 0) for side in sides.values()]
    late = [_behind(bench, top) for top in tops.values()]
    found = {
        "Split_RDrop": _curve(bench, lambda p: [(at, RandomDrop(p, seed)) for at in late], 1.0),
        "Split_WinDrop": _curve(bench, lambda p: [bench.window_drop(at, p, seed) for at in arcs], bench.most(arcs[0])),
        "Shared_WinDrop": _curve(bench, lambda p: [bench.window_drop(Location(SENSOR), p, seed)],
                                 bench.most(Location(SENSOR))),
    }  # fmt: skip
    rows = _rows("figure 4.10", found)
    for better, worse in (("Shared_WinDrop", "Split_WinDrop"), ("Split_WinDrop", "Split_RDrop")):
        over = max(a - b for a, b in zip(found[better], found[worse], strict=True))
        rows.append(at_most(f"figure 4.10: {better} beyond {worse}, at worst", over, "drop rate", 0.01, CHECKED))
    return rows


def _behind(bench: Bench, top: Node) -> Location:
    """The arc from an aggregate into the delay box behind it."""
    root = next(r for r in bench.roots.values() if r.inputs[0] == top)
    return Location(top, root, 0)


def _curve(bench: Bench, plan: Plan, most: float) -> list[float]:
    """The drop rate at each excess: the least p under which the lane is not busy for longer than it has time, 1 where
    no p is enough. What p saves is a straight line; the drop rate is that of a run under the p that it gives."""
    whole = bench.run().spent_s
    least = bench.run(*plan(most)).spent_s
    rates = []
    for excess in EXCESS:
        capacity_s = whole / (1 + excess / 100)
        rate = most * (whole - capacity_s) / (whole - least)
        if rate > most:
            rates.append(1.0)
            continue
        done = bench.run(*plan(rate))
        if done.spent_s > 1.02 * capacity_s:
            raise AssertionError(f"the lane is busy for {done.spent_s / capacity_s:.3f} of its time")
        rates.append(done.missing)
    return rates


def _rows(figure: str, found: dict[str, list[float]]) -> list[Row]:
    return [
        row(f"{figure}: {name} at {excess}% excess", rate, "drop rate", checked_against=CHECKED)
        for name, curve in found.items()
        for excess, rate in zip(EXCESS, curve, strict=True)
    ]
