"""Which operators share which stores: contexts by query and by birth.

With sharing, all windows over one stream share one store (Babu 2.3.1). A stream without memory is the same for
everybody, so its store is shared between queries of all births; any other stream has one store for each birth, since
a query that came later sees another past. All stores of one stream without memory number its rows alike, whoever owns
them: so operators can move from one to another when sharing is switched.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from penstock.operators.base import Context
from penstock.operators.columns.dictionary import Dictionaries
from penstock.operators.columns.store import Store
from penstock.plan.node import Node
from penstock.plan.nodes import Delay, Filter, Map, Source, Union
from penstock.plan.windows import BEGIN

_MEMORYLESS = (Filter, Map, Delay, Union)


class Birth(NamedTuple):
    """When a query was added: the instant from which on it sees streams; `serial` tells those apart that were added at
    one instant but cannot share, since something had run in between."""

    instant: int
    serial: int = 0


ORIGIN: Final = Birth(BEGIN)
"""The birth of what was there before any element, and of operators without memory: to them it does not matter."""
Scope = tuple[str | None, Birth]
"""Owner (None: shared) and birth."""


def memoryless(node: Node) -> bool:
    """True where what `node` yields at an instant depends on its streams at that instant alone."""
    return isinstance(node, Source) or (isinstance(node, _MEMORYLESS) and all(map(memoryless, node.inputs)))


class Contexts:
    """All contexts of a lane; they share the dictionaries and the count of rows set aside."""

    def __init__(self, dictionaries: Dictionaries) -> None:
        self.dictionaries = dictionaries
        self.set_aside: dict[str, int] = {}
        self._by_scope: dict[Scope, Context] = {}

    def of(self, owner: str | None, birth: Birth) -> Context:
        """The context of operators of this owner and birth."""
        if (owner, birth) not in self._by_scope:
            self._by_scope[owner, birth] = self.fresh()
        return self._by_scope[owner, birth]

    def fresh(self) -> Context:
        """A context without stores, on the same dictionaries."""
        return Context(self.dictionaries, set_aside=self.set_aside)

    def prepare(self, owner: str | None, birth: Birth, stream: Node) -> None:
        """Gives operators of this owner and birth the store of `stream` that all births share. One that nothing was
        put into numbers its rows as the others do: all of these have just come to one instant."""
        if not memoryless(stream):
            return
        store = self.of(owner, ORIGIN).store(stream)
        self.of(owner, birth).stores[stream] = store
        if store.base == store.end:
            store.base = store.end = max([store.end, *(s.end for s in self._all_of(stream))])
            for stub in store.stubs:
                stub.low = max(stub.low, store.base)

    def _all_of(self, stream: Node) -> Iterator[Store]:
        return (c.stores[stream] for c in self._by_scope.values() if stream in c.stores)

    def stores(self) -> list[Store]:
        """Every store once."""
        return list({id(s): s for c in self._by_scope.values() for s in c.stores.values()}.values())

    def items(self) -> list[tuple[Scope, Context]]:
        """Every context with its scope."""
        return list(self._by_scope.items())

    def forget_unused(self) -> None:
        """Drops the stores that nobody uses."""
        for context in self._by_scope.values():
            context.stores = {stream: s for stream, s in context.stores.items() if s.stubs}

    def replace(self, contexts: dict[Scope, Context]) -> None:
        """Makes `contexts` all there are."""
        self._by_scope = contexts
