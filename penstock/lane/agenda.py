"""Which operators have something to do, and which of them a scheduler lets run."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.lane.schedulers import Scheduler
from penstock.lane.slot import Slot


class Agenda:
    """The operators that can run before the instant `cap`, kept up to date as they do.

    Two things come before the scheduler's choice: an operator that only has to learn how far time has come, which costs
    nothing, and one whose queue has grown past `full_rows`, so that memory stays bounded whatever a scheduler prefers.
    """

    def __init__(self, slots: Sequence[Slot], scheduler: Scheduler, cap: int, full_rows: int) -> None:
        self._scheduler = scheduler
        self._cap = cap
        self._full_rows = full_rows
        self._ready: dict[int, Slot] = {}
        for slot in slots:
            self._note(slot)

    def _note(self, slot: Slot) -> None:
        if slot.unborn is None and slot.done < min(slot.reach, self._cap):
            self._ready[slot.position] = slot
        else:
            self._ready.pop(slot.position, None)

    def next(self) -> Slot | None:
        """The operator that runs next; None where none has anything to do."""
        if not self._ready:
            return None
        waiting = [s for s in self._ready.values() if s.queued]
        if len(waiting) < len(self._ready):
            return next(s for s in self._ready.values() if not s.queued)
        full = [s for s in waiting if s.queued > self._full_rows]
        chosen = max(full, key=lambda s: s.position) if full else self._scheduler.choose(waiting)
        return self._ready[chosen.position]

    def ran(self, slot: Slot) -> None:
        """Says that `slot` has run: it and its consumers may have more to do, or less."""
        self._note(slot)
        for arc in slot.outputs:
            if isinstance(arc.consumer, Slot):
                self._note(arc.consumer)
