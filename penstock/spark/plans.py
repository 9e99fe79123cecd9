"""Plans on paper: how a plan record, a request to a lane and a lane's log keep the plan of a batch.

Nodes are written as their places among the network's nodes, so that whoever reads a plan gets it over nodes of its own
(a node's hash differs from process to process). Whatever else drops and orders hold is written as it is.
"""

from __future__ import annotations

import base64
import io
import pickle
import zlib
from typing import Any

from penstock.plan.network import Network
from penstock.plan.node import Node
from penstock.plan.running import Plan


class Plans:
    """Writes and reads plans over `network`, which is after the rewrites.

    >>> from penstock.cql import compile_script
    >>> from penstock.plan.drops import Location, RandomDrop
    >>> network = compile_script("CREATE STREAM s (a INT); CREATE QUERY q AS SELECT a FROM s")
    >>> plans, plan = Plans(network), Plan(network, 3, ((Location(network.nodes()[0]), RandomDrop(0.5)),))
    >>> plans.read(plans.written(plan)) == plan, plans.written(Plan(network))
    (True, '')
    """

    def __init__(self, network: Network) -> None:
        self.network = network
        self._nodes = network.nodes()
        self._places = {node: place for place, node in enumerate(self._nodes)}
        self._mark = f"{zlib.crc32(chr(10).join(n.label for n in self._nodes).encode()):08x}"

    def written(self, plan: Plan) -> str:
        """`plan` as text; nothing for one that drops, reorders, shuts down, watches and profiles nothing."""
        if not (plan.drops or plan.orders or plan.shut_down or plan.watched or plan.profiled):
            return ""
        sink = io.BytesIO()
        parts = (plan.number, plan.drops, plan.orders, plan.shut_down, plan.watched, plan.profiled)
        _Writer(sink, self._places).dump(parts)
        return f"{self._mark} {base64.b64encode(sink.getvalue()).decode()}"

    def read(self, text: str) -> Plan:
        """The inverse of `written`."""
        if not text:
            return Plan(self.network)
        mark, content = text.split()
        if mark != self._mark:
            raise AssertionError("a plan was written over another network than it is read for")
        return Plan(self.network, *_Reader(io.BytesIO(base64.b64decode(content)), self._nodes).load())

    def place(self, node: Node) -> int:
        """The place of `node` in the network."""
        return self._places[node]

    def node(self, place: int) -> Node:
        """The inverse of `place`."""
        return self._nodes[place]


class _Writer(pickle.Pickler):
    def __init__(self, sink: io.BytesIO, places: dict[Node, int]) -> None:
        super().__init__(sink, pickle.HIGHEST_PROTOCOL)
        self._places = places

    def persistent_id(self, obj: Any) -> int | None:
        """The place of a node."""
        return self._places.get(obj) if isinstance(obj, Node) else None


class _Reader(pickle.Unpickler):
    def __init__(self, source: io.BytesIO, nodes: tuple[Node, ...]) -> None:
        super().__init__(source)
        self._nodes = nodes

    def persistent_load(self, pid: int) -> Node:
        """The node at a place."""
        return self._nodes[pid]
