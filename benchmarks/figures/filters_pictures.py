"""Pictures of the filter figures: the curves and bars that the thesis shows, of ours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot
from matplotlib.axes import Axes

OUT = Path(__file__).resolve().parents[2] / "benchmarks" / "out"


def lines(title: str, x_label: str, y_label: str, x: Sequence[object], series: Mapping[str, Sequence[float]]) -> None:
    """One line an algorithm, as `filters-<title>.svg`."""
    axes = pyplot.figure(figsize=(5, 3.2)).add_subplot()
    for name, values in series.items():
        axes.plot([str(v) for v in x], values, marker="o" if len(x) < 30 else None, label=name, linewidth=1.2)
    axes.set_xlabel(x_label)
    axes.set_ylabel(y_label)
    axes.set_title(title)
    axes.set_ylim(bottom=0)
    if len(x) > 12:
        axes.xaxis.set_major_locator(pyplot.MaxNLocator(8))
    axes.legend(fontsize=7)
    axes.figure.tight_layout()  # type: ignore[union-attr]
    _save(axes, title)


def bars(title: str, shares: Mapping[str, Mapping[str, float]], parts: Sequence[str]) -> None:
    """One bar each, of its parts as shares of the time, as `filters-<title>.svg`."""
    axes = pyplot.figure(figsize=(6, 3.2)).add_subplot()
    below = [0.0] * len(shares)
    for part in parts:
        values = [max(0.0, each[part]) for each in shares.values()]
        axes.bar(list(shares), values, bottom=below, label=part)
        below = [b + v for b, v in zip(below, values, strict=True)]
    axes.set_ylabel("share of processor time")
    axes.set_title(title)
    axes.tick_params(axis="x", labelrotation=30, labelsize=7)
    axes.legend(fontsize=7, loc="lower right")
    axes.figure.tight_layout()  # type: ignore[union-attr]
    _save(axes, title)


def _save(axes: Axes, title: str) -> None:
    OUT.mkdir(parents=True, exist_ok=True)
    axes.figure.savefig(OUT / f"filters-{title.replace(' ', '-')}.svg", metadata={"Date": None})  # type: ignore[union-attr]
    pyplot.close("all")
