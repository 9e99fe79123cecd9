"""Runs benchmarks and writes their figures with what they depend on: revision, seed, machine, limits."""

from __future__ import annotations

import importlib
import inspect
import json
import os
import platform
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from penstock.errors import PenstockError, unknown

NAMES: Final = ("lane", "spark", "shedding", "control", "filters", "distributed")
ROOT: Final = Path(__file__).resolve().parents[2]
Figure = dict[str, Any]


def run_benchmark(name: str | None, json_file: Path | None, full: bool, seed: int, say: Callable[[str], None]) -> None:
    """Runs the benchmark `name` (all of them for None), or a part of it such as `control-lane`, prints each figure and
    writes them to `json_file`."""
    whole, _, part = (name or "").partition("-")
    if name is not None and whole not in NAMES:
        raise PenstockError(unknown("benchmark", whole, NAMES))
    report = _surroundings(seed)
    limits: list[str] = []
    figures: list[Figure] = []
    for each in (whole,) if whole else NAMES:
        module = _part(each, part) if part else _module(each)
        limits.extend(getattr(module, "LIMITS", ()))
        for figure in (module.figures if part else module.run)(full=full, seed=seed):
            figures.append(figure)
            say(describe(figure))
    if json_file is not None:
        json_file.write_text(json.dumps({**report, "limits": limits, "figures": figures}, indent=2), encoding="utf-8")


def describe(figure: Figure) -> str:
    """A figure on one line.

    >>> describe({"name": "join", "value": 8.1e6, "unit": "elements/s", "spread": 2e5, "bar": 5e6, "holds": True})
    'holds  join: 8.1e+06 elements/s (spread 2e+05, bar 5e+06)'
    """
    verdict = "holds" if figure["holds"] else "FAILS"
    bar = "" if figure["bar"] is None else f", bar {figure['bar']:g}"
    spread = "" if figure["spread"] is None else f"spread {figure['spread']:.3g}"
    inside = (spread + bar).removeprefix(", ")
    return f"{verdict}  {figure['name']}: {figure['value']:.4g} {figure['unit']}" + (f" ({inside})" if inside else "")


def _module(name: str) -> Any:
    try:
        return importlib.import_module(f"benchmarks.{name}")
    except ModuleNotFoundError as error:
        if error.name not in ("benchmarks", f"benchmarks.{name}"):
            raise PenstockError(
                f"the benchmark '{name}' needs the package '{error.name}': run it with ./penstockw"
            ) from None
        raise PenstockError("the benchmarks are part of the source checkout: run ./penstockw bench there") from None


def _part(name: str, part: str) -> Any:
    """The part of a benchmark that goes by this name: `lane` of `control` is `benchmarks.control_lane`."""
    listed = getattr(_module(name), "PARTS", ())
    alone = [p for p in listed if list(inspect.signature(p.figures).parameters) == ["full", "seed"]]
    parts = {p.__name__.rpartition(f"{name}_")[2].rpartition(".")[2].replace("_", "-"): p for p in alone}
    if part not in parts:
        raise PenstockError(unknown(f"part of the benchmark '{name}'", part, list(parts)))
    return parts[part]


def _surroundings(seed: int) -> dict[str, Any]:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    machine = (
        f"{platform.machine()}, {os.cpu_count()} cores, {memory / 2**30:.0f} GiB, Python {platform.python_version()}"
    )
    revision = _git("rev-parse", "HEAD")
    return {"revision": revision, "dirty": bool(_git("status", "--porcelain")), "seed": seed, "machine": machine}


def _git(*arguments: str) -> str:
    try:
        done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True, timeout=30)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip()
