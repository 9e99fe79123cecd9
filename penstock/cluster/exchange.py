"""Peers and the messages between them: D-FIT as a whole, over links that may delay and lose.

Time and links are arguments, so a run is a pure function of them; pipelines that talk over real connections use
`Peer` alone.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Mapping
from itertools import count

from penstock.cluster.checks import checked
from penstock.cluster.fragments import fragments
from penstock.cluster.messages import Message
from penstock.cluster.peer import Agreement, Peer
from penstock.cluster.topology import Topology, node_order
from penstock.errors import Diagnostic, PenstockError

Link = Callable[[Message], float | None]


def prompt(message: Message) -> float | None:
    """A link that delivers at once."""
    return 0.0


class Exchange:
    """The peers of a topology. `link` says how long each message takes, or None where it is lost."""

    def __init__(self, topology: Topology, agreement: Agreement, link: Link = prompt, now: float = 0.0) -> None:
        self.agreement, self.link, self.now = agreement, link, now
        self.peers: dict[str, Peer] = {}
        self.sent: list[Message] = []
        self._order = count()
        self._flying: list[tuple[float, int, Message]] = []
        self.change(topology)

    def change(self, topology: Topology) -> None:
        """Operators, costs, selectivities or nodes have changed: each node learns of its own fragment."""
        self.topology = one_parent_each(checked(topology))
        parts = fragments(topology)
        self.peers = {name: peer for name, peer in self.peers.items() if name in parts}
        for name in reversed(node_order(topology)):
            if name not in self.peers:
                self.peers[name] = Peer(parts[name], self.agreement, now=self.now)
                self._post(self.peers[name].publish())
            elif self.peers[name].fragment != parts[name]:
                self._post(self.peers[name].change(parts[name], self.now))

    def _post(self, messages: Iterable[Message]) -> None:
        for message in messages:
            self.sent.append(message)
            delay = self.link(message)
            if delay is not None:
                heapq.heappush(self._flying, (self.now + delay, next(self._order), message))

    def run(self, until: float) -> None:
        """Deliver everything that arrives up to this time."""
        while self._flying and self._flying[0][0] <= until:
            self.now, _, message = heapq.heappop(self._flying)
            if message.receiver in self.peers:
                self._post(self.peers[message.receiver].receive(message, self.now))
        self.now = max(self.now, until)

    def tick(self) -> None:
        """One beat of every peer."""
        for name in reversed(node_order(self.topology)):
            self._post(self.peers[name].tick(self.now))

    def settle(self, beats: int = 0) -> None:
        """Let everything in flight arrive; then as many beats, a second apart, as lost messages may need."""
        for _ in range(beats + 1):
            while self._flying:
                self.run(self._flying[0][0])
            if beats:
                self.run(self.now + 1.0)
                self.tick()
        while self._flying:
            self.run(self._flying[0][0])

    def measure(self, rates: Mapping[str, float]) -> None:
        """Each node measures the outside streams that enter it, and tells its parent with the next beat."""
        for peer in self.peers.values():
            peer.measure(rates)

    def restart(self, name: str) -> None:
        """A node loses all it knew."""
        self.peers[name] = self.peers[name].restarted(self.now)
        self._post(self.peers[name].publish())


def one_parent_each(topology: Topology) -> Topology:
    """`topology`, if it is a tree of nodes: D-FIT's tables go from each node to one parent (section 5.1.4)."""
    for name, part in fragments(topology).items():
        if len(part.upstream) > 1:
            message = f"node '{name}' reads from {len(part.upstream)} nodes: {', '.join(part.upstream)}"
            raise PenstockError(
                Diagnostic(message, help="D-FIT needs a tree of nodes; the methods solver and c-fit do not")
            )
    return topology
