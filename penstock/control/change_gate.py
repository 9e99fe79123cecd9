"""The change gate: small gains and noise do not make the plan restless.

A proposal passes where the gain that it expects is worth a change: large enough in proportion (`min_relative_gain`),
large enough for the machine (`min_absolute_gain`), and not right after another change of the same part (`cool_down_s`).
The paper's own brake, the thrashing-avoidance parameter alpha of equation 4.4, is in the algorithms. What is no matter
of gain, drops and what is to be measured, passes.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field

from penstock.plan.proposal import Proposal
from penstock.plan.running import Change
from penstock.settings import Settings
from penstock.stats.snapshot import Snapshot


@dataclass(slots=True)
class ChangeGate:
    """Judges by `settings`; it remembers when each part of the plan was changed, and how busy operators were."""

    settings: Settings = field(default_factory=Settings)
    _changed: dict[Hashable, float] = field(default_factory=dict)
    _before: Snapshot | None = None
    _last: Snapshot | None = None

    def judge(self, strategy: str, proposal: Proposal, snapshot: Snapshot) -> str | None:
        """None where the proposal passes, else why not."""
        if self._last is None or snapshot.number != self._last.number:
            self._before, self._last = self._last, snapshot
        if proposal.gain is None:
            return None
        refused = self._relative(proposal.gain) or self._absolute(proposal) or self._cooling(proposal, snapshot)
        if refused is None:
            self._changed[part_of(proposal.change)] = snapshot.now_s
        return refused

    def _relative(self, gain: float) -> str | None:
        least = self.settings.min_relative_gain
        return f"an expected gain of {gain:.3f} is below {least:g}" if gain < least else None

    def _absolute(self, proposal: Proposal) -> str | None:
        """What the change would save, in processor seconds a second, by what its operator took of late."""
        busy = self._busy(proposal.change)
        if busy is None or proposal.gain is None:
            return None
        saved, least = busy * (1 - 1 / proposal.gain), self.settings.min_absolute_gain
        return f"it would save {saved:.2g} processor seconds a second, less than {least:g}" if saved < least else None

    def _busy(self, change: Change) -> float | None:
        node = getattr(change, "filter", None)
        if node is None or self._last is None or self._before is None or not self._before.operators:
            return None
        if self._last.now_s <= self._before.now_s or any(p.node == node and p.outside for p in self._last.profiles):
            return None
        now, before = (sum(o.busy_s for o in s.operators if o.node == node) for s in (self._last, self._before))
        return (now - before) / (self._last.now_s - self._before.now_s) if now > before else None

    def _cooling(self, proposal: Proposal, snapshot: Snapshot) -> str | None:
        last = self._changed.get(part_of(proposal.change))
        if last is None or snapshot.now_s - last >= self.settings.cool_down_s:
            return None
        return f"this part was changed {snapshot.now_s - last:.3f} s ago, less than {self.settings.cool_down_s:g}"


def part_of(change: Change) -> Hashable:
    """What a change is about: two changes of one part replace each other."""
    return type(change).__name__, getattr(change, "filter", None)
