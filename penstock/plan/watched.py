"""Columns whose values are counted while a network runs: what value-based shedding and estimates must know of data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from penstock.plan.node import Node


@dataclass(frozen=True, slots=True)
class Watched:
    """`column` of what `node` yields, counted by bins.

    With `cuts` (rising) the bins are (.., c0), [c0, c1), ..., [cn, ..), and one for NULL; with `categories` (internal
    values) one for each of them, and one for everything else. Without either all values share the first bin.
    """

    node: Node
    column: str
    cuts: tuple[float, ...] = ()
    categories: tuple[Any, ...] = ()

    @property
    def bins(self) -> int:
        """How many bins there are."""
        return len(self.categories) + 1 if self.categories else len(self.cuts) + 2
