"""Figure 5.17: the size of D-FIT's tables, and what is sent after a change."""

from __future__ import annotations

import numpy as np

from benchmarks.figures.distributed_fit import BY_INPUTS, thesis_points
from benchmarks.figures.distributed_networks import chains
from benchmarks.figures.reporting import Row, at_most, row
from penstock.cluster.exchange import Exchange
from penstock.cluster.messages import Table
from penstock.cluster.peer import Agreement
from penstock.cluster.points import changed_share
from penstock.cluster.topology import Topology

# A small share of the table: the bar for what a change sends unless the balance reverses.
SMALL = 25.0


def figure_5_17(full: bool, seed: int) -> list[Row]:
    """D-FIT: table size by epsilon and load (a), entries sent after a selectivity change (b) and a load movement
    (c).
    """
    rows = []
    for scale in (1.0, 0.75, 0.5):
        for epsilon in (1.0, 2.0, 5.0, 10.0) if full else (2.0, 10.0):
            costs = (64.0 * scale, 32.0 * scale)
            entries = len(thesis_points(costs, (32.0, 64.0), epsilon))
            rows.append(row(f"5.17a points, load {100 * scale:.0f}%, epsilon {epsilon:.0f}%", entries, "entries"))
    below = (32.0, 64.0)
    old = thesis_points((64.0, 32.0), below, 5)
    for change in (0.1, 0.3, 0.5):
        new = thesis_points((64.0, 32.0), below, 5, 1 - change)
        for difference in (0.0, 0.05, 0.2):
            share = changed_share(old, new, old.rates @ np.array([1 - change, 1.0]), difference)
            name = f"5.17b points, selectivity -{100 * change:.0f}%, difference {100 * difference:.0f}%"
            rows.append(row(name, 100 * share, "% of entries"))
    return rows + _movements() + _messages()


def _movements() -> list[Row]:
    """Figure 5.17c: cost moved from the parent's first operator to the child's; 24 units reverse the balance."""
    rows, old = [], thesis_points((56.0, 32.0), (32.0, 32.0), 5)
    for moved in (8.0, 16.0, 24.0):
        above, below = (56.0 - moved, 32.0), (32.0 + moved, 32.0)
        new = thesis_points(above, below, 5)
        fits = ((old.rates @ np.array(above) <= 1000.0) & (old.rates @ np.array(below) <= 1000.0)).astype(bool)
        for difference in (0.0, 0.05, 0.1, 0.2):
            share = changed_share(old, new, np.where(fits, old.scores, -np.inf), difference)
            name = f"5.17c points, {moved:.0f} moved, difference {100 * difference:.0f}%"
            rows.append(row(name, 100 * share, "% of entries"))
    return rows


def _messages() -> list[Row]:
    """Our own protocol on eight inputs: what is sent after one query changes, after all do, and below the tolerance."""
    costs = BY_INPUTS[8]
    dearer, drifted = ((costs[0] * factor, *costs[1:]) for factor in (1.5, 1.001))
    name = "5.17 our messages,"
    return [
        at_most(f"{name} one selectivity -30%", _sent(chains(costs, costs, 0.7)), "% of the table", SMALL),
        at_most(f"{name} one operator's cost +50%", _sent(chains(costs, dearer)), "% of the table", SMALL),
        at_most(f"{name} 4 units of load moved from parent to child",
                _sent(chains((12.0, *costs[1:]), (20.0, *costs[1:]))), "% of the table", SMALL),
        row(f"{name} balance reversed", _sent(chains(costs, costs[1:] + costs[:1])), "% of the table"),
        at_most(f"{name} drift of 0.1% under a tolerance of 5%", _sent(chains(costs, drifted), 0.05),
                "% of the table", 0.0),
    ]  # fmt: skip


def _sent(after: Topology, tolerance: float = 0.0) -> float:
    """Entries that node B sends when its network becomes `after`, as a percentage of its table."""
    exchange = Exchange(chains(BY_INPUTS[8]), Agreement(0.1, tolerance))
    exchange.settle()
    whole = len(exchange.peers["B"].fit)
    exchange.sent.clear()
    exchange.change(after)
    exchange.settle()
    return 100.0 * sum(m.entries for m in exchange.sent if isinstance(m, Table)) / whole
