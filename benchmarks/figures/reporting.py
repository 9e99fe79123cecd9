"""What every figure script writes: the JSON of its figures, a picture, and a short report with the paper's numbers
beside ours and the limits.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import subprocess
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Row = dict[str, Any]
Measure = Callable[[bool, int], Iterable[Row]]
ROOT = Path(__file__).resolve().parents[2]


def row(
    name: str,
    value: float,
    unit: str,
    spread: float | None = None,
    bar: float | None = None,
    holds: bool = True,
    checked_against: str | None = None,
) -> Row:
    """One figure of the bench report."""
    return {"name": name, "value": float(value), "unit": unit, "spread": spread, "bar": bar, "holds": bool(holds),
            "checked_against": checked_against}  # fmt: skip


def at_most(name: str, value: float, unit: str, bar: float, checked_against: str | None = None) -> Row:
    """A figure that may not exceed its bar."""
    return row(name, value, unit, None, bar, value <= bar, checked_against)


def at_least(name: str, value: float, unit: str, bar: float, checked_against: str | None = None) -> Row:
    """A figure that must reach its bar."""
    return row(name, value, unit, None, bar, value >= bar, checked_against)


def data(*parts: str) -> Path | None:
    """A file of recorded data below the directory that PENSTOCK_DATA names, else below `shared/data` beside the
    checkout or above it; None where it is not there.
    """
    told = os.environ.get("PENSTOCK_DATA")
    places = [Path(told)] if told else [parent / "shared" / "data" for parent in ROOT.parents]
    return next((found for place in places if (found := place.joinpath(*parts)).exists()), None)


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure of a paper: `told` is what the paper says it shows, `limits` what ours leaves open."""

    title: str
    told: str
    limits: str
    measure: Measure


def report(figure: Figure, full: bool, seed: int) -> dict[str, Any]:
    """One figure in the form of the bench JSON."""
    return {
        "revision": _git("rev-parse", "HEAD"),
        "dirty": bool(_git("status", "--porcelain")),
        "seed": seed,
        "machine": {"cpu": platform.machine(), "cores": os.cpu_count(), "python": platform.python_version()},
        "limits": [figure.limits],
        "figures": list(figure.measure(full, seed)),
    }


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], capture_output=True, text=True, cwd=ROOT, check=False)
    return done.stdout.strip()


def as_text(figure: Figure, found: dict[str, Any]) -> str:
    """The short report: the paper's figure, ours, and the limits."""
    lines = [f"# {figure.title}", "", "The paper: " + figure.told, ""]
    lines += ["| ours | value | unit | bar | holds |", "|---|---|---|---|---|"]
    for r in found["figures"]:
        spread = "" if r["spread"] is None else f" ± {r['spread']:.2g}"
        bar, holds = ("", "") if r["bar"] is None else (f"{r['bar']:.4g}", "yes" if r["holds"] else "no")
        lines.append(f"| {r['name']} | {r['value']:.4g}{spread} | {r['unit']} | {bar} | {holds} |")
    lines += ["", f"Revision {found['revision'][:12]}{' (dirty)' if found['dirty'] else ''}, seed {found['seed']}.", ""]
    return "\n".join([*lines, "## Limits", "", *found["limits"], ""])


def draw(figure: Figure, rows: list[Row], path: Path) -> bool:
    """Bars by unit, logarithmic where values span decades; whether matplotlib was there to draw them."""
    try:
        import matplotlib
    except ImportError:
        return False
    matplotlib.use("Agg")
    from matplotlib import pyplot

    units = list(dict.fromkeys(r["unit"] for r in rows))
    heights = [max(1.2, 0.28 * sum(r["unit"] == unit for r in rows)) for unit in units]
    drawing, axes = pyplot.subplots(
        len(units), 1, figsize=(9, sum(heights) + len(units)), squeeze=False, height_ratios=heights
    )
    for axis, unit in zip(axes[:, 0], units, strict=True):
        mine = [r for r in rows if r["unit"] == unit]
        labels = [re.sub(r"^(figure |table )?[\d.-]+\w?:? ", "", r["name"]) for r in mine]
        axis.barh(labels, [r["value"] for r in mine], xerr=[r["spread"] or 0.0 for r in mine], color="#4477aa")
        positive = [r["value"] for r in mine if r["value"] > 0]
        if positive and max(positive) > 30 * min(positive):
            axis.set_xscale("log")
        axis.set_xlabel(unit)
        axis.invert_yaxis()
    drawing.suptitle(figure.title)
    drawing.tight_layout()
    drawing.savefig(path, dpi=110)
    pyplot.close(drawing)
    return True


def write_figures(figures: Mapping[str, Figure], prefix: str, about: str | None) -> None:
    """The command line of a figure script: measure the figures named and write PREFIX-NAME.json, .md and .png."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"{', '.join(figures)}; all by default")
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/out"))
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    for name in given.names or figures:
        if name not in figures:
            parser.error(f"unknown figure '{name}': known are {', '.join(figures)}")
        print(f"{name}: {_write(figures[name], given.out / f'{prefix}-{name}', given.full, given.seed)}")


def _write(figure: Figure, place: Path, full: bool, seed: int) -> str:
    """Measure one figure, write its three files, and say how it did."""
    found = report(figure, full, seed)
    place.with_name(place.name + ".json").write_text(json.dumps(found, indent=1))
    place.with_name(place.name + ".md").write_text(as_text(figure, found))
    drawn = draw(figure, found["figures"], place.with_name(place.name + ".png"))
    failed = [r["name"] for r in found["figures"] if not r["holds"]]
    told = f"bars missed: {', '.join(failed)}" if failed else "all bars held"
    return f"{len(found['figures'])} figures, {told}{'' if drawn else ', no picture (install matplotlib)'}"
