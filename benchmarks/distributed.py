"""`penstock bench distributed`: plan generation, table sizes and messages of distributed load shedding, checked
before timed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from benchmarks.figures.distributed_fit import figure_5_15, figure_5_16, table_5_5
from benchmarks.figures.distributed_messages import figure_5_17
from benchmarks.figures.distributed_reports import LIMITS as LEFT_OPEN
from benchmarks.figures.distributed_reports import THESIS
from benchmarks.figures.distributed_solver import figure_5_12, figure_5_13, figure_5_14
from benchmarks.figures.reporting import Figure, Row

_MEASURES: dict[str, Callable[[bool, int], list[Row]]] = {
    "5.12": figure_5_12,
    "5.13": figure_5_13,
    "5.14": figure_5_14,
    "5.15": figure_5_15,
    "5.16": figure_5_16,
    "5.17": figure_5_17,
    "table-5.5": table_5_5,
}
FIGURES = {
    name: Figure(f"Tatbul, {'table 5.5' if name.startswith('table') else f'figure {name}'}",
                 THESIS[name], LEFT_OPEN[name], measure)
    for name, measure in _MEASURES.items()
}  # fmt: skip
LIMITS = tuple(f"{name}: {text}" for name, text in LEFT_OPEN.items())


def run(full: bool, seed: int) -> Iterator[Row]:
    """The figures of section 5.7, in the form of the bench report."""
    for figure in FIGURES.values():
        yield from figure.measure(full, seed)
