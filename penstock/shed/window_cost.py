"""What a window drop saves: the cost model of Tatbul 4.9.2, normalised as it must be.

| paper | here |
|---|---|
| p | the share of dropped windows; all savings are in proportion to it, so what follows is for p = 1 |
| B, omega, delta | `batch`, and `grid.size` and `grid.slide` |
| 1 - sel_w1 | `early`: the share of tuples that are dropped early |
| sel_w2 | fake tuples: none here, aggregates are told of batches directly |
| cost_WinDrop | the load model's `drop_s` for each tuple that comes to the place |
| cost_1, cost_2, cost_3 | what `LoadModel` has of the operators before, at and behind the aggregates |

A batch decision covers B slides. In the long run a share p of the batches goes, and with each the tuples of
(B + 1) delta - omega instants: p ((B + 1) delta - omega) / (B delta) of all. (The thesis divides by the length of the
batch, which counts instants between batches twice.)
"""

from __future__ import annotations

from collections.abc import Collection

from penstock.plan.drops import Location
from penstock.plan.node import Node
from penstock.plan.nodes import Join, WindowAggregate
from penstock.plan.window_reach import Reach, size_of
from penstock.shed.window_rules import Grid
from penstock.stats.load import LoadModel


def early(grid: Grid, batch: int) -> float:
    """The share of tuples dropped early where all batches are dropped but one window between them is kept.

    >>> early(Grid(0, 100, 100, (1,)), 10), early(Grid(0, 1, 100, (1,)), 10)
    (1.0, 0.0)
    """
    return max(0.0, ((batch + 1) * grid.slide - grid.size) / (batch * grid.slide))


def savings(load: LoadModel, places: Collection[Location], found: Reach, grid: Grid, batch: int) -> float:
    """Processor seconds a second that window drops at `places`, which drop the same windows, save for p = 1, without
    their own cost. `found` is what they reach together."""
    tops = {n.top for n in found.needs}
    gone: dict[Node, float] = {}
    saved = 0.0
    start = early(grid, batch)
    for node in _in_order(load, found):
        fallen, most = [], 0.0
        for i, below in enumerate(node.inputs):
            here = gone.get(below, 0.0)
            if Location(below) in places or Location(below, node, i) in places:
                here = start
            fallen.append(here * load.rate(Location(below)))
            most = max(most, here)
        saved += load.of(node).cost_s * sum(fallen)
        gone[node] = most if isinstance(node, Join) else _behind(load, node, sum(fallen), found, tops, grid, batch)
    return saved


def _in_order(load: LoadModel, found: Reach) -> list[Node]:
    """The nodes below the place, inputs first."""
    below = {n for needs in found.needs for way in needs.ways for n, _ in way.steps}
    return [n for n in load.nodes if n in below]


def _behind(
    load: LoadModel, node: Node, fallen: float, found: Reach, tops: set[WindowAggregate], grid: Grid, batch: int
) -> float:
    """The share that is gone of what `node` yields."""
    if isinstance(node, WindowAggregate):
        return 1.0 if node in tops else _inner(node, found, grid, batch)
    into = sum(load.rate(Location(below)) for below in node.inputs)
    return fallen / into if into else 0.0


def _inner(node: WindowAggregate, found: Reach, grid: Grid, batch: int) -> float:
    """Of an inner aggregate's windows those go that reach over what a batch leaves out."""
    shifts = [s for below in found.below if below.aggregate == node for s in below.shifts]
    a, b = max(a for a, _ in shifts), min(b for _, b in shifts)
    length = (batch + 1) * grid.slide - grid.size + b - a + size_of(node) - 1
    return min(1.0, max(0.0, length / (batch * grid.slide)))
