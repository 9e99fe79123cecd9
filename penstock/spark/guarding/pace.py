"""How many rows of a batch fit into the time that it has."""

from __future__ import annotations

from dataclasses import dataclass, field

from penstock.control.ahead import level as rounded
from penstock.control.controllers import MISSING, Reading, Safe, controller
from penstock.spark.guarding.cost import Cost


@dataclass(slots=True)
class Pace:
    """The controller of declared delays steers how long a batch takes as a whole: what has passed of it already, what
    any batch takes, and its rows. In the whole what batches differ by is small; in the time of a few rows it is not."""

    target_s: float
    cost: Cost = field(default_factory=Cost)
    _controller: Safe = field(default_factory=lambda: controller("seamless", batches=True))
    _expected_s: float = MISSING
    _took_s: float = MISSING
    _response_s: float = MISSING

    def share(
        self, now_s: float, came: int, spent_s: float, gathered_s: float, waited_s: float, lead_s: float
    ) -> float:
        """What is kept of `came` rows that came over `gathered_s`, the oldest of which had waited for `waited_s` when
        the batch began, `spent_s` ago; `lead_s` lies between two batches."""
        fixed_s = spent_s + self.cost.floor_s
        load = (fixed_s + came * self.cost.row_s) / gathered_s
        amount = self._controller.step(Reading(
            now_s=now_s, period_s=gathered_s, input_load=load, queued_load=load * gathered_s, target_s=self.target_s,
            headroom=1.0, lanes=1.0, p99_s=self._response_s, delay_s=self._response_s, took_s=self._took_s,
            processed=self._expected_s / self._took_s, waited_s=waited_s, lead_s=lead_s,
        ))  # fmt: skip
        room = ((load - amount.excess) * gathered_s - fixed_s) / self.cost.row_s
        share = min(1.0, max(room, self.cost.least) / came)
        return 1 - rounded(1 - share, 1.0)

    def expects(self, rows: float, spent_s: float) -> None:
        """So many rows are let in."""
        self._expected_s = spent_s + self.cost.floor_s + rows * self.cost.row_s if self.cost.known else MISSING

    def done(self, rows: int, took_s: float, spent_s: float, response_s: float) -> None:
        """A batch took so long, `spent_s` of it before its rows were let in, and was answered after `response_s`."""
        self.cost.see(rows, took_s - spent_s)
        self._took_s, self._response_s = took_s, response_s
