"""Boxes and arrows: the same plan nodes as CQL's, and the same results on every engine."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import penstock as ps
from penstock.cql import compile_script
from penstock.plan.network import Query
from penstock.plan.rewrites import optimize_node
from penstock.testing import Element, evaluate, net

STREAMS = "CREATE STREAM p (src STRING, bytes INT); CREATE STREAM f (src STRING, n INT);"


def app_and_boxes() -> tuple[ps.App, ps.Box, ps.Box]:
    app = ps.App()
    return app, app.stream("p", "src string, bytes int"), app.stream("f", "src string, n int")


def root(cql: str) -> object:
    return optimize_node(compile_script(STREAMS + cql).queries[0].root)


def test_filter_and_window_aggregate_are_the_nodes_of_cql() -> None:
    app, p, _ = app_and_boxes()
    made = p.filter("bytes > 100").aggregate("src", total="sum(bytes)", size="10 minutes", slide="1 minute")
    made.map("src", "total").output("q", delay="2 seconds")
    query = app.network.query("q")
    assert query.options == (("delay", "2 seconds"),)
    assert optimize_node(query.root) == root(
        "SELECT src, sum(bytes) AS total FROM p [Range 10 Minutes Slide 1 Minute] WHERE bytes > 100 GROUP BY src"
    )


def test_relations_are_joined_as_they_stand() -> None:
    app, p, f = app_and_boxes()
    on = "this.src = other.src"
    p.window("Rows 10").join(f.window("Range 1 Minute"), on=on, src="this.src", n="other.n").output("q")
    assert optimize_node(app.network.query("q").root) == root(
        "SELECT p.src, f.n FROM p [Rows 10], f [Range 1 Minute] WHERE p.src = f.src"
    )


def test_every_box_gives_the_same_on_lane_and_reference() -> None:
    app, p, f = app_and_boxes()
    table = f.update("src")
    p.union(p).output("union")
    p.join(f, on="this.src = other.src", within="2 seconds").output("band")
    p.read(table, on="this.src = other.src", src="this.src", n="other.n").output("read")
    p.bsort("bytes", slack=2).output("sorted")
    p.resample(f, "n", within="3 seconds").output("resampled")
    p.window("Range 2 Seconds").aggregate("src", most="max(bytes * 2)").output("relation")
    p.aggregate(count="count(*)", rows=2).output("pairs")
    p.window("Range 1 Second").distinct().istream().output("news")
    p.window("Now").except_(p.window("Rows 1"), all=True).dstream().output("gone")
    p.window("Rows 2").intersect(p.window("Range 5 Seconds")).rstream().output("both")
    p.delay(0.5).output("slow")
    events = [(("p", "f")[i % 2], i * 700_000, {"src": "ab"[i // 2 % 2], ("bytes", "n")[i % 2]: i}) for i in range(30)]
    exact = evaluate(app, events, engine="reference")
    for batches in (None, 1, 7):
        fast = evaluate(app, events, engine="lane", batches=batches)
        for name in exact.queries:
            assert net(fast[name]) == net(exact[name]), name


def test_sql_reads_what_python_registered() -> None:
    app, _, _ = app_and_boxes()
    app.sql("CREATE QUERY q AS SELECT bytes * 2 AS twice FROM p WHERE src = 'a'")
    assert evaluate(app, [("p", 5, {"src": "a", "bytes": 4})])["q"] == [Element(5, 1, {"twice": 8})]


def test_mistakes_name_what_is_wrong() -> None:
    app, p, _ = app_and_boxes()
    with pytest.raises(ps.PenstockError, match="unknown column 'byts'"):
        p.filter("byts > 1")
    with pytest.raises(ps.PenstockError, match="needs a window"):
        p.aggregate(total="sum(bytes)")
    with pytest.raises(ps.PenstockError, match="already registered"):
        app.stream("P", "a int")
    with pytest.raises(ps.PenstockError, match="a window over a relation"):
        p.window("Rows 3").aggregate(total="sum(bytes)", size="1 second")
    app.register(Query("q", p.node))
    with pytest.raises(ps.PenstockError, match="already registered"):
        p.output("q")


def test_rstream_of_a_sliding_window_is_the_node_of_cql() -> None:
    app, p, _ = app_and_boxes()
    p.window("Range 9 Slide 3").rstream().output("q")
    assert app.network.query("q").root == root("SELECT Rstream(*) FROM p [Range 9 Slide 3]")


def test_a_window_over_an_attribute_takes_numbers_of_its_units() -> None:
    app = ps.App()
    readings = app.stream("readings", "depth double, heat double")
    readings.aggregate(most="max(heat)", size=1.5, on="depth").map("most", "window_end").output("q")
    events = [("readings", t, {"depth": d, "heat": h}) for t, d, h in [(1, 0.2, 7.0), (2, 1.4, 9.0), (3, 1.6, 1.0)]]
    assert evaluate(app, events)["q"] == [Element(3, 1, {"most": 9.0, "window_end": 1.5})]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda app, p: p.output("q", dely="2 seconds"), "unknown option 'dely'"),
        (lambda app, p: p.output("q", delay="soon"), "option 'delay' cannot be 'soon'"),
        (lambda app, p: p.output("q", into="parqet", options={"path": "x"}), "did you mean 'parquet'?"),
        (lambda app, p: p.output("q", into="csv", options={"pth": "x"}), "did you mean 'path'?"),
        (lambda app, p: p.output("q", into="csv"), "INTO csv needs a path"),
        (lambda app, p: app.stream("s", "a int", source="csv"), "FROM csv needs a path"),
        (lambda app, p: app.stream("s", "a string", timestamp="a"), "'a', a string, stamps nothing"),
        (lambda app, p: app.stream("s", "a int, A int"), "each with a name of its own"),
        (lambda app, p: app.stream("s", ""), "each with a name of its own"),
        (lambda app, p: p.filter(None), "None is no expression"),
        (lambda app, p: p.map(), "a map without a column"),
        (lambda app, p: p.aggregate(n="count(*)", rows="5"), "rows = '5'"),
        (lambda app, p: p.bsort("bytes", -1), "BSort's slack is -1"),
        (lambda app, p: p.bsort("bytes", 1.5), "BSort's slack is 1.5"),
        (lambda app, p: p.resample(p, "src", within=5), "'src' is string"),
        (lambda app, p: p.resample(p, within=5), "needs values to interpolate"),
        (lambda app, p: p.resample(p, "bytes", within=-5), "a distance that is not negative"),
    ],
)
def test_mistakes_in_boxes_are_refused_where_they_are_made(wrong: Callable[..., object], said: str) -> None:
    app, p, _ = app_and_boxes()
    with pytest.raises(ps.PenstockError) as caught:
        wrong(app, p)
    assert said in str(caught.value)
