"""The network as a picture: layers from the streams (left) to the answers (right), each layer ordered to keep arrows
short."""

from __future__ import annotations

from html import escape
from typing import Final

from penstock.plan.explain.graph import Graph, Vertex

WIDTH: Final = 250
HEIGHT: Final = 44
GAP_X: Final = 70
GAP_Y: Final = 18
MARGIN: Final = 24
LABEL_CHARACTERS: Final = 32
FILLS: Final = {"stream": "#e8f1fb", "relation": "#eef7ea", "query": "#fff3d6"}
STYLE: Final = (
    "text{font:12px ui-monospace,Menlo,Consolas,monospace;fill:#1b2733}"
    "rect{stroke:#5b7083;rx:6}path{fill:none;stroke:#5b7083;stroke-width:1.4;marker-end:url(#tip)}"
)
Point = tuple[float, float]


def to_svg(shown: Graph) -> str:
    """A self-contained SVG document; the full label and the columns of a box are its tooltip."""
    boxes = [*shown.vertices, *_answers(shown)]
    layers = _ordered(_layers(boxes), boxes)
    places = {n: (MARGIN + x * (WIDTH + GAP_X), y) for x, layer in enumerate(layers) for n, y in _column(layer)}
    arrows = [_arrow(places[i], places[v.number]) for v in boxes for i in v.inputs]
    width = max((x for x, _ in places.values()), default=0) + WIDTH + MARGIN
    height = max((y for _, y in places.values()), default=0) + HEIGHT + MARGIN
    return _document(width, height, arrows + [_box(places[v.number], v) for v in boxes])


def _answers(shown: Graph) -> list[Vertex]:
    """A vertex for each query, numbered below 0, that reads the operator which delivers its result."""
    return [
        Vertex(-i, f"query {name}", "query", (), (root,), (name,)) for i, (name, root) in enumerate(shown.results, 1)
    ]


def _layers(boxes: list[Vertex]) -> list[list[int]]:
    depth: dict[int, int] = {}
    for v in boxes:
        depth[v.number] = 1 + max((depth[i] for i in v.inputs), default=-1)
    layers: list[list[int]] = [[] for _ in range(1 + max(depth.values(), default=-1))]
    for number, d in depth.items():
        layers[d].append(number)
    return layers


def _ordered(layers: list[list[int]], boxes: list[Vertex]) -> list[list[int]]:
    """Each layer sorted by the mean place of its inputs (the barycenter rule)."""
    inputs = {v.number: v.inputs for v in boxes}
    place: dict[int, float] = {}
    for layer in layers:
        layer.sort(key=lambda n: sum(place[i] for i in inputs[n]) / len(inputs[n]) if inputs[n] else float(n))
        place.update((n, float(y)) for y, n in enumerate(layer))
    return layers


def _column(layer: list[int]) -> list[tuple[int, float]]:
    return [(n, MARGIN + y * (HEIGHT + GAP_Y)) for y, n in enumerate(layer)]


def _tooltip(vertex: Vertex) -> str:
    columns = ", ".join(f"{name} {kind}" for name, kind in vertex.schema)
    return "\n".join([vertex.label, f"{vertex.kind} ({columns})", f"for {', '.join(vertex.queries)}", *vertex.notes])


def _box(place: Point, vertex: Vertex) -> str:
    x, y = place
    label = vertex.label if vertex.number < 0 else f"#{vertex.number} {vertex.label}"
    short = label if len(label) <= LABEL_CHARACTERS else label[: LABEL_CHARACTERS - 1] + "…"
    return (
        f"<g><title>{escape(_tooltip(vertex))}</title>"
        f'<rect x="{x:g}" y="{y:g}" width="{WIDTH}" height="{HEIGHT}" fill="{FILLS[vertex.kind]}"/>'
        f'<text x="{x + 10:g}" y="{y + HEIGHT / 2 + 4:g}">{escape(short)}</text></g>'
    )


def _arrow(start: Point, end: Point) -> str:
    x0, y0, x1, y1 = start[0] + WIDTH, start[1] + HEIGHT / 2, end[0], end[1] + HEIGHT / 2
    bend = (x1 - x0) / 2
    return f'<path d="M{x0:g},{y0:g} C{x0 + bend:g},{y0:g} {x1 - bend:g},{y1:g} {x1:g},{y1:g}"/>'


def _document(width: float, height: float, parts: list[str]) -> str:
    tip = (
        '<marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0,0 L8,4 L0,8 z" style="fill:#5b7083;stroke:none;marker-end:none"/></marker>'
    )
    size = f'viewBox="0 0 {width:g} {height:g}" width="{width:g}" height="{height:g}"'
    paper = '<rect width="100%" height="100%" style="fill:#fff;stroke:none"/>'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size}><style>{STYLE}</style><defs>{tip}</defs>{paper}'
    return "\n".join([head, *parts, "</svg>\n"])
