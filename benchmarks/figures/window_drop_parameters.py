"""What the size and the slide of windows do: figures 4.11 and 4.12 of Tatbul's thesis."""

from __future__ import annotations

from itertools import pairwise

from benchmarks.figures.reporting import Row, at_most, row
from benchmarks.figures.window_drop_runs import BATCH, SENSOR, Bench, count
from penstock.plan.drops import Location
from penstock.plan.nodes import Delay

BOX_S = 0.005
SIZES = (20, 40, 60, 80, 100)
SLIDES = (1, 2, 5, 10, 20, 50, 100)
TOLERANCE = 0.02
CHECKED = "subset of the exact answer, and gaps of at most 10 results"


def needed(size: int, slide: int, excess: float, tuples: int, seed: int) -> float:
    """The p that brings a query of this window back to capacity, from what p saves in the lane."""
    aggregate = count(Delay(SENSOR, BOX_S), size, slide)
    bench = Bench({"q": Delay(aggregate, BOX_S)}, tuples)
    at = Location(SENSOR)
    most = bench.most(at)
    whole = bench.run().spent_s
    least = bench.run(bench.window_drop(at, most, seed)).spent_s
    return most * (whole - whole / (1 + excess)) / (whole - least)


def figure_4_11(full: bool, seed: int) -> list[Row]:
    """A quarter over capacity; windows that tumble, and that slide by 1."""
    tuples = 400_000 if full else 100_000
    rows = []
    for name, slide_of, predicted in (("tumbling", lambda size: size, 0.2), ("slide 1", lambda size: 1, 0.4)):
        found = {size: needed(size, slide_of(size), 0.25, tuples, seed) for size in SIZES}
        rows += [row(f"figure 4.11: {name}, windows of {s}", v, "drop rate", checked_against=CHECKED)
                 for s, v in found.items()]  # fmt: skip
        off = max(abs(v - predicted) for v in found.values())
        rows.append(at_most(f"figure 4.11: {name}, off the {predicted:.2f} predicted", off, "drop rate", TOLERANCE,
                            "the cost model of 4.9.2"))  # fmt: skip
    return rows


def figure_4_12(full: bool, seed: int) -> list[Row]:
    """Windows of 100 that slide by 1 to 100."""
    tuples = 400_000 if full else 100_000
    rows = []
    for excess in (0.25, 0.5):
        found = {slide: needed(100, slide, excess, tuples, seed) for slide in SLIDES}
        rows += [row(f"figure 4.12: rate + {excess:.0%}, slide {s}", v, "drop rate needed", checked_against=CHECKED)
                 for s, v in found.items()]  # fmt: skip
        peak = max(found, key=lambda slide: found[slide])
        beyond = [found[s] for s in SLIDES if s >= BATCH]
        falls = all(a > b for a, b in pairwise(beyond))
        rises = found[1] < found[2] < found[5]
        told = f"figure 4.12: rate + {excess:.0%}, slide past which the drop falls"
        rows.append(row(told, peak, "slide", None, BATCH, peak <= BATCH and falls and rises, CHECKED))
    return rows
