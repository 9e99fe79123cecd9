"""The network as numbered vertices: what every way of showing it starts from."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.plan.network import Network
from penstock.plan.node import Node, walk
from penstock.plan.nodes import Window
from penstock.plan.windows import format_window


@dataclass(frozen=True, slots=True)
class Vertex:
    """One operator: `queries` are those it works for, `inputs` the numbers of the vertices it reads."""

    number: int
    label: str
    kind: str
    schema: tuple[tuple[str, str], ...]
    inputs: tuple[int, ...]
    queries: tuple[str, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Graph:
    """All operators, inputs first; `results` maps each query to the vertex that delivers it; `stores` the windows over
    one stream."""

    vertices: tuple[Vertex, ...]
    results: tuple[tuple[str, int], ...]
    stores: tuple[tuple[str, tuple[str, ...]], ...]


def graph(network: Network, notes: dict[Node, tuple[str, ...]] | None = None) -> Graph:
    """`network` numbered from 1, inputs before their consumers; `notes` are lines to show with a node (its lanes, its
    load)."""
    nodes = network.nodes()
    numbers = {node: i for i, node in enumerate(nodes, 1)}
    users = _users(network)
    vertices = tuple(
        Vertex(
            numbers[n],
            n.label,
            n.kind.value,
            tuple((f.name, str(f.type)) for f in n.schema),
            tuple(numbers[i] for i in n.inputs),
            users[n],
            (notes or {}).get(n, ()),
        )
        for n in nodes
    )
    return Graph(vertices, tuple((q.name, numbers[q.root]) for q in network.queries), _stores(nodes, numbers))


def _users(network: Network) -> dict[Node, tuple[str, ...]]:
    users: dict[Node, tuple[str, ...]] = {}
    for query in network.queries:
        for node in walk(query.root):
            users[node] = (*users.get(node, ()), query.name)
    return users


def _stores(nodes: tuple[Node, ...], numbers: dict[Node, int]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    stores: dict[Node, list[str]] = {}
    for node in nodes:
        if isinstance(node, Window):
            stores.setdefault(node.input, []).append(f"#{numbers[node]} {format_window(node.spec)}")
    return tuple((f"#{numbers[stream]} {stream.label}", tuple(windows)) for stream, windows in stores.items())
