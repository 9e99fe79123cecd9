"""The network as lines for a terminal, and as JSON for programs."""

from __future__ import annotations

import json
from dataclasses import asdict

from penstock.plan.explain.graph import Graph, Vertex


def to_text(shown: Graph) -> str:
    """Each query as a tree of its operators; one that an earlier tree has shown is named by its number alone."""
    by_number = {v.number: v for v in shown.vertices}
    seen: set[int] = set()
    blocks = []
    for query, root in shown.results:
        lines = [f"query {query} -> {by_number[root].kind}"]
        _draw(by_number[root], "  ", "  ", by_number, seen, lines)
        blocks.append("\n".join(lines))
    if shown.stores:
        lines = ["stores"] + [f"  {stream}: {', '.join(windows)}" for stream, windows in shown.stores]
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks)


def _draw(
    vertex: Vertex, first: str, rest: str, by_number: dict[int, Vertex], seen: set[int], lines: list[str]
) -> None:
    shared = f"   (shared by {', '.join(vertex.queries)})" if len(vertex.queries) > 1 else ""
    if vertex.number in seen:
        lines.append(f"{first}#{vertex.number} as above{shared}")
        return
    seen.add(vertex.number)
    columns = ", ".join(f"{name} {kind}" for name, kind in vertex.schema) if not vertex.inputs else ""
    lines.append(f"{first}#{vertex.number} {vertex.label}{f' ({columns})' if columns else ''}{shared}")
    lines.extend(f"{rest}     {note}" for note in vertex.notes)
    for i, number in enumerate(vertex.inputs):
        last = i == len(vertex.inputs) - 1
        branch, below = ("└ ", "  ") if last else ("├ ", "│ ")
        _draw(by_number[number], rest + branch, rest + below, by_number, seen, lines)


def to_json(shown: Graph) -> str:
    """Vertices, results and stores, as they stand in `Graph`."""
    return json.dumps(
        {
            "operators": [asdict(v) for v in shown.vertices],
            "queries": dict(shown.results),
            "stores": {stream: list(windows) for stream, windows in shown.stores},
        },
        indent=2,
    )
