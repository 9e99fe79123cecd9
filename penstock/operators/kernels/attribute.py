"""Windows over an attribute: rows leave in the order of the attribute, whatever the order in which they came."""

from __future__ import annotations

from typing import Any, Final

from numba import njit

from penstock.operators.columns.vector import Array
from penstock.operators.kernels.emission import change_list, with_change
from penstock.operators.kernels.pair_heap import pop, pushed

ENDED, LATE = 0, 1
"""Fields of the state of `slide_over`: the last window that has ended, and how many tuples came after all of theirs."""
NONE_ENDED: Final = -(1 << 63)


@njit(cache=True)
def range_over(keys: Array, floors: Array, present: Array, first: int, content: Array, alive: Array) -> Any:
    """Row `first` + i enters with its key unless that is below floor i; rows below floor i leave.

    Returns (changes, content).
    """
    changes, used = change_list(2 * len(keys)), 0
    for i in range(len(keys)):
        if not present[i]:
            alive[first + i] = False
            continue
        while content[0, 0] > 0 and content[1, 0] < floors[i]:
            row = pop(content)
            alive[row] = False
            changes = with_change(changes, used, row, i, -1, 0)
            used += 1
        if keys[i] < floors[i]:
            alive[first + i] = False
            continue
        content = pushed(content, keys[i], first + i)
        changes = with_change(changes, used, first + i, i, 1, 0)
        used += 1
    return changes[:used], content


@njit(cache=True)
def slide_over(firsts: Array, lasts: Array, present: Array, first: int, bounds: bool, state: Array,
               waiting: Array, content: Array, row_last: Array, alive: Array) -> Any:  # fmt: skip
    """Row `first` + i lies in the windows firsts[i] .. lasts[i], and ends all windows before firsts[i].

    waiting   rows by their first window, until one of their windows ends
    content   rows of the last ended window, by their last window, which `row_last` also has
    Returns (changes, waiting, content); a change's tag is its window.
    """
    changes, used = change_list(2 * len(firsts)), 0
    for i in range(len(firsts)):
        if present[i] and firsts[i] - 1 > state[ENDED]:
            old, window = state[ENDED], firsts[i] - 1
            state[ENDED] = window
            changes, used = _leave(content, old, window, i, bounds, changes, used, alive)
            changes, used, content = _enter(waiting, content, window, i, changes, used, row_last, alive)
        covered = present[i] and firsts[i] <= lasts[i]
        if covered and lasts[i] > state[ENDED]:
            row_last[first + i] = lasts[i]
            waiting = pushed(waiting, firsts[i], first + i)
        else:
            state[LATE] += covered
            alive[first + i] = False
    return changes[:used], waiting, content


@njit(cache=True)
def _leave(content: Array, old: int, window: int, cause: int, bounds: bool, changes: Array, used: int,
           alive: Array) -> Any:  # fmt: skip
    """Takes out what `window` does not cover. With `bounds` all rows leave with the old; what stays gets the new."""
    if bounds:
        changes, used = _all_of(content, changes, used, cause, -1, old)
    while content[0, 0] > 0 and content[1, 0] < window:
        row = pop(content)
        alive[row] = False
        if not bounds:
            changes = with_change(changes, used, row, cause, -1, old)
            used += 1
    if bounds:
        changes, used = _all_of(content, changes, used, cause, 1, window)
    return changes, used


@njit(cache=True)
def _enter(waiting: Array, content: Array, window: int, cause: int, changes: Array, used: int, row_last: Array,
           alive: Array) -> Any:  # fmt: skip
    """Takes in the waiting rows that `window` covers. Rows whose windows were all jumped over go unseen."""
    while waiting[0, 0] > 0 and waiting[1, 0] <= window:
        row = pop(waiting)
        if row_last[row] < window:
            alive[row] = False
        else:
            content = pushed(content, row_last[row], row)
            changes = with_change(changes, used, row, cause, 1, window)
            used += 1
    return changes, used, content


@njit(cache=True)
def _all_of(content: Array, changes: Array, used: int, cause: int, sign: int, window: int) -> Any:
    for place in range(1, content[0, 0] + 1):
        changes = with_change(changes, used, content[place, 1], cause, sign, window)
        used += 1
    return changes, used
