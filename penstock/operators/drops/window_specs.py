"""Window specifications as the thesis has them: marks on tuples, decoded by every aggregate (Tatbul 4.4, 4.6, 4.7).

The naive twin of dropped batches (tau, U): tuple by tuple, one group, windows stamped with their start. A specification
is -1 (nothing is said), 0 (no window may start here) or tau > 0 (one may, and everything before tau is kept). What says
something although its tuple is gone, or was never there, is a fake tuple. Times are from 1 on, as in the thesis.

Three rules are not in print, or not as they must be: table 4.3's "if >", which would let windows open for which nothing
is kept any more, is left out; a start without a tuple gets a fake one; fake tuples come in the order of their labels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, NamedTuple

SILENT: Final = -1
NO: Final = 0


class Marked(NamedTuple):
    """A tuple with its specification; a fake one has no `value`."""

    t: int
    spec: int
    value: Any
    fake: bool = False


class Decoded(NamedTuple):
    """What an aggregate does on seeing a tuple: whether a window opens, what is kept from now on, and what the window,
    or the fake tuple in its place, bears."""

    opens: bool
    keep_until: int
    spec: int
    fake: bool


def decode(starts: bool, spec: int, t: int, keep_until: int, size: int) -> Decoded:
    """Table 4.3, for a tuple at `t` where a window would start or not.

    >>> decode(True, 8, 1, 0, 3), decode(True, 0, 7, 6, 3).opens, decode(False, 0, 7, 9, 3).fake
    (Decoded(opens=True, keep_until=6, spec=6, fake=False), False, True)
    """
    if spec > NO:
        kept = spec - (size - 1)
        return Decoded(starts, kept, kept, not starts)
    if starts:
        opens = t < keep_until
        return Decoded(opens, keep_until, spec, not opens and spec == NO)
    return Decoded(False, keep_until, spec, spec == NO)


def mark(tuples: Iterable[tuple[int, Any]], origin: int, slide: int, size: int, dropped: Sequence[int]) -> list[Marked]:
    """The window drop: starters are marked, tuples that only dropped windows hold go early (rule 1). `dropped` are the
    starts of the windows that go.

    >>> [(m.t, m.spec) for m in mark([(1, 30), (2, 10), (3, 20), (4, 30), (5, 0)], 1, 3, 3, [4])]
    [(1, 4), (2, -1), (3, -1), (4, 0)]
    """
    given = sorted(tuples)
    last = given[-1][0] if given else origin
    specs = {s: NO if s in dropped else s + size for s in range(origin, last + 1, slide)}
    found, keep_until = [], 0
    for t in sorted({*specs, *(t for t, _ in given)}):
        spec = specs.get(t, SILENT)
        keep_until = max(keep_until, spec)
        values = [v for at, v in given if at == t] if t < keep_until else []
        found += [Marked(t, spec if i == 0 else SILENT, v) for i, v in enumerate(values)]
        if not values and spec >= NO:
            found.append(Marked(t, spec, None, True))
    return found


def filtered(tuples: Iterable[Marked], passes: Callable[[Any], bool]) -> list[Marked]:
    """A filter, or a map that keeps: what says something and does not pass goes on as a fake tuple."""
    found = []
    for m in tuples:
        if m.fake or passes(m.value):
            found.append(m)
        elif m.spec >= NO:
            found.append(Marked(m.t, m.spec, None, True))
    return found


def united(*streams: Iterable[Marked]) -> list[Marked]:
    """A union, in the order of labels; what one stream says of an instant holds for the other."""
    whole = sorted((m for s in streams for m in s), key=lambda m: (m.t, -m.spec))
    return [m for i, m in enumerate(whole) if not m.fake or i == 0 or whole[i - 1].t != m.t]


def aggregated(
    tuples: Sequence[Marked], origin: int, slide: int, size: int, function: Callable[[list[Any]], Any]
) -> list[Marked]:
    """An aggregate that decodes: the windows that it opens, and the fake tuples that it passes on, by label."""
    keep_until, found = 0, []
    for t in _instants(tuples, origin, slide):
        here = [m for m in tuples if m.t == t]
        spec = max((m.spec for m in here), default=SILENT)
        done = decode((t - origin) % slide == 0, spec, t, keep_until, size)
        keep_until = done.keep_until
        held = [m.value for m in tuples if t <= m.t < t + size and not m.fake]
        if done.opens and held:
            found.append(Marked(t, done.spec, function(held)))
        elif done.fake or (done.opens and done.spec >= NO):
            found.append(Marked(t, done.spec, None, True))
    return found


def _instants(tuples: Sequence[Marked], origin: int, slide: int) -> list[int]:
    """Where something is, and every start in between: one without a tuple gets a fake one."""
    there = {m.t for m in tuples}
    last = max(there, default=origin - 1)
    return sorted(there | set(range(origin, last + 1, slide)))


def reference(marked: Sequence[Marked]) -> list[tuple[int, Any]]:
    """What is delivered of a result: fake tuples end here."""
    return [(m.t, m.value) for m in marked if not m.fake]
