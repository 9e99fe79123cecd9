"""A valve: the drops at one location of a running network, and what went through them."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Final, Protocol, cast

from penstock.operators.base import Context
from penstock.operators.columns.train import Train
from penstock.operators.drops.faithful import Faithful
from penstock.plan.drops import AgeDrop, Drop, Location, Placed, RandomDrop, SemanticDrop, WindowDrop
from penstock.plan.node import Kind, Node

MODULES: Final[tuple[tuple[type, str], ...]] = (
    (RandomDrop, "random_drop"),
    (SemanticDrop, "semantic_drop"),
    (AgeDrop, "age_drop"),
    (WindowDrop, "window_drop"),
)
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
    """Lets trains through drops, one after another. What came in is what came out and what was dropped, always.

    On a relation it goes on `from_relation` when its drops change: what they took must not leave (see `Faithful`).
    """

    __slots__ = ("_dropped", "_rows_in", "_running", "from_relation", "placed")

    def __init__(self, placed: Sequence[Placed], context: Context) -> None:
        self.placed = list(placed)
        self._running = [running(drop, location.node, context) for location, drop in placed]
        self._rows_in = 0
        self._dropped = [0] * len(placed)
        self.from_relation: tuple[Location, Faithful] | None = None
        if placed and placed[0][0].node.kind is Kind.RELATION:
            self.from_relation = placed[0][0], Faithful(placed[0][0].node, context)

    @classmethod
    def after(cls, old: Valve, placed: Sequence[Placed], context: Context) -> Valve | None:
        """The valve with these drops in the place of `old`; None where nothing is left to do."""
        if not placed and not (old.from_relation and old.from_relation[1]):
            return None
        valve = cls(placed, context)
        if old.from_relation is not None:
            valve.from_relation = old.from_relation
            valve._dropped = valve._dropped or [0]
        return valve

    @property
    def running(self) -> list[tuple[Location, RunningDrop]]:
        """The drops at work, each with its location."""
        return [(location, drop) for (location, _), drop in zip(self.placed, self._running, strict=True)]

    def counts(self) -> list[tuple[Location, str, int, int]]:
        """For each drop its location and reason, the tuples that came to it, and how many of them it dropped."""
        counted, rows = [], self._rows_in
        if not self.placed and self.from_relation is not None:
            return [(self.from_relation[0], "left with its drop", rows, self._dropped[0])]
        for (location, drop), dropped in zip(self.placed, self._dropped, strict=True):
            counted.append((location, drop.reason, rows, dropped))
            rows -= dropped
        return counted

    def __call__(self, train: Train) -> Train:
        """What stays of `train`."""
        self._rows_in += len(train)
        if self.from_relation is not None:
            kept = train.take(self.from_relation[1].kept(train, self._through))
            self._dropped[-1] += len(train) - len(kept)
            return kept
        return self._through(train)

    def _through(self, train: Train) -> Train:
        on_relation = self.from_relation is not None
        for i, drop in enumerate(self._running):
            kept = drop(train)
            self._dropped[i] += 0 if on_relation else len(train) - len(kept)
            train = kept
        return train
