"""A valve: the drops at one location of a running network, and what went through them."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Final, Protocol, cast

from penstock.operators.base import Context
from penstock.operators.columns.train import Train
from penstock.plan.drops import Drop, Location, Placed, RandomDrop, SemanticDrop
from penstock.plan.node import Node

MODULES: Final[tuple[tuple[type, str], ...]] = ((RandomDrop, "random_drop"), (SemanticDrop, "semantic_drop"))
"""Each kind of drop and its module in this package. A new kind is one new file and one line here."""
_BY_TYPE: Final = dict(MODULES)


class RunningDrop(Protocol):
    """A drop at work."""

    def __call__(self, train: Train) -> Train:
        """The tuples of `train` that stay."""


def running(drop: Drop, node: Node, context: Context) -> RunningDrop:
    """`drop`, ready to run on trains of `node`."""
    module = import_module(f"penstock.operators.drops.{_BY_TYPE[type(drop)]}")
    return cast(RunningDrop, module.build(drop, node, context))


class Valve:
    """Lets trains through drops, one after another. What came in is what came out and what was dropped, always."""

    __slots__ = ("_dropped", "_rows_in", "_running", "placed")

    def __init__(self, placed: Sequence[Placed], context: Context) -> None:
        self.placed = list(placed)
        self._running = [running(drop, location.node, context) for location, drop in placed]
        self._rows_in = 0
        self._dropped = [0] * len(placed)

    def counts(self) -> list[tuple[Location, str, int, int]]:
        """For each drop its location and reason, the tuples that came to it, and how many of them it dropped."""
        counted, rows = [], self._rows_in
        for (location, drop), dropped in zip(self.placed, self._dropped, strict=True):
            counted.append((location, drop.reason, rows, dropped))
            rows -= dropped
        return counted

    def __call__(self, train: Train) -> Train:
        """What stays of `train`."""
        self._rows_in += len(train)
        for i, drop in enumerate(self._running):
            kept = drop(train)
            self._dropped[i] += len(train) - len(kept)
            train = kept
        return train
