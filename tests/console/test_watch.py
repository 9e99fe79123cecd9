"""What a run looks like: rates, response times and losses from its reports; the view, lines and JSON made of them."""

from __future__ import annotations

import io
import json

import numpy as np
import pytest
from rich.console import Console

from penstock.console.log import Log
from penstock.console.responses import POINTS, thinned
from penstock.console.shown import JsonLines, Lines
from penstock.console.view import picture
from penstock.console.watch import Watch
from penstock.stats.batches import Waits
from tests.console.reports import network, report


def watched(*reports: tuple[float, int, int]) -> Watch:
    """A watch from 0 s on, with batches at these seconds of so many rows that came and were dropped in all."""
    watch = Watch(network(), 0.0)
    for number, (at_s, came, dropped) in enumerate(reports):
        watch.see(report(number, came, dropped), at_s)
    return watch


def test_rates_are_those_of_the_last_ten_seconds_and_totals_of_all() -> None:
    now = watched((1.0, 100, 0), (20.0, 300, 40), (25.0, 800, 90)).now(26.0)
    assert [(f.name, f.rows, f.per_s) for f in now.inputs] == [("s", 800, 70.0), ("t", 0, 0.0)]
    assert [(f.name, f.rows, f.per_s) for f in now.results] == [("q", 3, 0.2), ("r", 0, 0.0)]
    (loss,) = now.losses
    assert (loss.reason, loss.queries, loss.rows, loss.per_s) == ("random", ("q",), 90, 9.0)
    assert now.malformed == {("s", "a is not an int"): 9} and now.set_aside == {"f": 2} and now.late == 3
    assert now.history[1] == 100 and now.history[20] == 200 and sum(now.history) == 800


def test_a_run_that_has_begun_has_rates_over_its_own_time() -> None:
    assert watched((1.0, 100, 0)).now(2.0).inputs[0].per_s == 50.0
    assert Watch(network(), 0.0).now(0.0).batch is None


def test_rates_fall_when_nothing_comes_any_more() -> None:
    watch = watched((1.0, 100, 0))
    assert watch.now(30.0).inputs[0].per_s == 0.0
    assert watch.now(30.0).batch == 0


def test_response_times_are_compared_with_the_target() -> None:
    watch = watched()
    watch.see(report(0, waits=(0.5, 1.0, 1.5)), 1.0)
    watch.see(report(1, waits=(4.0,)), 2.0)
    first, second = watch.now(3.0).responses
    assert (first.now, first.p50, first.p99, first.target, first.late) == (4.0, 1.0, 4.0, 2.0, True)
    assert (second.now, second.target, second.late) == (None, None, False)
    assert watch.now(61.5).responses[0].p50 == 4.0


def test_the_parts_of_a_batch_add_up() -> None:
    now = watched((1.0, 100, 0)).now(2.0)
    assert now.seconds == pytest.approx({"gate": 0.1, "lanes": 0.2, "state": 0.05, "sink": 0.05})
    assert now.batch_s == pytest.approx(0.4)


def test_thinned_response_times_keep_their_quantiles() -> None:
    seconds = np.sort(np.random.default_rng(1).exponential(1.0, 20_000))
    whole = Waits(seconds, np.ones(20_000))
    few = whole
    for _ in range(5):
        few = thinned(Waits.together([few, few]))
    assert len(few.seconds) == POINTS and few.results == pytest.approx(32 * 20_000)
    for q in (0.5, 0.9, 0.99):
        assert few.quantile(q) == pytest.approx(whole.quantile(q), rel=0.05)


def test_the_picture_has_everything() -> None:
    watch = watched((1.0, 100, 0), (2.0, 1000, 250))
    sink = io.StringIO()
    Console(file=sink, width=130).print(picture(watch.now(3.0), "penstock app.cql"))
    text = sink.getvalue()
    for said in ("penstock app.cql", "batch 1", "shedding on", "stream s", "random", "250", "1.00 s", "2.00 s",
                 "gate 100 ms", "lanes 200 ms", "state 50 ms", "sink 50 ms", "6 malformed", "1 set aside", "3 late"):
        assert said in text, (said, text)


def test_lines_are_one_a_second_and_the_last_is_never_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    now, watch = [0.0], Watch(network(), 0.0)
    lines = Lines(watch, lambda: now[0])
    for i in range(25):
        now[0] = 1 + i / 10
        watch.see(report(i, 10 * (i + 1)), now[0])
        lines.batch(report(i))
    lines.end()
    said = capsys.readouterr().out.splitlines()
    assert [line.split("  ")[0] for line in said] == ["batch 0", "batch 10", "batch 20", "batch 24"]
    assert "in 250 (s 73.5/s, t 0/s)" in said[-1] or "in 250 (s 74/s, t 0/s)" in said[-1]
    assert "response q 1.00 s of 2.00 s" in said[-1] and "dropped 0" in said[-1]


def test_json_has_a_line_a_batch_and_the_totals(capsys: pytest.CaptureFixture[str]) -> None:
    watch = watched((1.0, 100, 10))
    shown = JsonLines(watch, lambda: 2.0)
    shown.batch(report(0, 100, 10))
    shown.end()
    batch, end = map(json.loads, capsys.readouterr().out.splitlines())
    assert batch["kind"] == "batch" and batch["rows_out"] == {"q": 1} and batch["delays"]["q"]["p99_s"] == 1.0
    assert batch["drops"] == [
        {"location": "stream s", "reason": "random", "queries": ["q"], "rows_in": 100, "dropped": 10}
    ]
    assert batch["malformed"] == [{"stream": "s", "reason": "a is not an int", "rows": 3}]
    assert end["kind"] == "end" and end["rows_in"] == {"s": 100, "t": 0} and end["dropped"] == 10


def test_the_log_says_what_changes_once() -> None:
    sink = io.StringIO()
    log = Log(sink, clock=lambda: 5.0)
    for number, dropped in enumerate((0, 10, 20, 20)):
        log.batch(report(number, dropped=dropped))
    said = [json.loads(line) for line in sink.getvalue().splitlines()]
    assert all(line["at"] == 5.0 and line["level"] == "warn" for line in said)
    assert [line["batch"] for line in said if line["kind"] == "malformed"] == [0, 1, 2, 3]
    assert [line["rows"] for line in said if line["kind"] == "set_aside"] == [1, 1, 1]
    assert [(line["kind"], line["batch"]) for line in said if line["kind"].startswith("dropping")] == [
        ("dropping", 1), ("dropping_ended", 3)
    ]  # fmt: skip
