"""What time it is, and how time is spent: on the wall, or in a time that only stated costs move (Babu 2.3.2); the
processor may be shared with others.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol


class Clock(Protocol):
    """Seconds since some beginning, and a way to spend them."""

    def now(self) -> float:
        """The time in seconds."""

    def worked(self) -> float:
        """Processor seconds that were spent so far: what costs are measured by."""

    def spend(self, seconds: float) -> None:
        """Keeps the processor busy for `seconds`."""


class WallClock:
    """The real time; spending burns processor time."""

    @staticmethod
    def now() -> float:
        """Seconds of the machine's steady clock."""
        return time.perf_counter()

    worked = now

    @staticmethod
    def spend(seconds: float) -> None:
        """Busy for `seconds`."""
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            pass

    @staticmethod
    def wait_until(instant: float) -> None:
        """Sleeps until `instant`."""
        time.sleep(max(0.0, instant - time.perf_counter()))


class VirtualClock:
    """A time that stands still but for what is spent: experiments repeat to the digit.

    >>> clock = VirtualClock()
    >>> clock.spend(0.5)
    >>> clock.now()
    0.5
    """

    __slots__ = ("_now",)

    def __init__(self, now: float = 0.0) -> None:
        self._now = now

    def now(self) -> float:
        """Seconds spent since 0."""
        return self._now

    def spend(self, seconds: float) -> None:
        """Moves the time on."""
        self._now += seconds

    def wait_until(self, instant: float) -> None:
        """Idles until `instant`."""
        self._now = max(self._now, instant)

    def worked(self) -> float:
        """The time itself: the processor is never idle while something is measured."""
        return self._now


class SharedClock(VirtualClock):
    """A virtual time on a processor of which only the share `share(now)` is there: the rest goes to other programs.

    >>> clock = SharedClock(lambda now: 1.0 if now < 100 else 0.5)
    >>> clock.wait_until(100.0)
    >>> clock.spend(1.0)
    >>> clock.now(), clock.worked()
    (102.0, 1.0)
    """

    __slots__ = ("_share", "_worked")

    def __init__(self, share: Callable[[float], float], now: float = 0.0) -> None:
        super().__init__(now)
        self._share = share
        self._worked = 0.0

    def spend(self, seconds: float) -> None:
        """Moves the time on by what `seconds` of work take beside the others."""
        self._worked += seconds
        super().spend(seconds / self._share(self._now))

    def worked(self) -> float:
        """What was spent, without what the others took."""
        return self._worked
