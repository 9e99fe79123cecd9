"""Figures 5.12 to 5.17 and table 5.5 of Tatbul's thesis: measured, drawn, and told beside the thesis' own.

    python -m benchmarks.figures.distributed 5.12 table-5.5 --out benchmarks/out --full

writes NAME.json, NAME.md and, where matplotlib is installed, NAME.png for each figure named (all by default).
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import subprocess
from pathlib import Path
from typing import Any

from benchmarks.distributed import FIGURES
from benchmarks.figures.distributed_networks import Row
from benchmarks.figures.distributed_reports import LIMITS, THESIS


def report(name: str, full: bool, seed: int) -> dict[str, Any]:
    """One figure in the form of the bench JSON."""
    return {
        "revision": _git("rev-parse", "HEAD"),
        "dirty": bool(_git("status", "--porcelain")),
        "seed": seed,
        "machine": {"cpu": platform.machine(), "cores": os.cpu_count(), "python": platform.python_version()},
        "limits": LIMITS[name],
        "figures": FIGURES[name](full, seed),
    }


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], capture_output=True, text=True, cwd=Path(__file__).parent, check=False)
    return done.stdout.strip()


def as_text(name: str, found: dict[str, Any]) -> str:
    """The short report: the thesis' figure, ours, and the limits."""
    lines = [
        f"# Tatbul, {'table 5.5' if name.startswith('table') else f'figure {name}'}",
        "",
        "The thesis: " + THESIS[name],
        "",
    ]
    lines += ["| ours | value | unit | bar | holds |", "|---|---|---|---|---|"]
    for r in found["figures"]:
        spread = "" if r["spread"] is None else f" ± {r['spread']:.2g}"
        bar, holds = ("", "") if r["bar"] is None else (r["bar"], "yes" if r["holds"] else "no")
        lines.append(f"| {r['name']} | {r['value']:.4g}{spread} | {r['unit']} | {bar} | {holds} |")
    lines += ["", f"Revision {found['revision'][:12]}{' (dirty)' if found['dirty'] else ''}, seed {found['seed']}.", ""]
    return "\n".join([*lines, "## Limits", "", found["limits"], ""])


def draw(name: str, rows: list[Row], path: Path) -> bool:
    """Bars by unit, logarithmic where values span decades; whether matplotlib was there to draw them."""
    try:
        import matplotlib
    except ImportError:
        return False
    matplotlib.use("Agg")
    from matplotlib import pyplot

    units = list(dict.fromkeys(r["unit"] for r in rows))
    heights = [max(1.2, 0.28 * sum(r["unit"] == unit for r in rows)) for unit in units]
    figure, axes = pyplot.subplots(
        len(units), 1, figsize=(9, sum(heights) + len(units)), squeeze=False, height_ratios=heights
    )
    for axis, unit in zip(axes[:, 0], units, strict=True):
        mine = [r for r in rows if r["unit"] == unit]
        labels = [re.sub(rf"^{re.escape(name.replace('-', ' '))}\w?:? ?", "", r["name"]) for r in mine]
        axis.barh(labels, [r["value"] for r in mine], xerr=[r["spread"] or 0.0 for r in mine], color="#4477aa")
        positive = [r["value"] for r in mine if r["value"] > 0]
        if positive and max(positive) > 30 * min(positive):
            axis.set_xscale("log")
        axis.set_xlabel(unit)
        axis.invert_yaxis()
    figure.suptitle(f"Tatbul, {name}: ours")
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    pyplot.close(figure)
    return True


def main() -> None:
    """Measure and write the figures named on the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"{', '.join(FIGURES)}; all by default")
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/out"))
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    for name in given.names or FIGURES:
        if name not in FIGURES:
            parser.error(f"unknown figure '{name}': known are {', '.join(FIGURES)}")
        found = report(name, given.full, given.seed)
        (given.out / f"distributed-{name}.json").write_text(json.dumps(found, indent=1))
        (given.out / f"distributed-{name}.md").write_text(as_text(name, found))
        drawn = draw(name, found["figures"], given.out / f"distributed-{name}.png")
        failed = [r["name"] for r in found["figures"] if not r["holds"]]
        told = f"bars missed: {', '.join(failed)}" if failed else "all bars held"
        print(f"{name}: {len(found['figures'])} figures, {told}{'' if drawn else ', no picture (install matplotlib)'}")


if __name__ == "__main__":
    main()
