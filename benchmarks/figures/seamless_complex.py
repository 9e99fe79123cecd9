"""Figure 4 and table I of Pham: shared operators, joins and aggregates under bursty arrivals."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from benchmarks.figures.reporting import Row, at_least, at_most, row
from benchmarks.figures.seamless_networks import bursty, complex_network, recorded, with_joins
from benchmarks.figures.seamless_setup import PERIOD_S, TARGET_S, Run, Track, in_parallel
from penstock.control.controllers import Aurora, Controller, Ctrl, Seamless

# Headrooms at which Aurora is tried, and CTRL's, as tuned on QN-flat.
AURORA = (0.88, 0.91, 0.94, 0.97)
AURORA_IN_FULL = (0.8, 0.84, 0.88, 0.9, 0.91, 0.92, 0.93, 0.94, 0.95, 0.96, 0.97)
CTRL = 0.97
FIRST_HEADROOM = 0.8
LEARNED_S = 3 * 30 * PERIOD_S
# An average response time up to so many targets is under control, one beyond so many is not.
KEPT, BLIND = 1.1, 2.0


@dataclass(frozen=True, slots=True)
class Trial:
    """One run: which network, arrivals and controller."""

    network: str
    arrivals: str
    controller: str
    headroom: float
    seconds: float
    seed: int

    def run(self) -> Track:
        """The run; the input stops twenty seconds before its end, as in the paper."""
        network = complex_network() if self.network == "QN-complex" else with_joins()
        coming = self.seconds - 20
        instants = bursty(coming, self.seed) if self.arrivals == "bursty" else recorded(coming)
        assert instants is not None
        rows = 50 if self.network == "QN-complex" else 500
        return Run(network, instants, self._controller(), self.headroom, train_rows=rows, seed=self.seed).to(
            self.seconds
        )

    def _controller(self) -> Controller:
        kinds: dict[str, type[Controller]] = {"SEaMLESS": Seamless, "CTRL": Ctrl, "Aurora": Aurora}
        return kinds[self.controller]()


def figure_4(full: bool, seed: int) -> list[Row]:
    """CTRL is blind on the network with joins and aggregates, SEaMLESS is not; QN-complex stands in table I."""
    seconds = 420.0 if full else 140.0
    schemes = (("SEaMLESS", FIRST_HEADROOM), ("CTRL", CTRL), ("CTRL", 0.8))
    trials = [Trial("joins", "bursty", name, headroom, seconds, seed) for name, headroom in schemes]
    rows = []
    for trial, track in zip(trials, in_parallel(Trial.run, trials), strict=True):
        name = f"figure 4 joins and aggregates, {trial.controller} at {trial.headroom}:"
        most, mean = track.violations()
        rows += [row(f"{name} max violation", most, "s"), row(f"{name} average violation", mean, "s"),
                 row(f"{name} loss", 100 * track.loss, "%"), _sight(name, trial, track)]  # fmt: skip
    return rows


def _sight(name: str, trial: Trial, track: Track) -> Row:
    """Whether the scheme keeps the target once the headroom has had three periods: SEaMLESS must, CTRL cannot."""
    share = track.mean_between(LEARNED_S, trial.seconds) / TARGET_S
    bounded = trial.controller == "SEaMLESS"
    told = f"{name} average response time after {LEARNED_S:.0f} s"
    return at_most(told, share, "targets", KEPT) if bounded else at_least(told, share, "targets", BLIND)


def table_1(full: bool, seed: int) -> list[Row]:
    """QN-complex under bursty arrivals, and under recorded ones where they are present."""
    rows = list(_compared("bursty", full, seed))
    if recorded(10.0) is None:
        return [*rows, row("table I with packets skipped: none in PENSTOCK_DATA or shared/data", 0.0, "%")]
    return [*rows, *_compared("packets", full, seed)] if full else rows


def _compared(arrivals: str, full: bool, seed: int) -> Iterator[Row]:
    """SEaMLESS, CTRL, and Aurora at several headrooms."""
    seconds = 420.0 if full else 100.0
    headrooms = AURORA_IN_FULL if full else AURORA
    schemes = [("SEaMLESS", FIRST_HEADROOM), ("CTRL", CTRL), *(("Aurora", h) for h in headrooms)]
    trials = [Trial("QN-complex", arrivals, name, headroom, seconds, seed) for name, headroom in schemes]
    found = in_parallel(Trial.run, trials)
    for trial, track in zip(trials, found, strict=True):
        name = f"table I {arrivals}, {trial.controller} {'auto' if trial.controller == 'SEaMLESS' else trial.headroom}:"
        most, mean = track.violations()
        yield row(f"{name} max violation", most, "s")
        yield row(f"{name} average violation", mean, "s")
        yield row(f"{name} loss", 100 * track.loss, "%")
    seamless, ctrl = found[0], found[1]
    yield _sight(f"table I {arrivals}, SEaMLESS:", trials[0], seamless)
    yield _sight(f"table I {arrivals}, CTRL:", trials[1], ctrl)
    matching = [t.loss for t in found[2:] if t.violations()[1] <= seamless.violations()[1]]
    less = 100 * (min(matching, default=1.0) - seamless.loss)
    yield at_least(f"table I {arrivals}: loss of the best Aurora that violates as little, above that of SEaMLESS",
                   less, "points", 0.0)  # fmt: skip
