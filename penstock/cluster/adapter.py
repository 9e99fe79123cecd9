"""A topology from a running query network, as it was measured, and an assignment of its operators to nodes.

Operators are called by their number in `penstock explain` and what they are: `operator_names` lists them.

Reference: Tatbul, section 5.3: the coordinator learns costs and selectivities from the servers' catalogs and
statistics.
"""

from __future__ import annotations

from collections.abc import Mapping

from penstock.cluster.checks import checked
from penstock.cluster.loss import LossFunction
from penstock.cluster.topology import Input, Node, Operator, Query, Topology
from penstock.errors import Diagnostic, PenstockError, unknown
from penstock.plan.network import Network
from penstock.plan.network import Query as NetworkQuery
from penstock.plan.node import Node as PlanNode
from penstock.plan.nodes import Source, Table, Union
from penstock.stats.load import LoadModel


def operator_names(network: Network) -> dict[PlanNode, str]:
    """What a topology calls each operator of `network`, and each stream that comes from outside.

    >>> from penstock.plan.nodes import Delay
    >>> from penstock.plan.schema import Schema
    >>> box = Delay(Source("s", Schema.parse("a int")), 0.5)
    >>> list(operator_names(Network(queries=(NetworkQuery("q", box),))).values())
    ['s', '2 delay']
    """
    return {
        node: node.name if isinstance(node, Source) else f"{number} {type(node).__name__.lower()}"
        for number, node in enumerate(network.nodes(), 1)
        if not isinstance(node, Table)
    }


def from_network(
    load: LoadModel,
    assignment: Mapping[str, str],
    capacities: Mapping[str, float] | None = None,
    weights: Mapping[str, float] | None = None,
    utility: bool = False,
) -> Topology:
    """The topology in which each operator of `load.network` runs on the node that `assignment` names, with the cost
    and selectivity that were measured.

    An input arrives at the node that `assignment` names for its stream, else at that of its first reader.
    `capacities` are the nodes' headroom (1 where none is given); `weights` are what the queries' results are worth;
    with `utility` their `loss` options say so. A join is refused: what it yields is not linear in its rates.
    """
    names = operator_names(load.network)
    for key in assignment:
        if key not in names.values():
            raise PenstockError(unknown("operator or stream", key, list(names.values())))
    operators = tuple(_operator(node, name, load, assignment, names)
                      for node, name in names.items() if not isinstance(node, Source))  # fmt: skip
    nodes = dict.fromkeys([*(capacities or {}), *assignment.values()])
    return checked(Topology(
        tuple(Node(name, (capacities or {}).get(name, 1.0)) for name in nodes),
        tuple(Input(name, assignment.get(name) or _first_reader(name, operators))
              for node, name in names.items() if isinstance(node, Source)),
        operators,
        tuple(_query(query, names, (weights or {}).get(query.name, 1.0), utility) for query in load.network.queries),
    ))  # fmt: skip


def _operator(
    node: PlanNode, name: str, load: LoadModel, assignment: Mapping[str, str], names: Mapping[PlanNode, str]
) -> Operator:
    if name not in assignment:
        help = f"name its node in the assignment, as '{name}'"
        raise PenstockError(Diagnostic(f"operator {name} ({node.label}) is on no node", help=help))
    flowing = [below for below in node.inputs if not isinstance(below, Table)]
    if len(flowing) > 1 and not isinstance(node, Union):
        help = "plan for what it reads and for what it yields apart: a stream each"
        raise PenstockError(Diagnostic(f"operator {name} ({node.label}) is not linear in its rates", help=help))
    work = load.of(node)
    return Operator(name, assignment[name], work.cost_s, work.selectivity, tuple(names[below] for below in flowing))


def _first_reader(stream: str, operators: tuple[Operator, ...]) -> str | None:
    return next((o.node for o in operators if stream in o.inputs), None)


def _query(query: NetworkQuery, names: Mapping[PlanNode, str], weight: float, utility: bool) -> Query:
    if isinstance(query.root, Source | Table):
        raise PenstockError(Diagnostic(f"query '{query.name}' has no operator to plan for", help="leave it out"))
    told = dict(query.options).get("loss") if utility else None
    return Query(query.name, names[query.root], weight, None if told is None else LossFunction.parse(str(told)))
