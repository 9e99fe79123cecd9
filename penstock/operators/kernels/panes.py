"""Which partial results enter and leave which window: the bookkeeping of windowed aggregates, without a value in it.

A **pane** is a run of a partition's rows that lie in exactly the same windows, `first` to `last`; a **cell** is what
one group has in one pane, and holds one partial result of each aggregate. Rows find their cell; when window k closes,
the panes with first <= k enter, those with last < k leave, and every group that then has a cell is read. Each pane
enters once and leaves once, however many windows cover it, and windows that hold nothing are passed over in one step.

All state is tables of int64, one row an entry, chained through columns; -1 ends a chain. `run` takes rows as far as
the tables have room, and says how far.

    parts    one a partition: CLOSED, windows below it have closed; chains of panes that wait (by first) and that have
    entered (by last); the chain of groups that have a cell in them panes    FIRST and LAST window, the chain of
    cells, and of its rows the oldest arrival and the first timestamp cells    GROUP, PANE, and the next of the pane
    groups   OPEN, the cell that took the group's last row; its CELLS altogether and those ENTERED; its place in the
             chain
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numba import njit

from penstock.operators.columns.vector import Array
from penstock.operators.kernels.pane_log import AT, BEGINNING, OLDEST, READINGS, STAMP, WINDOW, has_room

CLOSED, WAITING, WAITING_END, ENTERED_FIRST, ENTERED_END, LIVE, GROUPS, SIZES = range(8)
PART: Final = (-(1 << 63), -1, -1, -1, -1, -1, 0, 0)
DONE, FULL_TABLES, FULL_LOG = range(3)
FIRST, LAST, CHAIN, SIZE, ARRIVAL, START, NEXT, PREVIOUS = range(8)
PANE: Final = 8
GROUP, PANE_OF, NEXT_CELL = range(3)
CELL: Final = 3
OPEN, CELLS, ENTERED, NEXT_GROUP, PREVIOUS_GROUP = range(5)
FRESH_GROUP: Final = (-1, 0, 0, -1, -1)
FREE_PANE, TOP_PANE, FREE_CELL, TOP_CELL, LEFT, LEFT_END, LATE = range(7)
COUNTERS: Final = (-1, 0, -1, 0, -1, -1, 0)
NEVER: Final = np.iinfo(np.int64).max


@njit(cache=True)
def windows_over(ts: Array, origin: int, slide: int, size: int) -> tuple[Array, Array]:
    """For rising places: the first window that ends after each, and the last that starts at or before it."""
    first, last = np.empty(len(ts), np.int64), np.empty(len(ts), np.int64)
    until = -NEVER
    a, b = 0, 0
    for i in range(len(ts)):
        if ts[i] >= until:
            a = (ts[i] - origin - size) // slide + 1
            b = (ts[i] - origin) // slide
            until = origin + min(a * slide + size, (b + 1) * slide)
        first[i], last[i] = a, b
    return first, last


@njit(cache=True)
def numbered(parts: Array, counts: Array) -> Array:
    """The number of each row in its partition, from 0; `counts` goes on."""
    numbers = np.empty(len(parts), np.int64)
    for i in range(len(parts)):
        numbers[i] = counts[parts[i]]
        counts[parts[i]] += 1
    return numbers


@njit(cache=True)
def run(tables: Any, counters: Array, log: Any, rows: Any, start: int, clock: int, overlap: bool,
        cells_of: Array) -> Any:  # fmt: skip
    """Gives rows from `start` on their cells (-1: in no window), and closes windows as time goes.

    tables    (parts, panes, cells, groups)
    log       where steps and windows are written (see `pane_log`)
    rows      (partition, group, first, last, closing, stamp, arrival) of each row: before it is taken in, all windows
              of its partition below `first` close; after it, all below `closing` (empty: none do); they are stamped
              with its `stamp`
    clock     after the last row, all windows of partition 0 below it close
    overlap   False: no row lies in two windows, so cells are read as they are and leave at once

    Returns the row to go on from, and DONE, or FULL_TABLES, or FULL_LOG: then it wants to be called again with more
    room.
    """
    parts, panes, cells, groups = tables
    partition, group, first, last, closing, stamp, arrival = rows
    slots, sources, signs, windows, used = log
    i = start
    while True:
        if len(closing) and i > 0:
            p = partition[i - 1] if len(partition) else 0
            if closing[i - 1] > parts[p, CLOSED] and not _close(
                parts, panes, cells, groups, counters, slots, sources, signs, windows, used, p, closing[i - 1],
                stamp[i - 1], overlap
            ):  # fmt: skip
                return i, FULL_LOG
        if i == len(group):
            break
        p = partition[i] if len(partition) else 0
        if len(closing) == 0 and first[i] > parts[p, CLOSED] and not _close(
            parts, panes, cells, groups, counters, slots, sources, signs, windows, used, p, first[i], stamp[i], overlap
        ):  # fmt: skip
            return i, FULL_LOG
        taken = _take_in(parts, panes, cells, groups, counters, partition, group, first, last, closing, stamp, arrival,
                         i, cells_of)  # fmt: skip
        if taken == i:
            return i, FULL_TABLES
        i = taken
    if clock > parts[0, CLOSED] and not _close(
        parts, panes, cells, groups, counters, slots, sources, signs, windows, used, 0, clock, 0, overlap
    ):
        return i, FULL_LOG
    return i, DONE


@njit(cache=True)
def _take_in(parts: Array, panes: Array, cells: Array, groups: Array, counters: Array, partition: Array, group: Array,
             first: Array, last: Array, closing: Array, stamp: Array, arrival: Array, start: int,
             cells_of: Array) -> int:  # fmt: skip
    """Gives rows from `start` on their cells, up to where a window closes; returns the row after."""
    p, a, b, pane = -1, 0, -1, -1
    i = start
    while i < len(group):
        q = partition[i] if len(partition) else 0
        if q != p or first[i] != a or last[i] != b:
            p, a, b, pane = q, first[i], last[i], -1
            closed = parts[p, CLOSED]
            if i > start and len(closing) == 0 and a > closed:
                return i
            if a <= b and b >= closed:
                pane = _pane(parts, panes, counters, p, max(a, closed), b, stamp[i])
                if pane < 0:
                    return i
        cell = -1
        if pane < 0:
            counters[LATE] += a <= b
        else:
            g = group[i]
            cell = groups[g, OPEN]
            if cell < 0 or cells[cell, PANE_OF] != pane:
                cell = counters[FREE_CELL]
                if cell >= 0:
                    counters[FREE_CELL] = cells[cell, NEXT_CELL]
                elif counters[TOP_CELL] < len(cells):
                    cell = counters[TOP_CELL]
                    counters[TOP_CELL] += 1
                else:
                    return i
                cells[cell, GROUP], cells[cell, PANE_OF], cells[cell, NEXT_CELL] = g, pane, panes[pane, CHAIN]
                panes[pane, CHAIN] = cell
                panes[pane, SIZE] += 1
                groups[g, OPEN] = cell
                groups[g, CELLS] += 1
            if arrival[i] < panes[pane, ARRIVAL]:
                panes[pane, ARRIVAL] = arrival[i]
        cells_of[i] = cell
        i += 1
        if len(closing) and closing[i - 1] > parts[p, CLOSED]:
            return i
    return i


@njit(cache=True)
def settle(tables: Any, counters: Array, slots: Array) -> Array:
    """Frees the cells that left; returns the groups among `slots` that have none any more, each once."""
    _, _, cells, groups = tables
    if counters[LEFT] >= 0:
        cells[counters[LEFT_END], NEXT_CELL] = counters[FREE_CELL]
        counters[FREE_CELL] = counters[LEFT]
        counters[LEFT] = -1
    gone = np.empty(len(slots), np.int64)
    n = 0
    for i in range(len(slots)):
        group = slots[i]
        if groups[group, CELLS] == 0:
            groups[group, CELLS] = -1
            gone[n] = group
            n += 1
    for i in range(n):
        groups[gone[i], CELLS] = 0
    return gone[:n]


@njit(cache=True, inline="always")
def _let_go(cells: Array, groups: Array, counters: Array, cell: int, group: int) -> None:
    """Puts a cell among those that left, to be free when the batch is over and its value was taken."""
    cells[cell, NEXT_CELL] = counters[LEFT]
    if counters[LEFT] < 0:
        counters[LEFT_END] = cell
    counters[LEFT] = cell
    groups[group, CELLS] -= 1


@njit(cache=True)
def _pane(parts: Array, panes: Array, counters: Array, p: int, first: int, last: int, stamp: int) -> Any:
    """The waiting pane of these windows, perhaps a new one in its place among the others; -1 where there is no room."""
    before = parts[p, WAITING_END]
    while before >= 0 and (
        panes[before, FIRST] > first or (panes[before, FIRST] == first and panes[before, LAST] > last)
    ):
        before = panes[before, PREVIOUS]
    if before >= 0 and panes[before, FIRST] == first and panes[before, LAST] == last:
        return before
    pane = counters[FREE_PANE]
    if pane >= 0:
        counters[FREE_PANE] = panes[pane, NEXT]
    elif counters[TOP_PANE] < len(panes):
        pane = counters[TOP_PANE]
        counters[TOP_PANE] += 1
    else:
        return -1
    panes[pane, FIRST], panes[pane, LAST], panes[pane, CHAIN], panes[pane, SIZE] = first, last, -1, 0
    panes[pane, ARRIVAL], panes[pane, START] = NEVER, stamp
    _link(parts[p], WAITING, panes, pane, before)
    return pane


@njit(cache=True)
def _link(part: Array, chain: int, panes: Array, pane: int, before: int) -> None:
    """Puts a pane into the chain at part[chain] after `before` (-1: first)."""
    after = panes[before, NEXT] if before >= 0 else part[chain]
    panes[pane, PREVIOUS], panes[pane, NEXT] = before, after
    if before >= 0:
        panes[before, NEXT] = pane
    else:
        part[chain] = pane
    if after >= 0:
        panes[after, PREVIOUS] = pane
    else:
        part[chain + 1] = pane


@njit(cache=True)
def _unlink_first(part: Array, chain: int, panes: Array) -> Any:
    pane = part[chain]
    part[chain] = panes[pane, NEXT]
    if part[chain] >= 0:
        panes[part[chain], PREVIOUS] = -1
    else:
        part[chain + 1] = -1
    return pane


@njit(cache=True)
def _close(parts: Array, panes: Array, cells: Array, groups: Array, counters: Array, slots: Array, sources: Array,
           signs: Array, windows: Array, used: Array, p: int, clock: int, stamp: int,
           overlap: bool) -> bool:  # fmt: skip
    """Closes the windows of partition `p` below `clock`, those that hold something. False where the log is full; what
    was done by then stays done, and the next call goes on from there.
    """
    part = parts[p]
    while True:
        k = part[CLOSED]
        if part[ENTERED_FIRST] < 0:
            if part[WAITING] < 0:
                break
            k = max(k, panes[part[WAITING], FIRST])
        if k >= clock:
            break
        part[CLOSED] = k
        while part[ENTERED_FIRST] >= 0 and panes[part[ENTERED_FIRST], LAST] < k:
            if not has_room(slots, used, panes[part[ENTERED_FIRST], SIZE]):
                return False
            _leave(panes, cells, groups, counters, slots, sources, signs, used, part)
        while part[WAITING] >= 0 and panes[part[WAITING], FIRST] <= k:
            if not has_room(slots, used, panes[part[WAITING], SIZE]):
                return False
            _enter(panes, cells, groups, slots, sources, signs, used, part, overlap)
        if part[ENTERED_FIRST] >= 0:
            if used[1] == len(windows) or not has_room(slots, used, part[GROUPS] if overlap else part[SIZES]):
                return False
            _note(windows, used, k, stamp, panes[part[ENTERED_FIRST]])
            if overlap:
                _read(groups, slots, sources, signs, used, part)
            else:
                _read_and_leave(panes, cells, groups, counters, slots, sources, signs, used, part)
            windows[used[1] - 1, READINGS] = used[0] - windows[used[1] - 1, AT]
            part[CLOSED] = k + 1
    part[CLOSED] = max(part[CLOSED], clock)
    return True


@njit(cache=True)
def _note(windows: Array, used: Array, k: int, stamp: int, oldest: Array) -> None:
    """Writes down a window that is about to be read."""
    window = windows[used[1]]
    window[WINDOW], window[STAMP], window[AT] = k, stamp, used[0]
    window[BEGINNING], window[OLDEST] = oldest[START], oldest[ARRIVAL]
    used[1] += 1


@njit(cache=True)
def _enter(panes: Array, cells: Array, groups: Array, slots: Array, sources: Array, signs: Array, used: Array,
           part: Array, overlap: bool) -> None:  # fmt: skip
    """The first waiting pane enters."""
    pane = _unlink_first(part, WAITING, panes)
    before = part[ENTERED_END]
    while before >= 0 and panes[before, LAST] > panes[pane, LAST]:
        before = panes[before, PREVIOUS]
    _link(part, ENTERED_FIRST, panes, pane, before)
    part[SIZES] += panes[pane, SIZE]
    n = used[0]
    cell = panes[pane, CHAIN]
    while cell >= 0:
        group = cells[cell, GROUP]
        if groups[group, OPEN] == cell:
            groups[group, OPEN] = -1
        if overlap:
            slots[n], sources[n], signs[n] = group, cell, 1
            n += 1
            if groups[group, ENTERED] == 0:
                _join(part, groups, group)
            groups[group, ENTERED] += 1
        cell = cells[cell, NEXT_CELL]
    used[0] = n


@njit(cache=True)
def _leave(panes: Array, cells: Array, groups: Array, counters: Array, slots: Array, sources: Array, signs: Array,
           used: Array, part: Array) -> None:  # fmt: skip
    """The first entered pane leaves."""
    pane = _unlink_first(part, ENTERED_FIRST, panes)
    part[SIZES] -= panes[pane, SIZE]
    n = used[0]
    cell = panes[pane, CHAIN]
    while cell >= 0:
        group = cells[cell, GROUP]
        slots[n], sources[n], signs[n] = group, cell, -1
        n += 1
        groups[group, ENTERED] -= 1
        if groups[group, ENTERED] == 0:
            _part(part, groups, group)
        following = cells[cell, NEXT_CELL]
        _let_go(cells, groups, counters, cell, group)
        cell = following
    used[0] = n
    panes[pane, NEXT] = counters[FREE_PANE]
    counters[FREE_PANE] = pane


@njit(cache=True)
def _read(groups: Array, slots: Array, sources: Array, signs: Array, used: Array, part: Array) -> None:
    """Reads every group of the window."""
    n = used[0]
    group = part[LIVE]
    while group >= 0:
        slots[n], sources[n], signs[n] = group, -1, 0
        n += 1
        group = groups[group, NEXT_GROUP]
    used[0] = n


@njit(cache=True)
def _read_and_leave(panes: Array, cells: Array, groups: Array, counters: Array, slots: Array, sources: Array,
                    signs: Array, used: Array, part: Array) -> None:  # fmt: skip
    """Reads every cell of the window; where windows do not overlap, they leave at once."""
    n = used[0]
    while part[ENTERED_FIRST] >= 0:
        pane = _unlink_first(part, ENTERED_FIRST, panes)
        cell = panes[pane, CHAIN]
        while cell >= 0:
            group = cells[cell, GROUP]
            slots[n], sources[n], signs[n] = group, cell, 0
            n += 1
            following = cells[cell, NEXT_CELL]
            _let_go(cells, groups, counters, cell, group)
            cell = following
        panes[pane, NEXT] = counters[FREE_PANE]
        counters[FREE_PANE] = pane
    part[SIZES] = 0
    used[0] = n


@njit(cache=True)
def _join(part: Array, groups: Array, group: int) -> None:
    """Puts a group into the chain of those that are read."""
    after = part[LIVE]
    groups[group, NEXT_GROUP], groups[group, PREVIOUS_GROUP] = after, -1
    if after >= 0:
        groups[after, PREVIOUS_GROUP] = group
    part[LIVE] = group
    part[GROUPS] += 1


@njit(cache=True)
def _part(part: Array, groups: Array, group: int) -> None:
    before, after = groups[group, PREVIOUS_GROUP], groups[group, NEXT_GROUP]
    if before >= 0:
        groups[before, NEXT_GROUP] = after
    else:
        part[LIVE] = after
    if after >= 0:
        groups[after, PREVIOUS_GROUP] = before
    part[GROUPS] -= 1
