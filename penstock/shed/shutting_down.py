"""What shutting queries down saves, and the drops that do it: everything goes on the arcs to what only they need, by
drops at their inputs with p = 1 (Tatbul 4.3)."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

from penstock.plan.drops import Location, Placed, RandomDrop
from penstock.plan.network import Network
from penstock.plan.node import Node
from penstock.plan.stores import in_one_store
from penstock.stats.load import LoadModel


def of(network: Network, load: LoadModel) -> LoadModel:
    """The load of a part of the network."""
    return LoadModel(network, load.work, load.rates, load.drop_s, load.values)


def only(network: Network, gone: Iterable[str]) -> Network:
    """The network without the queries that are `gone`."""
    left = set(gone)
    return replace(network, queries=tuple(q for q in network.queries if q.name not in left))


def costliest(
    load: LoadModel, gone: Iterable[str], among: Collection[str] | None = None, drops: Collection[Placed] = ()
) -> str | None:
    """Of the queries that still run (of those `among` them), the one without which most goes of the load that `drops`
    leave; None where none is left."""
    running = only(load.network, gone)
    whole = of(running, load).load_under(drops)
    names = [q.name for q in running.queries if among is None or q.name in among]
    return max(names, key=lambda name: whole - of(only(running, [name]), load).load_under(drops), default=None)


def cuts(network: Network, running: Network) -> tuple[Placed, ...]:
    """Drops of everything on the arcs into what only shut-down queries need; behind windows whose rows others have."""
    stored = in_one_store(network.nodes())
    needed = frozenset(running.nodes()) | stored
    taken: dict[Location, None] = {}
    for node in network.nodes():
        if node not in needed:
            arcs = (Location(below, node, i) for i, below in enumerate(node.inputs) if _enters(below, needed))
            taken.update(dict.fromkeys(arcs))
    return tuple((at, RandomDrop(1.0)) for at in taken)


def _enters(below: Node, needed: frozenset[Node]) -> bool:
    """True where the arc comes from what others need, or from a source."""
    return below in needed or not below.inputs

