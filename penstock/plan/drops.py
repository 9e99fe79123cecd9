"""Drops, as a plan has them: where on the network tuples are given up, and which (Tatbul 3.4, 3.5).

A drop is no operator of a query: it sits on an arc of the running network and can come, change and go between two
trains without disturbing the operators around it. What each kind does to a train is in `penstock.operators.drops`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

from penstock.plan.expressions import Expression, Literal
from penstock.plan.node import Node
from penstock.plan.types import BOOLEAN

NEVER: Final = Literal(False, BOOLEAN)
"""The condition that no row meets."""


@dataclass(frozen=True, slots=True)
class Location:
    """A place where tuples can be dropped: behind `node`.

    With `consumer`, on the arc into its input number `input` alone; with `query`, on the way to that query's result
    alone; with neither, before what `node` yields fans out.
    """

    node: Node
    consumer: Node | None = None
    input: int = 0
    query: str | None = None

    def __str__(self) -> str:
        target = self.consumer.label if self.consumer is not None else self.query
        return self.node.label if target is None else f"{self.node.label} -> {target}"


@dataclass(frozen=True, slots=True)
class RandomDrop:
    """Drops each tuple with probability `rate`, by a hash of `seed` and the tuple's identity: the same tuples whatever
    the batch cuts, and at a higher rate a superset of those of a lower one.

    `weighted`: a tuple that stays counts for those that went, its weight divided by 1 - `rate` (sampling).
    """

    rate: float
    seed: int = 0
    weighted: bool = False

    @property
    def reason(self) -> str:
        """What a tuple that this drops is counted under."""
        return "sampling" if self.weighted else "random"


@dataclass(frozen=True, slots=True)
class SemanticDrop:
    """Keeps the tuples for which `keep`, over the columns of the location's node, is true; of those for which `partly`
    is true too, a share `part` goes by a hash of `seed`. `rate` is the share that it is expected to drop."""

    keep: Expression
    rate: float
    partly: Expression = NEVER
    part: float = 0.0
    seed: int = 0

    @property
    def reason(self) -> str:
        """What a tuple that this drops is counted under."""
        return "semantic"


@dataclass(frozen=True, slots=True)
class AgeDrop:
    """Drops the tuples that arrived before `before` (microseconds): they come too late to be answered in time. `rate`
    is the share that it is expected to drop."""

    before: int
    rate: float

    @property
    def reason(self) -> str:
        """What a tuple that this drops is counted under."""
        return "backlog"


class Shut(NamedTuple):
    """The tuples of [tau, until) of one group are given up. `group` is its number, as
    `penstock.operators.drops.window_groups` makes it of the values of a drop's keys."""

    group: int
    tau: int
    until: int


@dataclass(frozen=True, slots=True)
class WindowDrop:
    """Drops whole windows, in batches, so that what is delivered downstream are whole results (Tatbul 4.4).

    | paper | here |
    |---|---|
    | T | time; with `rows`, the number of a tuple in its group |
    | G | `keys`, columns of the location's node: windows are dropped for each group by itself |
    | omega, delta | `size` and `slide`, of the windows that start at `origin` + k `slide` |
    | p, p[g] | `rate`, and `rates` for groups (their key values) that have another |
    | B, B[g] | `batch`, and `batches` |

    One coin is tossed for each `batch` windows, by a hash of `seed`, the group and the batch's number: nothing depends
    on how the stream is cut. Groups whose keys meet a condition of `classes` have its rate, by the first that they
    meet: whole groups go by what they are worth. Drops of one `link` decide together: the windows that one drops the
    others drop. The same queries are below them, and their `keys`, in order, have the same values.

    `shut` are the batches that are being dropped, where that is known: whoever is before the place may leave their
    tuples out.

    >>> drop = WindowDrop(5, 3, 0.4, batch=10, rates=((("a",), 0.1),))
    >>> drop.rate_of(("a",)), drop.rate_of(("b",))
    (0.1, 0.4)
    """

    size: int
    slide: int
    rate: float
    batch: int
    keys: tuple[str, ...] = ()
    origin: int = 0
    seed: int = 0
    rates: tuple[tuple[tuple[object, ...], float], ...] = ()
    classes: tuple[tuple[Expression, float], ...] = ()
    batches: tuple[tuple[tuple[object, ...], int], ...] = ()
    rows: bool = False
    link: str = ""
    shut: tuple[Shut, ...] = ()

    @property
    def grid(self) -> tuple[object, ...]:
        """What tells its windows and groups."""
        keys = len(self.keys) if self.link else self.keys
        return self.size, self.slide, self.origin, keys, self.rows, self.link, tuple(c for c, _ in self.classes)

    @property
    def reason(self) -> str:
        """What a tuple that this drops is counted under."""
        return "window"

    @property
    def idle(self) -> bool:
        """True where no window of any group is dropped."""
        return not any((self.rate, *(rate for _, rate in (*self.rates, *self.classes))))

    def rate_of(self, group: tuple[object, ...]) -> float:
        """p of a group."""
        return dict(self.rates).get(group, self.rate)

    def batch_of(self, group: tuple[object, ...]) -> int:
        """B of a group."""
        return dict(self.batches).get(group, self.batch)


Drop = RandomDrop | SemanticDrop | AgeDrop | WindowDrop
Placed = tuple[Location, Drop]
"""A drop in its place. Several at one location apply one after another."""
