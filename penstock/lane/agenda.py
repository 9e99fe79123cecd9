"""Which operators have something to do, and which of them a scheduler lets run."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Sequence
from operator import attrgetter

from penstock.lane.schedulers import Scheduler
from penstock.lane.slot import Slot

_position = attrgetter("position")


class Agenda:
    """The operators that can run before the instant `cap`, kept up to date as they do.

    Two things come before the scheduler's choice: an operator that only has to learn how far time has come, which costs
    nothing, and one whose queue has grown past `full_rows`, so that memory stays bounded whatever a scheduler prefers.
    """

    def __init__(self, slots: Sequence[Slot], scheduler: Scheduler, cap: int, full_rows: int) -> None:
        self._scheduler = scheduler
        self._cap = cap
        self._full_rows = full_rows
        self._idle: dict[int, Slot] = {}
        self._waiting: list[Slot] = []
        self._full: dict[int, Slot] = {}
        self._known: set[int] = set()
        for slot in slots:
            self._note(slot)

    def _note(self, slot: Slot) -> None:
        ready = slot.unborn is None and slot.done < min(slot.reach, self._cap)
        queued = slot.queued if ready else 0
        _put(self._idle, slot, ready and not queued)
        _put(self._full, slot, queued > self._full_rows)
        if queued and slot.position not in self._known:
            self._known.add(slot.position)
            insort(self._waiting, slot, key=_position)
        elif not queued and slot.position in self._known:
            self._known.remove(slot.position)
            del self._waiting[bisect_left(self._waiting, slot.position, key=_position)]

    def settle(self) -> int:
        """Tells every operator that has nothing to take how far time has come; how many elements came to queues by
        that: an aggregate may have windows to close."""
        came = 0
        while self._idle:
            slot = self._idle.popitem()[1]
            before = 0 if slot.stateless else slot.around
            slot.advance(min(slot.reach, self._cap))
            came += 0 if slot.stateless else slot.around - before
            self._tell(slot)
        return came

    def next(self) -> Slot | None:
        """The operator that runs next, once all is settled; None where none has anything to do."""
        if self._full:
            return self._full[max(self._full)]
        if not self._waiting:
            return None
        chosen = self._scheduler.choose(self._waiting)
        return self._waiting[bisect_left(self._waiting, chosen.position, key=_position)]

    def ran(self, slot: Slot) -> None:
        """Says that `slot` has run: it and its consumers may have more to do, or less."""
        self._note(slot)
        self._tell(slot)

    def _tell(self, slot: Slot) -> None:
        for arc in slot.outputs:
            if isinstance(arc.consumer, Slot):
                self._note(arc.consumer)


def _put(slots: dict[int, Slot], slot: Slot, there: bool) -> None:
    if there:
        slots[slot.position] = slot
    else:
        slots.pop(slot.position, None)
