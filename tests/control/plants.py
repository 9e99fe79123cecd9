"""What controllers steer, as fluids: a queue before a processor, and micro-batches. No randomness, no clocks."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from penstock.control.controllers import MISSING, Controller, Reading

Schedule = Callable[[float], float]
"""A number that depends on the time in seconds."""


@dataclass
class Period:
    """What one control period was like."""

    now_s: float
    delay_s: float
    rate: float
    queued_s: float
    arrived_s: float
    shed_s: float


@dataclass
class Queue:
    """A first-in-first-out queue of load before a processor that gives `share(t)` processor-seconds a second."""

    load: Schedule
    share: Schedule
    period_s: float = 0.5
    target_s: float = 2.0
    headroom: float = 0.8
    cost_s: float = 0.005
    steps: int = 25
    waiting: deque[list[float]] = field(default_factory=deque)

    def run(self, controller: Controller, seconds: float) -> list[Period]:
        """Period after period."""
        periods: list[Period] = []
        reading = Reading(now_s=0.0, period_s=self.period_s, input_load=self.load(0.0), queued_load=0.0,
                          target_s=self.target_s, headroom=self.headroom)  # fmt: skip
        while reading.now_s < seconds:
            amount = controller.step(reading)
            rate = min(1.0, amount.excess / reading.input_load) if reading.input_load else 0.0
            reading, period = self._period(reading.now_s, rate)
            periods.append(period)
        return periods

    def _period(self, start_s: float, rate: float) -> tuple[Reading, Period]:
        arrived = shed = done = late = slowest = 0.0
        dt = self.period_s / self.steps
        for i in range(self.steps):
            now = start_s + i * dt
            came = self.load(now) * dt
            gone = rate * came
            arrived, shed = arrived + came, shed + gone
            self.waiting.append([now, came - gone])
            room = self.share(now) * dt
            while self.waiting and room > 0:
                taken = min(room, self.waiting[0][1])
                late += taken * (now + dt - self.waiting[0][0])
                slowest = max(slowest, now + dt - self.waiting[0][0])
                done, room = done + taken, room - taken
                self.waiting[0][1] -= taken
                if self.waiting[0][1] <= 1e-12:
                    self.waiting.popleft()
        end, queued = start_s + self.period_s, sum(load for _, load in self.waiting)
        delay = late / done if done else MISSING
        reading = Reading(
            now_s=end, period_s=self.period_s, input_load=arrived / self.period_s, queued_load=queued,
            target_s=self.target_s, headroom=self.headroom, delay_s=delay, p99_s=slowest if done else MISSING,
            shedding=shed / self.period_s, processed=done / self.period_s,
            entered=(arrived - shed) / self.cost_s, left=done / self.cost_s, cost_s=self.cost_s,
        )  # fmt: skip
        return reading, Period(end, delay, rate, queued, arrived, shed)


@dataclass
class Batch:
    """What one micro-batch was like."""

    now_s: float
    response_s: float
    took_s: float
    excess: float
    arrived_s: float
    kept_s: float


@dataclass
class MicroBatches:
    """Batches that follow each other, at the earliest every `trigger_s`: each takes what came since the last began."""

    load: Schedule
    share: Schedule
    target_s: float = 2.0
    headroom: float = 0.8
    floor_s: float = 0.1
    trigger_s: float = 0.2

    def run(self, controller: Controller, seconds: float) -> list[Batch]:
        """Batch after batch."""
        batches: list[Batch] = []
        began, now, took, kept = 0.0, self.trigger_s, MISSING, MISSING
        while now < seconds:
            period = now - began
            load = self.load(now)
            last = batches[-1].response_s if batches else MISSING
            amount = controller.step(Reading(
                now_s=now, period_s=period, lanes=2.0, input_load=load, queued_load=load * period,
                target_s=self.target_s, headroom=self.headroom, delay_s=last * 0.75, p99_s=last,
                processed=kept / took, waited_s=period, took_s=took, floor_s=self.floor_s,
            ))  # fmt: skip
            kept = load * period - min(load, amount.excess) * period
            took = self.floor_s + kept / self.share(now)
            batches.append(Batch(now, period + took, took, amount.excess, load * period, kept))
            began, now = now, now + max(self.trigger_s, took)
        return batches
