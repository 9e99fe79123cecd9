"""The demo: what it draws and says of two runs. The runs themselves are measured by `penstock bench control`."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from penstock.console.charts import Line, chart, page, stacked
from penstock.console.demo import AFTER, BEFORE, Show, drawn, facts, late_p99
from penstock.console.overload import SCRIPT, Seen, adds_up, capacity, overload_score, trace
from penstock.cql import compile_script


def seen(at_s: float, came: int, kept: int, p99_s: float | None) -> Seen:
    return Seen(at_s, came, kept, kept, p99_s, 0.5, 0.9)


def test_charts_are_pictures_that_need_nothing_else() -> None:
    one = chart("delay <p99>", "s", [Line("a", "red", [(0.0, 1.0), (4.0, 3.0)]), Line("empty", "blue", [])])
    assert ET.fromstring(one).tag.endswith("svg")
    both = stacked([one, one])
    assert ET.fromstring(both).attrib["viewBox"].endswith(" 480")
    html = page("Title", [("rows", "1", "2")], ("", "before", "after"), [one])
    assert "<td>rows</td>" in html and "http://www.w3.org" in html and "src=" not in html


def test_capacity_is_what_warm_batches_work_off() -> None:
    batches = [seen(1, 10, 10, 1.0), seen(2, 10, 10, 1.0), seen(3, 900, 900, 1.0), seen(5, 2000, 2000, 1.0),
               seen(6, 1000, 1000, 1.0)]  # fmt: skip
    assert capacity(batches) == (900 + 2000 + 1000) / 4
    assert capacity([*batches, seen(8, 2000, 2000, 1.0)]) == 1000.0
    assert capacity(batches[:1]) == 0.0


def test_the_percentile_counts_results_and_not_batches() -> None:
    burst = [seen(10, 99, 99, 1.0), seen(11, 1, 1, 9.0), seen(30, 5, 5, 99.0)]
    assert late_p99(burst, 5, 20) == 1.0
    assert late_p99(burst, 40, 50) is None and late_p99(burst, 20, 25) == 99.0


def test_both_runs_stand_side_by_side() -> None:
    before = [seen(9.0, 50, 50, 3.0), seen(30.0, 100, 100, 8.0)]
    after = [seen(9.0, 50, 40, 1.0), seen(10.0, 50, 40, 1.5), seen(12.0, 100, 90, 1.4)]
    assert facts(Show(capacity=50.0, seen={BEFORE: before, AFTER: after})) == [
        ("p99 in the burst, from 4 s on", "8.00 s", "1.50 s"), ("worked off then, of the capacity", "10%", "87%"),
        ("slowest result", "8.00 s", "1.50 s"), ("rows that came", "150", "200"), ("rows kept", "150", "170"),
    ]  # fmt: skip
    show = Show(seen={BEFORE: before, AFTER: after})
    assert len(drawn(show)) == 2


def test_the_load_is_a_script_and_a_trace(tmp_path: Path) -> None:
    assert trace(tmp_path, [(1.0, 100.0), (2.0, 50.0)]) == 200
    assert pq.read_table(tmp_path / "trace.parquet").num_rows == 200
    from penstock.console.overload import _register

    _register()
    network = compile_script(SCRIPT.format(folder=tmp_path, options="WITH (delay = '2000 ms')", cap=""))
    assert [q.name for q in network.queries] == ["scored"]
    assert overload_score(pq.read_table(tmp_path / "trace.parquet").column("x").to_numpy()[:2]).shape == (2,)


@pytest.mark.slow
def test_a_quarter_of_an_hour_of_bursts_loses_sight_of_no_row(tmp_path: Path) -> None:
    from benchmarks.control_pipeline import SOAK_S, soak

    figures = {f["name"]: f for f in soak(tmp_path, 8000.0, SOAK_S, 1)}
    assert all(f["holds"] for name, f in figures.items() if "memory" in name)


def test_rows_add_up_or_do_not() -> None:
    whole = [Seen(1, 10, 10, 10, None, 0.1, 0.1, 0), Seen(2, 10, 4, 4, None, 0.1, 0.1, 6)]
    assert adds_up(whole) and adds_up([])
    assert not adds_up([*whole[:1], Seen(2, 10, 4, 4, None, 0.1, 0.1, 5)])


@pytest.mark.bench
def test_the_demo_shows_a_delay_that_holds(tmp_path: Path) -> None:
    from penstock.console.demo import run_demo

    run_demo(tmp_path / "demo.html", tmp_path / "demo.svg")
    assert "with shedding" in (tmp_path / "demo.html").read_text()
