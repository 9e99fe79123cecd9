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
from penstock.operators.kernels.pane_log import new_log, with_room, with_window

CLOSED, WAITING, WAITING_END, ENTERED_FIRST, ENTERED_END, LIVE, GROUPS = range(7)
PART: Final = (-(1 << 62), -1, -1, -1, -1, -1, 0)
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
def run(tables: Any, counters: Array, rows: Any, start: int, clock: int, overlap: bool, cells_of: Array) -> Any:
    """Gives rows from `start` on their cells (-1: in no window), and closes windows as time goes.

    tables    (parts, panes, cells, groups)
    rows      (partition, group, first, last, closing, stamp, arrival) of each row: before it is taken in, all windows
              of its partition below `first` close; after it, all below `closing` (empty: none do); they are stamped
              with its `stamp`
    clock     after the last row, all windows of partition 0 below it close
    overlap   False: no row lies in two windows, so cells are read as they are and leave at once

    Returns the row that found no room (or their number), the steps (see `Steps`), and the windows read.
    """
    parts, panes, cells, groups = tables
    partition, group, first, last, closing, stamp, arrival = rows
    log = new_log()
    i = start
    while i < len(group):
        p = partition[i] if len(partition) else 0
        if len(closing) == 0 and first[i] > parts[p, CLOSED]:
            log = _close(tables, counters, p, first[i], stamp[i], overlap, log)
        taken = _take_in(parts, panes, cells, groups, counters, partition, group, first, last, stamp, arrival, i,
                         i + 1 if len(closing) else len(group), cells_of)  # fmt: skip
        if taken == i:
            break
        i = taken
        if len(closing) and closing[i - 1] > parts[p, CLOSED]:
            log = _close(tables, counters, p, closing[i - 1], stamp[i - 1], overlap, log)
    if i == len(group) and clock > parts[0, CLOSED]:
        log = _close(tables, counters, 0, clock, 0, overlap, log)
    slots, sources, signs, windows, used = log
    return i, slots[: used[0]], sources[: used[0]], signs[: used[0]], windows[: used[1]]


@njit(cache=True)
def _take_in(parts: Array, panes: Array, cells: Array, groups: Array, counters: Array, partition: Array, group: Array,
             first: Array, last: Array, stamp: Array, arrival: Array, start: int, stop: int,
             cells_of: Array) -> int:  # fmt: skip
    """Gives cells to the rows from `start` on that lie in the same windows as the first; returns the row after."""
    p = partition[start] if len(partition) else 0
    a, b, closed = first[start], last[start], parts[p, CLOSED]
    pane = -1
    if a <= b and b >= closed:
        pane = _pane(parts, panes, counters, p, max(a, closed), b, stamp[start])
        if pane < 0:
            return start
    i = start
    while i < stop and first[i] == a and last[i] == b and (len(partition) == 0 or partition[i] == p):
        if pane < 0:
            counters[LATE] += a <= b
            cells_of[i] = -1
            i += 1
            continue
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
                break
            cells[cell, GROUP], cells[cell, PANE_OF], cells[cell, NEXT_CELL] = g, pane, panes[pane, CHAIN]
            panes[pane, CHAIN] = cell
            panes[pane, SIZE] += 1
            groups[g, OPEN] = cell
            groups[g, CELLS] += 1
        cells_of[i] = cell
        if arrival[i] < panes[pane, ARRIVAL]:
            panes[pane, ARRIVAL] = arrival[i]
        i += 1
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
def _close(tables: Any, counters: Array, p: int, clock: int, stamp: int, overlap: bool, log: Any) -> Any:
    """Closes the windows of partition `p` below `clock`, those that hold something."""
    parts, panes, _, _ = tables
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
            log = _leave(tables, counters, part, log)
        while part[WAITING] >= 0 and panes[part[WAITING], FIRST] <= k:
            log = _enter(tables, part, overlap, log)
        if part[ENTERED_FIRST] >= 0:
            log = _read(tables, counters, part, k, stamp, overlap, log)
            part[CLOSED] = k + 1
    part[CLOSED] = max(part[CLOSED], clock)
    return log


@njit(cache=True)
def _enter(tables: Any, part: Array, overlap: bool, log: Any) -> Any:
    """The first waiting pane enters."""
    _, panes, cells, groups = tables
    pane = _unlink_first(part, WAITING, panes)
    before = part[ENTERED_END]
    while before >= 0 and panes[before, LAST] > panes[pane, LAST]:
        before = panes[before, PREVIOUS]
    _link(part, ENTERED_FIRST, panes, pane, before)
    log = with_room(log, panes[pane, SIZE])
    slots, sources, signs, _, used = log
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
    return log


@njit(cache=True)
def _leave(tables: Any, counters: Array, part: Array, log: Any) -> Any:
    """The first entered pane leaves."""
    _, panes, cells, groups = tables
    pane = _unlink_first(part, ENTERED_FIRST, panes)
    log = with_room(log, panes[pane, SIZE])
    slots, sources, signs, _, used = log
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
    return log


@njit(cache=True)
def _read(tables: Any, counters: Array, part: Array, k: int, stamp: int, overlap: bool, log: Any) -> Any:
    """Reads every group of the window; where windows do not overlap, its panes leave at once."""
    _, panes, cells, groups = tables
    oldest = part[ENTERED_FIRST]
    beginning, arrival, before = panes[oldest, START], panes[oldest, ARRIVAL], log[4][0]
    if overlap:
        log = with_room(log, part[GROUPS])
        slots, sources, signs, _, used = log
        n = used[0]
        group = part[LIVE]
        while group >= 0:
            slots[n], sources[n], signs[n] = group, -1, 0
            n += 1
            group = groups[group, NEXT_GROUP]
        used[0] = n
    while not overlap and part[ENTERED_FIRST] >= 0:
        pane = _unlink_first(part, ENTERED_FIRST, panes)
        log = with_room(log, panes[pane, SIZE])
        slots, sources, signs, _, used = log
        n = used[0]
        cell = panes[pane, CHAIN]
        while cell >= 0:
            group = cells[cell, GROUP]
            slots[n], sources[n], signs[n] = group, cell, 0
            n += 1
            following = cells[cell, NEXT_CELL]
            _let_go(cells, groups, counters, cell, group)
            cell = following
        used[0] = n
        panes[pane, NEXT] = counters[FREE_PANE]
        counters[FREE_PANE] = pane
    return with_window(log, k, stamp, beginning, arrival, before)


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
