"""Drop predicates: from the share that is to be left of each range to the condition on rows that leaves it (3.7.2).

Ranges go in whole, and of one that goes in part its beginning does, so that every condition is one on ranges: of values
in [0, 50) and [50, 101), 40% and 60% of the rows, with 20% to drop the condition is `value >= 25`. Of a category, or of
cells of several attributes, a part goes by chance.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Final

import numpy as np

from penstock.plan.drops import NEVER
from penstock.plan.expressions import TRUE, Column, Expression, Literal
from penstock.plan.functions import call, cast
from penstock.plan.types import BIGINT, DOUBLE, Type
from penstock.shed.ranges import Attribute
from penstock.shed.shares import Floats
from penstock.stats.histograms import Histogram

SMALL: Final = 1e-6
"""A part of a range below this is none of it."""


@dataclass(frozen=True, slots=True)
class Condition:
    """Rows to keep: those for which `keep` is true, but for a share `part` of those for which `partly` is."""

    keep: Expression
    partly: Expression = NEVER
    part: float = 0.0


def by_ranges(attribute: Attribute, column: str, t: Type, left: Floats, seen: Histogram | None) -> Condition:
    """The condition that leaves `left` (share by share) of the ranges of `attribute`, `seen` at the place."""
    named = Column(column, t)
    if attribute.categories:
        return _by_categories(attribute, named, left)
    kept = [*_ranges(attribute, left[:-1], seen)]
    parts = [_between(named, low, high) for low, high in _joined(kept)]
    if left[-1] > SMALL:
        parts.append(call("is_null", named))
    return Condition(reduce(lambda a, b: call("or", a, b), parts) if parts else NEVER)


def _ranges(attribute: Attribute, left: Floats, seen: Histogram | None) -> Iterator[tuple[float, float]]:
    """What is kept, range by range."""
    ends = [-np.inf, *attribute.bounds, np.inf]
    for number, share in enumerate(left):
        low, high = ends[number], ends[number + 1]
        if share > 1 - SMALL:
            yield low, high
        elif share > SMALL:
            yield beginning_gone(attribute, low, high, 1 - float(share), seen), high


def beginning_gone(attribute: Attribute, low: float, high: float, gone: float, seen: Histogram | None) -> float:
    """Where the range [low, high) begins when a share `gone` of its rows, from the beginning, is dropped."""
    at_least, at_most = (seen.low, seen.high) if seen is not None and seen.low <= seen.high else (low, high)
    edges = np.array([-np.inf, *attribute.bins, np.inf])
    counts = np.ones(len(edges) - 1) if seen is None else np.array(seen.counts[:-1])
    mine = (edges[:-1] >= low) & (edges[1:] <= high)
    counts = counts[mine] if counts[mine].sum() else np.ones(int(mine.sum()))
    starts = np.where(np.isfinite(edges[:-1][mine]), edges[:-1][mine], min(at_least, high))
    ends = np.where(np.isfinite(edges[1:][mine]), edges[1:][mine], max(at_most, low))
    reached = np.concatenate([[0.0], np.cumsum(counts) / counts.sum()])
    return float(f"{np.interp(gone, reached, [*starts[:1], *ends]):.9g}")


def _joined(kept: Sequence[tuple[float, float]]) -> Iterator[tuple[float, float]]:
    """Neighbours as one."""
    waiting: tuple[float, float] | None = None
    for low, high in kept:
        if waiting is not None and waiting[1] == low:
            waiting = (waiting[0], high)
        else:
            if waiting is not None:
                yield waiting
            waiting = (low, high)
    if waiting is not None:
        yield waiting


def _between(column: Column, low: float, high: float) -> Expression:
    if np.isinf(low) and np.isinf(high):
        return call("is_not_null", column)
    parts = []
    if np.isfinite(low):
        parts.append(call(">=", column, _number(low, column.type)))
    if np.isfinite(high):
        parts.append(call("<", column, _number(high, column.type)))
    return reduce(lambda a, b: call("and", a, b), parts)


def _number(bound: float, t: Type) -> Expression:
    """`bound` as the column's own type where it is a whole number: `x >= 25` and not `cast(x as double) >= 25.0`. For
    whole numbers a bound between two is the next."""
    if t.name in ("int", "bigint", "timestamp", "date", "interval"):
        whole = int(np.ceil(bound))
        return Literal(whole, t) if t.name != "int" or abs(whole) < 1 << 31 else Literal(whole, BIGINT)
    return Literal(bound, DOUBLE) if t.name == "double" else cast(Literal(bound, DOUBLE), t)


def _by_categories(attribute: Attribute, column: Column, left: Floats) -> Condition:
    conditions = [call("=", column, Literal(c, column.type)) for c in attribute.categories]
    known = reduce(lambda a, b: call("or", a, b), conditions)
    conditions.append(call("or", call("is_null", column), call("not", known)))
    return _mixed(conditions, left)


def _mixed(conditions: Sequence[Expression], left: Floats) -> Condition:
    """Of cells that are left in part, a part goes by chance: the same part of each, as large as they ask together."""
    kept = [c for c, share in zip(conditions, left, strict=True) if share > SMALL]
    some = [(c, share) for c, share in zip(conditions, left, strict=True) if SMALL < share <= 1 - SMALL]
    if not kept:
        return Condition(NEVER)
    keep = TRUE if len(kept) == len(conditions) else reduce(lambda a, b: call("or", a, b), kept)
    if not some:
        return Condition(keep)
    partly = reduce(lambda a, b: call("or", a, b), [c for c, _ in some])
    return Condition(keep, partly, 1 - float(np.mean([share for _, share in some])))


def by_cells(
    attributes: Sequence[tuple[Attribute, str, Type]], left: Floats, rows: Floats, seen: Sequence[Histogram | None]
) -> Condition:
    """The condition that leaves `left` of the cells of several attributes, an axis for each; `rows` says how many rows
    are in each cell: of one that has none it does not matter what is left. An attribute that makes no difference is
    not asked for."""
    if len(attributes) == 1:
        return by_ranges(*attributes[0], left, seen[0])
    for axis in range(len(attributes)):
        same = _without(left, rows, axis)
        if same is not None:
            others = [i for i in range(len(attributes)) if i != axis]
            return by_cells([attributes[i] for i in others], same, rows.sum(axis=axis), [seen[i] for i in others])
    return _mixed(*_boxes(attributes, left))


def _without(left: Floats, rows: Floats, axis: int) -> Floats | None:
    """`left` without an axis along which it does not change; None where it does."""
    there = rows > 0
    lowest = np.where(there, left, np.inf).min(axis=axis)
    highest = np.where(there, left, -np.inf).max(axis=axis)
    known = there.any(axis=axis)
    return np.where(known, lowest, 1.0) if (highest - lowest <= SMALL)[known].all() else None


def _boxes(attributes: Sequence[tuple[Attribute, str, Type]], left: Floats) -> tuple[list[Expression], Floats]:
    """Conditions on all attributes, and what is left of each: ranges of the first for which the rest agrees as one."""
    (first, *others), conditions, shares = attributes, [], []
    patterns = np.round(left.reshape(first[0].ranges, -1), 6)
    for pattern in np.unique(patterns, axis=0):
        mine = (patterns == pattern).all(axis=1).astype(np.float64)
        outer = by_ranges(*first, mine, None).keep
        for share in np.unique(pattern):
            inner = (pattern == share).astype(np.float64).reshape(left.shape[1:])
            rest = by_cells(others, inner, np.ones(inner.shape), [None] * len(others)).keep
            conditions.append(outer if rest == TRUE else call("and", outer, rest))
            shares.append(float(share))
    return conditions, np.array(shares)
