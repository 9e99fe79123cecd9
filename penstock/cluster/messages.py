"""What neighbours tell each other: tables and their changes upwards, acknowledgements downwards, rates and signs of
life upwards.

Reference: Tatbul, sections 5.5 (tables to parents) and 5.7.2 (deltas after a change); versions and acknowledgements
are ours.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from penstock.cluster.fit import Fit
from penstock.cluster.flows import Floats
from penstock.cluster.rows import Keys, stacked


@dataclass(frozen=True, slots=True)
class Version:
    """Counts a node's tables. A node that restarts takes a higher `epoch`, so its older messages are known to be
    old.
    """

    epoch: int
    number: int

    def __lt__(self, other: Version) -> bool:
        return (self.epoch, self.number) < (other.epoch, other.number)


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """A child's table, or what changed since version `base` of it: rows to set and names of rows to forget."""

    sender: str
    receiver: str
    version: Version
    base: Version | None
    changed: Fit
    forgotten: tuple[NDArray[np.intp], Keys]
    height: int

    @property
    def entries(self) -> int:
        """How many table entries this message carries."""
        return len(self.changed) + len(self.forgotten[1])

    @property
    def size_bytes(self) -> int:
        """Eight bytes per name, score, promise and load, and per forgotten name."""
        return len(self.changed) * 8 * (3 + len(self.changed.nodes)) + 8 * len(self.forgotten[1])


@dataclass(frozen=True, slots=True)
class Ack:
    """The parent now holds this version of the child's table; None asks for a whole table."""

    sender: str
    receiver: str
    version: Version | None


@dataclass(frozen=True, slots=True)
class Beat:
    """A child is alive, its table is at `version`, and these rates enter from outside at or below it."""

    sender: str
    receiver: str
    version: Version
    sequence: int
    rates: Mapping[str, float]


Message: TypeAlias = Table | Ack | Beat


def public(fit: Fit) -> Fit:
    """The table as a parent sees it: complementary local plans stay at home (section 5.5.1)."""
    return replace(fit, rows=replace(fit.rows, plans=np.zeros((len(fit), 0))), branches=())


def same_shape(first: Fit, second: Fit) -> bool:
    """Whether the two tables have the same columns."""
    return first.streams == second.streams and first.nodes == second.nodes and first.external == second.external


def delta(held: Fit, fresh: Fit, tolerance: float) -> tuple[NDArray[np.intp], tuple[NDArray[np.intp], Keys]]:
    """Rows of `fresh` that differ from `held` by more than `tolerance` (a share), and names that `fresh` has no
    more.
    """
    places = {name: k for k, name in enumerate(_names(held))}
    matching = np.array([places.get(name, -1) for name in _names(fresh)], dtype=np.intp)
    changed = matching < 0
    found = np.flatnonzero(~changed)
    there = matching[found]
    near = np.ones(len(found), dtype=bool)
    for old, new in ((held.rows.scores, fresh.rows.scores), (held.rows.promises, fresh.rows.promises)):
        near &= _near(old[there], new[found], tolerance)
    near &= _near(held.rows.loads[there], fresh.rows.loads[found], tolerance).all(axis=1)
    changed[found[~near]] = True
    gone = np.setdiff1d(np.arange(len(held)), there)
    return np.flatnonzero(changed), (held.stream_of[gone], held.rows.keys[gone])


def same_capacities(held: Fit, fresh: Fit, tolerance: float) -> bool:
    """Whether no node's capacity differs by more than `tolerance`."""
    return bool(_near(held.capacities, fresh.capacities, tolerance).all())


def _near(old: Floats, new: Floats, tolerance: float) -> NDArray[np.bool_]:
    near: NDArray[np.bool_] = np.abs(old - new) <= tolerance * np.minimum(np.abs(old), np.abs(new))
    return near


def part(fit: Fit, index: NDArray[np.intp]) -> Fit:
    """The table with the rows at `index` only."""
    return replace(fit, stream_of=fit.stream_of[index], rows=fit.rows.taken(index))


def patched(held: Fit, changed: Fit, forgotten: tuple[NDArray[np.intp], Keys]) -> Fit:
    """`held` after the change, in one order whatever the order of changes was."""
    out = {*_names(changed), *zip(*(array.tolist() for array in forgotten), strict=True)}
    keep = np.array([k for k, name in enumerate(_names(held)) if name not in out], dtype=np.intp)
    stays = held.rows.taken(keep)
    rows = stacked([stays, changed.rows])
    return ordered(replace(changed, stream_of=np.concatenate([held.stream_of[keep], changed.stream_of]), rows=rows))


def ordered(fit: Fit) -> Fit:
    """The same table, its rows by stream, then by falling score; on a tie the row that keeps more comes first."""
    return part(fit, np.lexsort((fit.rows.keys, -fit.rows.loads.sum(axis=1), -fit.rows.scores, fit.stream_of)))


def _names(fit: Fit) -> list[tuple[int, int]]:
    return list(zip(fit.stream_of.tolist(), fit.rows.keys.tolist(), strict=True))
