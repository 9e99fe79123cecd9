"""What has to be counted of a network's data so that its tuples can be shed by what they say."""

from __future__ import annotations

from penstock.plan.network import Network
from penstock.plan.node import Node
from penstock.plan.watched import Watched
from penstock.shed.qos import qos
from penstock.shed.ranges import attributes


def watched(network: Network) -> tuple[Watched, ...]:
    """The columns that value-based QoS depends on, each once.

    >>> from penstock.cql import compile_script
    >>> network = compile_script('''CREATE STREAM s (x INT);
    ...     CREATE QUERY q WITH (value = 'x: 0..50 = 0.2, 50..101 = 1, else = 0') AS SELECT x FROM s WHERE x > 10''')
    >>> [(w.node.label, w.column, len(w.cuts)) for w in watched(network)]
    [('stream s', 'x', 25), ('filter x > 10', 'x', 25)]
    """
    found: dict[tuple[Node, str], Watched] = {}
    declared = [qos(q) for q in network.queries]
    for attribute in attributes(network, declared):
        for each in attribute.watched():
            found.setdefault((each.node, each.column), each)
    return tuple(found.values())
