"""Ranges of a valued attribute: the cells into which value-based QoS divides a flow (Tatbul 3.7.1).

Queries that value the same column, wherever on its way it is renamed, have their ranges in common: `Attribute`. Its
ranges are cut at every bound of every interval that they declare (linear utilities cut in chunks) and where filters on
the way cut, since what a filter throws away costs nobody anything. Finer bins within a range tell where a drop that
takes a part of it ends.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

from penstock.plan.expressions import Call, Column, Literal, conjuncts
from penstock.plan.network import Network
from penstock.plan.node import Node
from penstock.plan.nodes import Filter
from penstock.plan.watched import Watched
from penstock.shed.lineage import lineage
from penstock.shed.qos import QoS
from penstock.shed.values import Value

FINER: Final = 8
"""Into so many bins of equal length each bounded range is cut ..."""
BINS: Final = 96
"""... unless there were more than these."""
_COMPARED: Final = ("<", "<=", ">", ">=")


@dataclass(frozen=True, slots=True)
class Attribute:
    """A column that `queries` value: `columns` has its name at each node; `bounds` the inner bounds of its ranges, or
    `categories` its values.

    Range number k is [bounds[k - 1], bounds[k]); the last one is for NULL. Of categories the last is everything else.
    """

    queries: tuple[str, ...]
    columns: tuple[tuple[Node, str], ...]
    values: tuple[tuple[str, Value], ...]
    bounds: tuple[float, ...] = ()
    categories: tuple[Any, ...] = ()

    @property
    def ranges(self) -> int:
        """How many ranges there are."""
        return len(self.categories) + 1 if self.categories else len(self.bounds) + 2

    def utility(self, query: str, number: int) -> float:
        """What a result in range `number` is worth to `query`."""
        value = dict(self.values)[query]
        if self.categories:
            return value.utility(self.categories[number]) if number < len(self.categories) else value.other
        if number > len(self.bounds):
            return value.utility(None)
        return value.chunked().utility(self._inside(number))

    def _inside(self, number: int) -> float:
        """A value in the range."""
        if number == 0:
            return self.bounds[0] - 1
        low = self.bounds[number - 1]
        return low + 1 if number == len(self.bounds) else (low + self.bounds[number]) / 2

    @property
    def bins(self) -> tuple[float, ...]:
        """The inner bounds of the finer bins."""
        inner = max(1, min(FINER, BINS // max(1, len(self.bounds) - 1)))
        cuts = [a + (b - a) * i / inner for a, b in pairwise(self.bounds) for i in range(inner)]
        return (*cuts, *self.bounds[-1:])

    def watched(self) -> Iterator[Watched]:
        """What is to be counted for it."""
        for node, column in self.columns:
            yield Watched(node, column, self.bins, self.categories)


def attributes(network: Network, declared: Sequence[QoS]) -> tuple[Attribute, ...]:
    """The attributes that the queries of `network` value, each once."""
    groups: list[tuple[dict[Node, str], list[tuple[str, Value]]]] = []
    for query, each in zip(network.queries, declared, strict=True):
        if each.value is not None and each.answer != "estimate":
            found = lineage(query.root, each.value.column)
            mine: tuple[dict[Node, str], list[tuple[str, Value]]] = (found, [(query.name, each.value)])
            for group in [g for g in groups if g[0].items() & found.items() and _alike(g[1][0][1], each.value)]:
                groups.remove(group)
                mine = ({**mine[0], **group[0]}, [*group[1], *mine[1]])
            groups.append(mine)
    return tuple(_attribute(network, *group) for group in groups)


def _alike(a: Value, b: Value) -> bool:
    """Both by intervals, or both by categories."""
    return bool(a.categories) == bool(b.categories)


def _attribute(network: Network, columns: dict[Node, str], values: list[tuple[str, Value]]) -> Attribute:
    names = tuple(name for name, _ in values)
    listed = tuple((n, columns[n]) for n in network.nodes() if n in columns)
    categories = {c: None for _, v in values for c, _ in v.categories}
    if categories:
        return Attribute(names, listed, tuple(values), categories=tuple(categories))
    ends = {e for _, v in values for i in v.chunked().intervals for e in (i.low, i.high) if e is not None}
    return Attribute(names, listed, tuple(values), bounds=tuple(sorted(ends | _filtered(columns))))


def _filtered(columns: dict[Node, str]) -> set[float]:
    """Where filters on the way of a column cut its values."""
    found: set[float] = set()
    for node, column in columns.items():
        for part in conjuncts(node.predicate) if isinstance(node, Filter) else ():
            if isinstance(part, Call) and part.function in _COMPARED:
                named = [a for a in part.arguments if isinstance(a, Column) and a.name == column]
                fixed = [a.value for a in part.arguments if isinstance(a, Literal)]
                numbers = [float(v) for v in fixed if isinstance(v, int | float) and not isinstance(v, bool)]
                found |= set(numbers) if named else set()
    return found
