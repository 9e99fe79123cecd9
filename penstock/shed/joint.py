"""Queries that lose by the sampling of others: what they share with estimates is sampled for both.

A subset query that has operators in common with an estimate would keep these from being sampled, for it asks for every
tuple. Where random drops may stand before all that it shares (`penstock.shed.allowed`), it goes along: of what comes
there it gets the share that the estimates do, and loses nothing else. One before which no random drop may stand, or
which values its results or bounds its gaps, sees every tuple, and estimates are sampled behind what they share with it.
"""

from __future__ import annotations

from functools import lru_cache

from penstock.plan.drops import Location
from penstock.plan.network import Network, Query
from penstock.plan.node import Node, walk
from penstock.plan.nodes import Source
from penstock.shed.allowed import Allowed
from penstock.shed.qos import QoS, qos


@lru_cache(maxsize=16)
def companions(network: Network) -> dict[str, frozenset[str]]:
    """The subset queries that go along, each with the estimates that it shares operators with.

    >>> from penstock.cql import compile_script
    >>> network = compile_script('''CREATE STREAM s (x INT, k INT); CREATE VIEW v AS SELECT x, k FROM s WHERE x > 1;
    ...     CREATE QUERY e WITH (answer = 'estimate') AS SELECT sum(x) AS n FROM v [Range 1 Second Slide 1 Second];
    ...     CREATE QUERY q AS SELECT k FROM v; CREATE QUERY r AS SELECT x FROM s''')
    >>> companions(network)
    {'q': frozenset({'e'})}
    """
    declared = {q.name: qos(q) for q in network.queries}
    estimates = {q.name: _work(q) for q in network.queries if _samples(declared[q.name])}
    found: dict[str, frozenset[str]] = {}
    for query in network.queries:
        if _plain(declared[query.name]):
            mine = _work(query)
            shared = {name: mine & theirs for name, theirs in estimates.items() if mine & theirs}
            if shared and _bears(query, frozenset().union(*shared.values())):
                found[query.name] = frozenset(shared)
    return found


def spared(network: Network) -> dict[str, str]:
    """The companions, with why they lose nothing by other drops."""
    return {name: f"{name} loses what {', '.join(sorted(with_))} shares with it" for name, with_ in
            companions(network).items()}  # fmt: skip


def _samples(declared: QoS) -> bool:
    return declared.answer == "estimate" and declared.max_gap is None


def _plain(declared: QoS) -> bool:
    return declared.answer == "subset" and declared.max_gap is None and declared.value is None


def _work(query: Query) -> frozenset[Node]:
    """The operators over streams."""
    return frozenset(n for n in walk(query.root) if n.inputs and any(isinstance(b, Source) for b in walk(n)))


def _bears(query: Query, shared: frozenset[Node]) -> bool:
    """True where random drops may stand behind the streams under what is shared."""
    allowed = Allowed.of(Network(queries=(query,)))
    sources = {n for n in walk(*shared) if isinstance(n, Source)}
    return all(allowed.why_not(Location(s)) is None for s in sources)
