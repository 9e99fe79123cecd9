"""What a person sees of a plan: which node drops what, the score, the optimum and the bound; and the tree of nodes
with its loads.

These functions return text; the command line prints it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np

from penstock.cluster.central import whole_fit
from penstock.cluster.checks import checked
from penstock.cluster.flows import compile_flows
from penstock.cluster.limits import useful_rates
from penstock.cluster.planner import plan
from penstock.cluster.reader import read_topology
from penstock.cluster.replay import Outcome, replay
from penstock.cluster.selection import Selection, as_rates
from penstock.cluster.topology import Topology, arcs, arrival_nodes, locations, node_edges, query_ends
from penstock.errors import Diagnostic, PenstockError


def describe_plan(
    path: str | Path, epsilon: float, rates: Mapping[str, float] | None = None, method: str = "c-fit"
) -> str:
    """The plan for a topology file at `rates` (None: nothing is dropped, only what was planned is told)."""
    topology = read_topology(path)
    planner = plan(topology, epsilon, method)
    head = (
        f"{method}: {planner.entries} entries planned; every plan is within {100 * planner.bound:.3g}% of the optimum"
    )
    if rates is None:
        return f"{head}\n\n{explain(topology)}"
    given = dict(
        zip((i.name for i in topology.inputs), as_rates([i.name for i in topology.inputs], rates).tolist(), strict=True)
    )
    selection = planner.choose(given)
    before, after = replay(topology, given, {}), replay(topology, given, selection.drops)
    return "\n".join([head, "", *_nodes(topology, selection, before, after), "", *_scores(topology, selection, before)])


def parse_rates(text: str, inputs: tuple[str, ...]) -> dict[str, float]:
    """Rates from the command line: `r1=10,r2=20`, or one number per input in order.

    >>> parse_rates("r1=10, r2=20", ("r1", "r2")), parse_rates("3,4", ("a", "b"))
    ({'r1': 10.0, 'r2': 20.0}, {'a': 3.0, 'b': 4.0})
    """
    pieces = [piece.strip() for piece in text.split(",") if piece.strip()]
    try:
        if pieces and all("=" in piece for piece in pieces):
            return _named(piece.split("=", 1) for piece in pieces)
        given = [float(piece) for piece in pieces]
    except ValueError:
        raise PenstockError(Diagnostic(f"cannot read the rates '{text}'", help="write them like r1=10,r2=20")) from None
    if len(given) != len(inputs):
        raise PenstockError(Diagnostic(f"{len(given)} rates for {len(inputs)} inputs: {', '.join(inputs)}"))
    return dict(zip(inputs, given, strict=True))


def _named(pairs: Iterable[list[str]]) -> dict[str, float]:
    rates: dict[str, float] = {}
    for name, value in pairs:
        if name.strip() in rates:
            raise PenstockError(Diagnostic(f"two rates for input '{name.strip()}'", help="give each input one"))
        rates[name.strip()] = float(value)
    return rates


def _nodes(topology: Topology, selection: Selection, before: Outcome, after: Outcome) -> list[str]:
    lines = []
    for node in topology.nodes:
        load = f"load {before.loads[node.name]:.4g} -> {after.loads[node.name]:.4g} of {node.capacity:.4g}"
        lines.append(f"{node.name}  {load}{'  overloaded' if before.loads[node.name] > node.capacity else ''}")
        drops = selection.drops[node.name]
        lines += [f"    drop {100 * share:.4g}% at {place}" for place, share in drops.items()] or ["    drops nothing"]
    return lines


def _scores(topology: Topology, selection: Selection, before: Outcome) -> list[str]:
    gap = 1.0 - selection.score / selection.optimum if selection.optimum > 0 else 0.0
    return [f"plan     {selection.plan}", f"score    {selection.score:.6g}", f"optimum  {selection.optimum:.6g}",
            f"gap      {100 * max(gap, 0.0):.3g}%", f"unshed   {before.score:.6g}"]  # fmt: skip


def explain(topology: Topology, rates: Mapping[str, float] | None = None) -> str:
    """The tree of nodes with their loads, operators and drop locations; without `rates`, loads are per tuple of each
    input.

    >>> from penstock.cluster.topology import Input, Node, Operator
    >>> f = Operator("f", "A", 2.0, 0.5, ("r",))
    >>> print(explain(Topology((Node("A", 1.0),), (Input("r", "A"),), (f,)), {"r": 0.25}))
    A  load 0.5 of 1 (50%)
        f  cost 2  selectivity 0.5  reads r
        input r  0.25/s, useful up to 0.5/s
        query f  weight 1
    """
    checked(topology)
    feeding = {down for _, down in node_edges(topology)}
    told = _Told(topology, rates)
    lines: list[str] = []
    for node in topology.nodes:
        if node.name not in feeding:
            lines += _branch(topology, node.name, told, "", set())
    return "\n".join(lines)


class _Told:
    """What is said of each node and input."""

    def __init__(self, topology: Topology, rates: Mapping[str, float] | None) -> None:
        model = compile_flows(topology)
        table = whole_fit(topology, 0.0)
        self.limits = dict(zip(model.inputs, np.round(useful_rates(table), 12).tolist(), strict=True))
        self.rates = rates
        if rates is not None:
            given = as_rates(model.inputs, rates)
            self.loads = dict(zip(model.nodes, (model.total_loads @ given).tolist(), strict=True))
        self.per_tuple = dict(zip(model.nodes, model.total_loads.tolist(), strict=True))
        self.inputs = model.inputs

    def load(self, node: str, capacity: float) -> str:
        """The load of a node."""
        if self.rates is not None:
            share = f" ({100 * self.loads[node] / capacity:.4g}%)" if capacity > 0 else ""
            over = "  overloaded" if self.loads[node] > capacity else ""
            return f"load {self.loads[node]:.4g} of {capacity:.4g}{share}{over}"
        terms = [f"{c:.4g} {name}" for c, name in zip(self.per_tuple[node], self.inputs, strict=True) if c > 0]
        return f"load {' + '.join(terms) or '0'} of {capacity:.4g}"

    def input(self, name: str) -> str:
        """The rate of an input and what is useful of it."""
        useful = f"useful up to {self.limits[name]:.4g}/s" if np.isfinite(self.limits[name]) else "useful without limit"
        return f"input {name}  {useful}" if self.rates is None else f"input {name}  {self.rates[name]:.4g}/s, {useful}"


def _branch(topology: Topology, name: str, told: _Told, indent: str, shown: set[str]) -> list[str]:
    """A node, what it runs, and the nodes below it; a node with several parents is drawn once."""
    node = next(n for n in topology.nodes if n.name == name)
    if name in shown:
        return [f"{indent}{name}  (above)"]
    shown.add(name)
    lines = [f"{indent}{name}  {told.load(name, node.capacity)}"]
    lines += [f"{indent}    {text}" for text in _contents(topology, name, told)]
    for up, down in node_edges(topology):
        if up == name:
            lines += _branch(topology, down, told, indent + "    ", shown)
    return lines


def _contents(topology: Topology, name: str, told: _Told) -> list[str]:
    home = arrival_nodes(topology)
    operators = {o.name: o for o in topology.operators if o.node == name}
    return [
        *(f"{n}  cost {o.cost:.4g}  selectivity {o.selectivity:.4g}  reads {', '.join(o.inputs)}"
          for n, o in operators.items()),
        *(told.input(i.name) for i in topology.inputs if home[i.name] == name),
        *(f"branch {p.name}" for p in locations(topology) if p.node == name and p.arc is not None),
        *(f"sends {a} to {a.consumer_node}" for a in arcs(topology) if a.producer_node == name != a.consumer_node),
        *(f"query {q.name}  " + (f"weight {q.weight:.4g}" if q.loss is None else "by its loss function")
          for q in query_ends(topology) if q.source in operators),
    ]  # fmt: skip
