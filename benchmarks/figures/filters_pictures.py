"""Pictures of the filter figures, and a report beside each: what the paper shows, what we have, limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot

OUT = Path(__file__).resolve().parents[2] / "docs" / "pictures"


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
    axes.figure.savefig(OUT / f"filters-{title.replace(' ', '-')}.svg", metadata={"Date": None})
    pyplot.close("all")
