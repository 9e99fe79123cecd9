"""What plans are chosen for: total weighted throughput at the query ends, as in the thesis, or (`utility`) total
utility.

Reference: Tatbul, sections 5.1.4 and 5.2.1, equation 5.3.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from penstock.cluster.flows import Floats, FlowModel
from penstock.cluster.pivots import Dictionary
from penstock.cluster.selecting import best_flows, flow_dictionary


class Objective(Protocol):
    """How good flows are, and which are best."""

    def best(self, rates: Floats) -> Floats:
        """The best flows at `rates`."""
        ...

    def value(self, flows: Floats, rates: Floats) -> float:
        """The score of `flows` at `rates`."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Throughput:
    """Total weighted throughput."""

    model: FlowModel
    tableau: Dictionary

    def best(self, rates: Floats) -> Floats:
        """The optimum of section 5.2's program, by pivots from keeping everything."""
        return best_flows(self.model, self.tableau, rates)

    def value(self, flows: Floats, rates: Floats) -> float:
        """Weighted tuples per second at the query ends."""
        return float(self.model.scores @ flows)


def throughput(model: FlowModel) -> Throughput:
    """The throughput objective of a model."""
    return Throughput(model, flow_dictionary(model))
