"""What has to be counted of a network's data so that tuples are shed by what they say, and estimates alike."""

from __future__ import annotations

from penstock.plan.estimates import estimate_of
from penstock.plan.network import Network
from penstock.plan.node import Node
from penstock.plan.watched import Watched
from penstock.shed.qos import qos
from penstock.shed.ranges import attributes


def watched(network: Network) -> tuple[Watched, ...]:
    """The columns that value-based QoS and the rates of sampling depend on, each once.

    >>> from penstock.cql import compile_script
    >>> network = compile_script('''CREATE STREAM s (x INT);
    ...     CREATE QUERY q WITH (value = 'x: 0..50 = 0.2, 50..101 = 1, else = 0') AS SELECT x FROM s WHERE x > 10''')
    >>> [(w.node.label, w.column, len(w.cuts)) for w in watched(network)]
    [('stream s', 'x', 25), ('filter x > 10', 'x', 25)]
    """
    found: dict[tuple[Node, str], Watched] = {}
    declared = [qos(q) for q in network.queries]
    for attribute in attributes(network, declared):
        for watch in attribute.watched():
            found.setdefault((watch.node, watch.column), watch)
    for query, each in zip(network.queries, declared, strict=True):
        estimate = estimate_of(query.root) if each.answer == "estimate" else None
        if estimate is not None:
            for column, _ in estimate.columns:
                found.setdefault((estimate.node.input, column), Watched(estimate.node.input, column))
    return tuple(found.values())
