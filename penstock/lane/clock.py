"""What time it is, and how time is spent: on the wall, or in a time that only stated costs move (Babu 2.3.2)."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """Seconds since some beginning, and a way to spend them."""

    def now(self) -> float:
        """The time in seconds."""

    def spend(self, seconds: float) -> None:
        """Keeps the processor busy for `seconds`."""


class WallClock:
    """The real time; spending burns processor time."""

    @staticmethod
    def now() -> float:
        """Seconds of the machine's steady clock."""
        return time.perf_counter()

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
