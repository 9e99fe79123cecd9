"""A script that changes over one checkpoint: what continues, what is added, what is refused.

Queries that are registered together are a **generation**. A generation is rewritten and cut into fragments by itself,
so that a query that comes later never moves the state of one that is there. A later generation sees what is stamped
from its birth on: past everything that had come in when it was added. A query that is taken away leaves its generation,
and with it goes the state that only it needed.

Query options (delay, loss, ...) and settings may change freely. A changed definition of a stream, relation or query is
refused: the state is that of the old one. A query of another name is another query.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from penstock.errors import Diagnostic, PenstockError
from penstock.plan.network import Network, Query, RelationDefinition, StreamDefinition
from penstock.plan.node import walk
from penstock.plan.nodes import Source
from penstock.plan.windows import BEGIN


@dataclass(frozen=True, slots=True)
class Generation:
    """Queries that were registered together, those that are `gone` among them; `born` is the instant from which on they
    see streams, `first` their first batch."""

    queries: tuple[Query, ...]
    born: int = BEGIN
    first: int = 0
    gone: frozenset[str] = frozenset()

    @property
    def alive(self) -> frozenset[str]:
        """The names of the queries that run."""
        return frozenset(q.name for q in self.queries) - self.gone


@dataclass(frozen=True, slots=True)
class Registered:
    """What a checkpoint runs. `read` are the streams in the order in which Spark's offset log has them."""

    streams: tuple[StreamDefinition, ...]
    relations: tuple[RelationDefinition, ...]
    generations: tuple[Generation, ...]
    read: tuple[str, ...]
    sharing: bool = True

    @property
    def network(self) -> Network:
        """All queries that run."""
        queries = tuple(q for g in self.generations for q in g.queries if q.name in g.alive)
        return Network(self.streams, self.relations, queries, self.sharing)

    def of(self, generation: Generation) -> Network:
        """One generation alone, with those that are gone."""
        return Network(self.streams, self.relations, generation.queries, self.sharing)

    @property
    def name(self) -> str:
        """The fingerprint under which the checkpoint keeps it."""
        text = repr((self.streams, self.relations, self.read, self.sharing))
        text += repr([(g.queries, g.born, g.first, sorted(g.gone)) for g in self.generations])
        return hashlib.sha256(text.encode()).hexdigest()[:16]


def first(network: Network) -> Registered:
    """A script that no checkpoint has run yet."""
    return Registered(network.streams, network.relations, (Generation(network.queries),), streams_of(network.queries),
                      network.sharing)  # fmt: skip


def streams_of(queries: Iterable[Query]) -> tuple[str, ...]:
    """The streams that `queries` read, each once."""
    leaves = (n for q in queries for n in walk(q.root) if isinstance(n, Source))
    return tuple(dict.fromkeys(leaf.name for leaf in leaves))


def changed(before: Registered, network: Network, born: int, batch: int) -> Registered:
    """`before` as `network` has it from `batch` on; raises PenstockError, with the reasons, where it cannot go on."""
    there = {q.name: q for q in before.network.queries}
    wanted = {q.name: q for q in network.queries}
    added = tuple(q for name, q in wanted.items() if name not in there)
    mistakes = [*_moved(before, network), *_other(there, wanted), *_unread(before, added)]
    if mistakes:
        help_ = "run the old script, or start with a new checkpoint folder; queries may be added and removed"
        note = "the state in the checkpoint is that of the script that made it"
        raise PenstockError(*(Diagnostic(m, notes=(note,), help=help_) for m in mistakes))
    kept = tuple(_without(g, wanted) for g in before.generations)
    if added:
        kept = (*kept, Generation(added, born, batch))
    return replace(before, streams=network.streams, relations=network.relations, generations=kept)


def _without(generation: Generation, wanted: dict[str, Query]) -> Generation:
    """The generation without what is not wanted any more; the rest with the options that it has now."""
    alive = generation.alive
    queries = tuple(_renewed(q, wanted[q.name]) if q.name in alive and q.name in wanted else q
                    for q in generation.queries)  # fmt: skip
    return replace(generation, queries=queries, gone=generation.gone | (alive - wanted.keys()))


def _renewed(old: Query, new: Query) -> Query:
    return replace(old, options=new.options)


def _moved(before: Registered, network: Network) -> list[str]:
    """Streams and relations that are not what they were; those that nothing has read may come and go."""
    mistakes = []
    used = {n for q in before.network.queries for n in _leaves(q)}
    for kind, old, new in (("stream", before.streams, network.streams), ("relation", before.relations,
                                                                          network.relations)):  # fmt: skip
        known = {d.name: d for d in new}
        for definition in old:
            name = definition.name
            if name not in used:
                continue
            if name not in known:
                mistakes.append(f"the {kind} '{name}' is gone, and the checkpoint's queries read it")
            elif known[name] != definition:
                mistakes.append(f"the {kind} '{name}' is defined otherwise than in the checkpoint")
    if before.sharing != network.sharing:
        mistakes.append("sharing of operators is switched otherwise than in the checkpoint")
    return mistakes


def _leaves(query: Query) -> set[str]:
    return {str(getattr(n, "name", "")) for n in walk(query.root) if not n.inputs}


def _other(there: dict[str, Query], wanted: dict[str, Query]) -> list[str]:
    compared: tuple[tuple[str, Callable[[Query], object]], ...] = (
        ("computes something else", lambda q: q.root),
        ("delivers to another place", lambda q: q.sink),
    )
    return [
        f"the query '{name}' {what} than in the checkpoint"
        for name, query in wanted.items()
        if name in there
        for what, part in compared
        if part(query) != part(there[name])
    ]


def _unread(before: Registered, added: tuple[Query, ...]) -> list[str]:
    return [
        f"the new query '{q.name}' reads the stream '{s}', of which the checkpoint has no offsets"
        for q in added
        for s in streams_of([q])
        if s not in before.read
    ]
