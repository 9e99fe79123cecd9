"""Line charts as SVG, and a page of them that needs nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Final

WIDTH: Final = 720
HEIGHT: Final = 240
LEFT: Final = 60
BELOW: Final = 34
ABOVE: Final = 30
STYLE: Final = (
    "text{font:12px ui-monospace,Menlo,Consolas,monospace;fill:#1b2733}.title{font-size:14px;font-weight:600}"
    ".axis{stroke:#8fa0ae;stroke-width:1}.grid{stroke:#dfe6ec;stroke-width:1}path{fill:none;stroke-width:1.8}"
)
_XML: Final = 'xmlns="http://www.w3.org/2000/svg"'
Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a chart; `dashes` are SVG's."""

    name: str
    colour: str
    points: Sequence[Point]
    dashes: str = ""


def chart(title: str, unit: str, lines: Sequence[Line], top: float | None = None) -> str:
    """A chart over seconds; values above `top` are drawn at it.

    >>> chart("delay", "s", [Line("a", "red", [(0, 1), (2, 3)])]).count("<path")
    1
    """
    points = [p for line in lines for p in line.points]
    last = max((x for x, _ in points), default=1.0) or 1.0
    high = top or max((y for _, y in points), default=1.0) or 1.0
    parts = [f'<text class="title" x="{LEFT}" y="18">{escape(title)} ({escape(unit)})</text>']
    for i in range(5):
        y = _y(high * i / 4, high)
        parts.append(f'<line class="grid" x1="{LEFT}" y1="{y:.1f}" x2="{WIDTH - 10}" y2="{y:.1f}"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{high * i / 4:.3g}</text>')
    for i in range(5):
        x = _x(last * i / 4, last)
        parts.append(f'<text x="{x:.1f}" y="{HEIGHT - 14}" text-anchor="middle">{last * i / 4:.0f} s</text>')
    for number, line in enumerate(lines):
        parts.append(_path(line, last, high))
        parts.append(f'<text x="{WIDTH - 14}" y="{18 + 15 * number}" text-anchor="end" '
                     f'style="fill:{line.colour}">{escape(line.name)}</text>')  # fmt: skip
    return f'<svg {_XML} viewBox="0 0 {WIDTH} {HEIGHT}"><style>{STYLE}</style>{"".join(parts)}</svg>'


def _x(value: float, last: float) -> float:
    return LEFT + value / last * (WIDTH - LEFT - 16)


def _y(value: float, high: float) -> float:
    return HEIGHT - BELOW - min(value, high) / high * (HEIGHT - BELOW - ABOVE)


def _path(line: Line, last: float, high: float) -> str:
    places = " L".join(f"{_x(x, last):.1f} {_y(y, high):.1f}" for x, y in line.points)
    dashes = f' stroke-dasharray="{line.dashes}"' if line.dashes else ""
    return f'<path d="M{places}" stroke="{line.colour}"{dashes}/>' if places else ""


def stacked(charts: Sequence[str]) -> str:
    """Several charts below each other as one picture."""
    parts = [c.replace("<svg ", f'<svg y="{i * HEIGHT}" width="{WIDTH}" height="{HEIGHT}" ', 1)
             for i, c in enumerate(charts)]  # fmt: skip
    whole = f'<rect width="100%" height="100%" fill="#fff"/>{"".join(parts)}'
    return f'<svg {_XML} viewBox="0 0 {WIDTH} {HEIGHT * len(charts)}">{whole}</svg>'


def page(title: str, facts: Sequence[tuple[str, str, str]], heads: tuple[str, str, str], charts: Sequence[str]) -> str:
    """A page with a table and charts: one file, nothing to load."""
    rows = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in facts)
    head = "".join(f"<th>{escape(h)}</th>" for h in heads)
    style = "body{font:15px system-ui;margin:2em auto;max-width:760px}td,th{text-align:left;padding:.2em 1.5em .2em 0}"
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{escape(title)}</title><style>{style}</style>'
        f"<h1>{escape(title)}</h1><table><tr>{head}</tr>{rows}</table>{''.join(charts)}</html>\n"
    )
