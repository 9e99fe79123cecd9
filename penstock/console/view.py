"""The live view of a run: one look at it, drawn for a terminal with Rich."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from penstock.console.watch import Flow, Loss, Now, Response

BLOCKS: Final = " ▁▂▃▄▅▆▇█"
COLOURS: Final = {"gate": "cyan", "lanes": "green", "state": "yellow", "sink": "magenta"}
BAR: Final = 40
MOST: Final = 12
"""So many queries or losses are listed; of more, the rest is one line."""


def picture(now: Now, title: str) -> RenderableType:
    """The whole view."""
    parts: list[RenderableType] = [_head(now, title), _streams(now), _queries(now), _time(now)]
    if now.losses:
        parts.append(_losses(now.losses))
    if notes := trouble(now):
        parts.append(Text("  " + "; ".join(notes), style="yellow"))
    return Group(*parts)


def _head(now: Now, title: str) -> RenderableType:
    minutes, seconds = divmod(int(now.elapsed_s), 60)
    batch = now.beginning if now.batch is None else f"batch {now.batch:,}"
    return Text.assemble((title, "bold"), f"   {minutes}:{seconds:02d}   {batch}   shedding {now.mode}")


def _streams(now: Now) -> RenderableType:
    table = _table("input", "rows/s", "rows")
    for flow in _few(now.inputs):
        table.add_row(flow.name, number(flow.per_s), number(flow.rows))
    side = Table.grid(padding=(0, 4))
    side.add_row(table, Text("\n" + sparkline(now.history[-BAR:]), style="cyan"))
    return side


def _queries(now: Now) -> RenderableType:
    table = _table("query", "results/s", "results", "response", "p50", "p99", "target")
    for flow, response in zip(_few(now.results), _few(now.responses), strict=True):
        style = "red" if response.late else "green" if response.target is not None else ""
        times = (response.now, response.p50, response.p99)
        cells = [Text(duration(t), style=style if i == 0 else "") for i, t in enumerate(times)]
        name = Text(flow.name, style="strike" if flow.name in now.shut_down else "")
        table.add_row(name, number(flow.per_s), number(flow.rows), *cells, duration(response.target))
    if len(now.results) > MOST:
        rest = now.results[MOST:]
        total = sum(f.per_s for f in rest), sum(f.rows for f in rest)
        table.add_row(f"{len(rest)} more", *map(number, total), "", "", "", "")
    return table


def _time(now: Now) -> RenderableType:
    """A bar of the batch's time, part by part."""
    whole = now.batch_s
    line = Text(f"  batch {duration(whole) if whole else '-':>7}  ")
    for part, seconds in now.seconds.items():
        line.append("█" * round(BAR * seconds / whole) if whole else "", style=COLOURS[part])
    line.append("  ")
    for part, seconds in now.seconds.items():
        line.append(f"{part} {duration(seconds)}  ", style=COLOURS[part])
    return line


def _losses(losses: Sequence[Loss]) -> RenderableType:
    table = _table("dropped", "rows/s", "rows", "why", "missed by")
    for loss in sorted(losses, key=lambda loss: -loss.rows)[:MOST]:
        table.add_row(loss.location, number(loss.per_s), number(loss.rows), loss.reason, ", ".join(loss.queries))
    return table


def trouble(now: Now) -> list[str]:
    """What a person should know besides: rows that were no use, queries that were shut down."""
    notes = [f"{rows:,} malformed: {stream}: {why}" for (stream, why), rows in sorted(now.malformed.items())]
    notes += [f"{rows:,} set aside: {function} failed" for function, rows in sorted(now.set_aside.items()) if rows]
    notes += [f"{now.late:,} late"] if now.late else []
    return notes + ([f"shut down: {', '.join(now.shut_down)}"] if now.shut_down else [])


def _table(first: str, *numbers: str) -> Table:
    table = Table(box=None, padding=(0, 2), header_style="dim")
    table.add_column(first, no_wrap=True, max_width=48)
    for name in numbers:
        table.add_column(name, justify="left" if name in ("why", "missed by") else "right", no_wrap=True)
    return table


def _few(items: Iterable[Flow] | Iterable[Response]) -> list:  # type: ignore[type-arg]
    return list(items)[:MOST]


def sparkline(values: Sequence[float]) -> str:
    """Values as bars of a line of text.

    >>> sparkline([0, 1, 2, 4])
    ' ▂▄█'
    """
    top = max(values, default=0.0)
    last = len(BLOCKS) - 1
    return "".join(BLOCKS[min(last, round(last * v / top)) if top else 0] for v in values)


def number(value: float) -> str:
    """A count or a rate in few letters.

    >>> number(0), number(0.25), number(12.3), number(12345.6), number(12_345_678)
    ('0', '0.2', '12', '12,346', '12.35M')
    """
    if value >= 1e7:
        return f"{value / 1e6:,.2f}M"
    return f"{value:.1f}" if 0 < value < 10 and value != int(value) else f"{value:,.0f}"


def duration(seconds: float | None) -> str:
    """A time in few letters.

    >>> duration(None), duration(0.0004), duration(0.25), duration(2.345), duration(75), duration(90_000)
    ('-', '0.4 ms', '250 ms', '2.35 s', '75 s', '25 h')
    """
    if seconds is None:
        return "-"
    if seconds < 0.001:
        return f"{seconds * 1e3:.1f} ms"
    if seconds < 1:
        return f"{seconds * 1e3:.0f} ms"
    if seconds < 600:
        return f"{seconds:.2f} s" if seconds < 10 else f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 36_000 else f"{seconds / 3600:.0f} h"
