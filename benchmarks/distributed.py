"""`penstock bench distributed`: plan generation, table sizes and messages of distributed load shedding, checked
before timed.
"""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.figures.distributed_fit import figure_5_15, figure_5_16, figure_5_17, table_5_5
from benchmarks.figures.distributed_networks import Row
from benchmarks.figures.distributed_solver import figure_5_12, figure_5_13, figure_5_14

FIGURES: dict[str, Callable[[bool, int], list[Row]]] = {
    "5.12": figure_5_12,
    "5.13": figure_5_13,
    "5.14": figure_5_14,
    "5.15": figure_5_15,
    "5.16": figure_5_16,
    "5.17": figure_5_17,
    "table-5.5": table_5_5,
}


def run(full: bool, seed: int) -> list[Row]:
    """The figures of section 5.7, in the form of the bench report."""
    return [row for measure in FIGURES.values() for row in measure(full, seed)]
