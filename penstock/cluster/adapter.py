"""A topology from a running query network and an assignment of its operators to nodes.

Reference: Tatbul, section 5.3: the coordinator learns costs and selectivities from the servers' catalogs and
statistics.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from penstock.cluster.checks import checked
from penstock.cluster.topology import Input, Node, Operator, Query, Topology
from penstock.errors import Diagnostic, PenstockError


class LoadOperator(Protocol):
    """An operator as its measurements describe it; `consumers` are the operators that read it."""

    @property
    def name(self) -> str: ...
    @property
    def cost(self) -> float: ...
    @property
    def selectivity(self) -> float: ...
    @property
    def consumers(self) -> Sequence[str]: ...


class LoadNetwork(Protocol):
    """A query network: its operators, and per input the operators that read it."""

    @property
    def operators(self) -> Sequence[LoadOperator]: ...
    @property
    def inputs(self) -> Mapping[str, Sequence[str]]: ...


def from_network(
    load_network: LoadNetwork,
    assignment: Mapping[str, str],
    capacities: Mapping[str, float] | None = None,
    weights: Mapping[str, float] | None = None,
) -> Topology:
    """The topology in which each operator runs on the node that `assignment` names.

    `capacities` are the nodes' headroom (1 where none is given); `weights` are what the outputs of operators are
    worth, which makes those operators query ends even where others read them. Inputs arrive at the node of their
    first reader.
    """
    missing = [o.name for o in load_network.operators if o.name not in assignment]
    if missing:
        raise PenstockError(
            Diagnostic(f"operator '{missing[0]}' is on no node", help="name its node in the assignment")
        )
    reads: dict[str, list[str]] = {o.name: [] for o in load_network.operators}
    flowing = [*load_network.inputs.items(), *((o.name, o.consumers) for o in load_network.operators)]
    for stream, consumers in flowing:
        for consumer in consumers:
            reads.setdefault(consumer, []).append(stream)
    names = dict.fromkeys([*(capacities or {}), *assignment.values()])
    return checked(Topology(
        tuple(Node(name, (capacities or {}).get(name, 1.0)) for name in names),
        tuple(Input(name, assignment.get(readers[0]) if readers else None)
              for name, readers in load_network.inputs.items()),
        tuple(Operator(o.name, assignment[o.name], o.cost, o.selectivity, tuple(reads[o.name]))
              for o in load_network.operators),
        tuple(Query(f"{name} out", name, weight) for name, weight in (weights or {}).items()),
    ))  # fmt: skip
