"""`penstock demo`: the same overload without shedding and with it, in about a minute, and a report of both."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np

from penstock.console.charts import Line, chart, page, stacked
from penstock.console.overload import Phase, Seen, between, capacity, kept_rate, overloaded
from penstock.errors import PenstockError

DELAY_S: Final = 2.0
MEASURED: Final[tuple[Phase, ...]] = ((2.0, 500.0), (6.0, 30_000.0))
"""More than any machine works off: what is worked off is the capacity."""
CALM_S: Final = 4.0
BURST_S: Final = 12.0
SETTLING_S: Final = 4.0
"""From then on the burst is judged."""
CALM: Final = 0.3
BURST: Final = 2.0
"""Times the capacity."""
BEFORE: Final = "without shedding"
AFTER: Final = "with shedding"
Say = Callable[[str], None]


@dataclass(slots=True)
class Show:
    """What has been seen so far of both runs."""

    phase: str = "starting"
    capacity: float = 0.0
    seen: dict[str, list[Seen]] = field(default_factory=lambda: {BEFORE: [], AFTER: []})


def run_demo(report: Path, picture: Path | None = None, master: str = "local[2]") -> None:
    """Runs the demo and writes its report, and its picture where one is asked for."""
    show = Show()
    with tempfile.TemporaryDirectory(prefix="penstock-demo-") as folder, _told(show) as tell:
        tell("measuring what this machine can work off")
        measured = overloaded(Path(folder) / "measured", MEASURED, None, lambda s: None, 0.0, master=master)
        show.capacity = capacity(measured)
        if not show.capacity:
            raise PenstockError("the machine was too busy to measure what it can work off; try again when it is quiet")
        phases = ((CALM_S, CALM * show.capacity), (BURST_S, BURST * show.capacity), (CALM_S, CALM * show.capacity))
        for name, delay_s in ((BEFORE, None), (AFTER, DELAY_S)):
            tell(f"{name}: a burst of {BURST:g} times {show.capacity:,.0f} rows a second")
            overloaded(Path(folder) / "run", phases, delay_s, _adding(show, name, tell), 1.0, master=master)
    for label, before, after in facts(show):
        print(f"{label:<34}{before:>20}{after:>20}")
    charts = drawn(show)
    _write(report, page("Penstock under overload", facts(show), ("", BEFORE, AFTER), charts))
    if picture is not None:
        _write(picture, stacked(charts))
    print(f"report: {report}")


def _adding(show: Show, name: str, tell: Say) -> Callable[[Seen], None]:
    def add(seen: Seen) -> None:
        show.seen[name].append(seen)
        p99 = "" if seen.p99_s is None else f", slowest {seen.p99_s:.1f} s"
        tell(f"{name} {seen.at_s:5.1f} s: {seen.came:,} rows came, {seen.kept:,} kept{p99}")

    return add


@contextmanager
def _told(show: Show) -> Iterator[Say]:
    """Says how it goes: a live view in a terminal, at most a line a second without one."""
    if not sys.stdout.isatty():
        yield lambda text: print(text, flush=True)
        return
    from rich.live import Live

    from penstock.console.view import duration, sparkline

    with Live(refresh_per_second=4) as live:

        def tell(text: str) -> None:
            lines = [text, ""]
            for name, listed in show.seen.items():
                slow = [s.p99_s or 0.0 for s in listed][-40:]
                now = duration(slow[-1]) if slow else ""
                lines.append(f"{name:<18} slowest {now:>9}  {sparkline(slow)}")
            live.update("\n".join(lines))

        yield tell


def facts(show: Show) -> list[tuple[str, str, str]]:
    """What the two runs were, side by side."""
    before, after = (show.seen[name] for name in (BEFORE, AFTER))
    start_s, end_s = CALM_S + SETTLING_S, CALM_S + BURST_S
    rows: list[tuple[str, Callable[[Sequence[Seen]], str]]] = [
        (f"p99 in the burst, from {SETTLING_S:g} s on", lambda s: _seconds(late_p99(s, start_s, end_s))),
        ("worked off then, of the capacity", lambda s: f"{kept_rate(s, start_s, end_s) / show.capacity:.0%}"),
        ("slowest result", lambda s: _seconds(max((x.p99_s or 0.0 for x in s), default=None))),
        ("rows that came", lambda s: f"{sum(x.came for x in s):,}"),
        ("rows kept", lambda s: f"{sum(x.kept for x in s):,}"),
    ]
    return [(label, value(before), value(after)) for label, value in rows]


def late_p99(seen: Sequence[Seen], start_s: float, end_s: float) -> float | None:
    """The 99th percentile of the results of batches that ended in this time, by their own percentiles."""
    chosen = [s for s in between(seen, start_s, end_s) if s.p99_s is not None and s.results]
    if not chosen:
        return None
    order = sorted(chosen, key=lambda s: s.p99_s or 0.0)
    reached = np.cumsum([s.results for s in order])
    return order[int(np.searchsorted(reached, 0.99 * reached[-1]))].p99_s


def drawn(show: Show) -> list[str]:
    """Response times, and rows that came and were kept."""
    before, after = (show.seen[name] for name in (BEFORE, AFTER))
    last = max((s.at_s for s in [*before, *after]), default=1.0)
    slow = [Line(name, colour, [(s.at_s, s.p99_s) for s in seen if s.p99_s is not None])
            for name, colour, seen in ((BEFORE, "#c0392b", before), (AFTER, "#1f7a4d", after))]  # fmt: skip
    target = Line("target", "#5b7083", [(0.0, DELAY_S), (last, DELAY_S)], "6 4")
    came = Line("came", "#5b7083", _a_second(after, lambda s: s.came))
    kept = Line("kept", "#1f7a4d", _a_second(after, lambda s: s.kept))
    return [
        chart("99th percentile of response times", "seconds", [*slow, target]),
        chart("with shedding: rows", "a second", [came, kept]),
    ]


def _a_second(seen: Sequence[Seen], count: Callable[[Seen], int]) -> list[tuple[float, float]]:
    whole: dict[int, float] = {}
    for s in seen:
        whole[int(s.at_s)] = whole.get(int(s.at_s), 0.0) + count(s)
    return sorted((float(at), rows) for at, rows in whole.items())


def _seconds(value: float | None) -> str:
    return "" if value is None else f"{value:.2f} s"


def _write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise PenstockError(f"cannot write {path}: {error.strerror}") from None
