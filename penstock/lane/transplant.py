"""Moving an operator with its state from one context to another: what switching sharing on and off stands on.

Everything that an operator holds can be pickled. While it is, the context, the stores, the dictionaries and the stubs
are named instead of copied; the copy finds those of its new context under the same names.
"""

from __future__ import annotations

import io
import pickle
from typing import Any

from penstock.operators.base import Context, Operator
from penstock.operators.columns.dictionary import Dictionaries, Dictionary
from penstock.operators.columns.store import Store, Stub


def moved(operator: Operator, home: Context, target: Context) -> Operator:
    """A copy of `operator`, which lives in `home`, that lives in `target`: its stubs stand on the stores there, which
    must hold the same rows under the same numbers."""
    copy: Operator = _Reader(_written(operator, home), target).load()
    return copy


def stubs(operator: Operator, home: Context) -> list[Stub]:
    """Every stub that `operator` holds."""
    return [item for item in _written(operator, home).named if isinstance(item, Stub)]


def copied(store: Store) -> Store:
    """A store of the same rows under the same numbers, without users."""
    users, store.stubs = store.stubs, []
    copy: Store = pickle.loads(pickle.dumps(store))
    store.stubs = users
    return copy


def _written(operator: Operator, home: Context) -> _Writer:
    writer = _Writer(home)
    writer.dump(operator)
    return writer


class _Writer(pickle.Pickler):
    """Pickles an operator; what is not copied is put aside in `named` and written as its place there."""

    def __init__(self, home: Context) -> None:
        self.bytes = io.BytesIO()
        super().__init__(self.bytes, pickle.HIGHEST_PROTOCOL)
        self.home = home
        self.named: list[Any] = []
        self._places: dict[int, int] = {}
        self._stores = {id(store) for store in home.stores.values()}

    def persistent_id(self, item: Any) -> int | None:
        """The place of an item that is not copied."""
        if not self._stays(item):
            return None
        if id(item) not in self._places:
            self._places[id(item)] = len(self.named)
            self.named.append(item)
        return self._places[id(item)]

    def _stays(self, item: Any) -> bool:
        """True for what belongs to the context; a store that an operator keeps for itself goes with it."""
        if isinstance(item, Store | Stub):
            return id(item.store if isinstance(item, Stub) else item) in self._stores
        return isinstance(item, Context | Dictionaries | Dictionary) or item is self.home.set_aside


class _Reader(pickle.Unpickler):
    def __init__(self, written: _Writer, target: Context) -> None:
        super().__init__(io.BytesIO(written.bytes.getvalue()))
        self._named = written.named
        self._home = written.home
        self._target = target
        self._found: dict[int, Any] = {}

    def persistent_load(self, place: int) -> Any:
        """What stands for the item in the new context."""
        if place not in self._found:
            self._found[place] = self._counterpart(self._named[place])
        return self._found[place]

    def _counterpart(self, item: Any) -> Any:
        match item:
            case Context():
                return self._target
            case Store():
                return self._target.store(next(stream for stream, s in self._home.stores.items() if s is item))
            case Stub():
                stub = self._counterpart(item.store).stub()
                stub.release(item.low)
                return stub
        return self._target.set_aside if item is self._home.set_aside else item
