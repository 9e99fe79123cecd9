"""What can be wrong with a topology, said with place, cause and help."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import TypeAlias

from penstock.cluster.topology import Topology, node_edges, query_ends
from penstock.errors import Diagnostic, PenstockError, Span, unknown

# Larger costs, selectivities, weights, capacities and rates are slips of the pen; their products stay finite numbers.
LARGEST = 1e60

Path: TypeAlias = tuple[str | int, ...]
Place: TypeAlias = Callable[[Path], Span | None]


def checked(
    topology: Topology, place: Place = lambda path: None, text: str | None = None, source: str = "<topology>"
) -> Topology:
    """`topology`, if nothing is wrong with it; `place` finds the text of a part, by its path in the description.

    >>> from penstock.cluster.topology import Input, Node, Operator
    >>> checked(Topology((Node("A", 1.0),), (Input("r"),), (Operator("f", "a", 1.0, 1.0, ("r",)),)))
    Traceback (most recent call last):
    penstock.errors.PenstockError: unknown node 'a'
        known: A
        help: did you mean 'A'?
    """
    for rules in (_names, _numbers, _references, _cycles, _node_cycles, _ends):
        found = [_located(diagnostic, place(path)) for path, diagnostic in rules(topology)]
        if found:
            raise PenstockError(*found, text=text, source=source)
    return topology


Problem: TypeAlias = tuple[Path, Diagnostic]


def _located(diagnostic: Diagnostic, span: Span | None) -> Diagnostic:
    return Diagnostic(diagnostic.message, span, diagnostic.notes, diagnostic.help)


def _names(topology: Topology) -> Iterator[Problem]:
    if not topology.nodes:
        yield ("nodes",), Diagnostic("a topology needs at least one node", help="add `nodes:`, each with a capacity")
    if not topology.inputs:
        yield ("inputs",), Diagnostic("a topology needs at least one input", help="add `inputs:`")
    kinds = {"nodes": [n.name for n in topology.nodes], "queries": [q.name for q in topology.queries]}
    for kind, names in kinds.items():
        for name, times in Counter(names).items():
            if times > 1:
                yield (kind, name), Diagnostic(f"{times} {kind} are called '{name}'", help="give each its own name")
    streams = [("inputs", i.name) for i in topology.inputs] + [("operators", o.name) for o in topology.operators]
    for name, times in Counter(name for _, name in streams).items():
        if times > 1:
            kind = [k for k, n in streams if n == name][-1]
            yield (
                (kind, name),
                Diagnostic(f"{times} streams are called '{name}'", help="inputs and operators share names"),
            )
    for kind, name in [*streams, *(("queries", q.name) for q in topology.queries)]:
        if "->" in name:
            yield (
                (kind, name),
                Diagnostic(f"'->' in the name '{name}'", help="plans call arcs 'stream->reader'; rename it"),
            )
    for query in topology.queries:
        if query.name != query.source and any(query.name == o.name for o in topology.operators):
            yield (
                ("queries", query.name),
                Diagnostic(f"'{query.name}' names a query and an operator that it does not read"),
            )


def _numbers(topology: Topology) -> Iterator[Problem]:
    for node in topology.nodes:
        if not 0 <= node.capacity <= LARGEST:
            yield ("nodes", node.name, "capacity"), _number(f"capacity of node '{node.name}'", node.capacity)
    for operator in topology.operators:
        for field, value in (("cost", operator.cost), ("selectivity", operator.selectivity)):
            if not 0 <= value <= LARGEST:
                yield ("operators", operator.name, field), _number(f"{field} of operator '{operator.name}'", value)
    for query in topology.queries:
        if not 0 <= query.weight <= LARGEST:
            yield ("queries", query.name, "weight"), _number(f"weight of query '{query.name}'", query.weight)


def _number(what: str, value: float) -> Diagnostic:
    return Diagnostic(f"{what} is {value:g}", help=f"it must be a number from 0 to {LARGEST:g}")


def _references(topology: Topology) -> Iterator[Problem]:
    nodes = [n.name for n in topology.nodes]
    streams = [i.name for i in topology.inputs] + [o.name for o in topology.operators]
    for operator in topology.operators:
        yield from _operator_references(operator.name, operator.node, operator.inputs, nodes, streams)
    for given in topology.inputs:
        path: Path = ("inputs", given.name)
        if given.node is not None and given.node not in nodes:
            yield (*path, "node"), unknown("node", given.node, nodes)
        if not any(given.name in o.inputs for o in topology.operators):
            yield path, Diagnostic(f"no operator reads input '{given.name}'", help="remove it, or read it `from:` one")
        elif given.node is None and len({o.node for o in topology.operators if given.name in o.inputs}) > 1:
            yield path, Diagnostic(f"several nodes read input '{given.name}'", help="say at which `node:` it arrives")
    operators = [o.name for o in topology.operators]
    for query in topology.queries:
        if query.source not in operators:
            yield ("queries", query.name, "from"), unknown("operator", query.source, operators)


def _operator_references(
    name: str, node: str, reads: tuple[str, ...], nodes: list[str], streams: list[str]
) -> Iterator[Problem]:
    path: Path = ("operators", name)
    if node not in nodes:
        yield (*path, "node"), unknown("node", node, nodes)
    if not reads:
        yield path, Diagnostic(f"operator '{name}' reads nothing", help="name its stream, or streams, in `from:`")
    for position, stream in enumerate(reads):
        if stream not in streams:
            yield (*path, "from", position), unknown("stream", stream, streams)
        elif stream in reads[:position]:
            yield (*path, "from", position), Diagnostic(f"operator '{name}' reads '{stream}' twice")


def _cycles(topology: Topology) -> Iterator[Problem]:
    reads = {o.name: list(o.inputs) for o in topology.operators}
    cycle = _cycle(reads)
    if cycle:
        message = f"operators feed each other in a cycle: {' <- '.join(cycle)}"
        yield ("operators", cycle[0], "from"), Diagnostic(message, help="a query network has no loops")


def _node_cycles(topology: Topology) -> Iterator[Problem]:
    feeds: dict[str, list[str]] = {n.name: [] for n in topology.nodes}
    for up, down in node_edges(topology):
        feeds[down].append(up)
    cycle = _cycle(feeds)
    if cycle:
        message = f"nodes feed each other in a cycle: {' <- '.join(cycle)}"
        yield ("nodes", cycle[0]), Diagnostic(message, help="move operators so that streams flow one way")


def _ends(topology: Topology) -> Iterator[Problem]:
    for name, times in Counter(q.name for q in query_ends(topology)).items():
        if times > 1:
            notes = ("an operator that nobody reads is a query end of its own name",)
            yield ("queries", name), Diagnostic(f"{times} query ends are called '{name}'", notes=notes)


def _cycle(edges: dict[str, list[str]]) -> list[str]:
    """A closed walk along `edges`, first name repeated at the end, or nothing."""
    done: set[str] = set()
    for start in edges:
        trail, following = [start], [iter(edges[start])]
        while trail and start not in done:
            name = next(following[-1], None)
            if name is None:
                done.add(trail.pop())
                following.pop()
            elif name in trail:
                return [*trail[trail.index(name) :], name]
            elif name not in done and name in edges:
                trail.append(name)
                following.append(iter(edges[name]))
    return []
