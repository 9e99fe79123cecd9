"""Every CQL query printed in Babu's thesis binds as printed (the errata of the print aside), and becomes the plan that
the text describes."""

from __future__ import annotations

from penstock.cql import compile_script
from penstock.plan.expressions import columns, conjuncts, format_expression
from penstock.plan.node import Kind, Node, walk
from penstock.plan.nodes import Aggregate, Distinct, Filter, IStream, Join, Map, SemiJoin, Source, Window
from penstock.plan.rewrites import optimize_node
from penstock.plan.windows import Range, Rows

MINUTE = 60_000_000


def plan(streams: str, query: str) -> Node:
    declared = "; ".join(f"CREATE STREAM {s}" for s in streams.split("; "))
    return compile_script(f"{declared}; {query}").queries[0].root


def windows(node: Node) -> list[tuple[str, object]]:
    return [(w.input.name, w.spec) for w in walk(node) if isinstance(w, Window) and isinstance(w.input, Source)]


def test_example_2_1_1_filters_of_a_stream() -> None:
    long = plan(
        "S (A INT, B INT, C INT)", "Select Istream(*) From S [Rows Unbounded] Where S.A > 10 and S.B < 20 and S.C > 40"
    )
    assert isinstance(long, IStream)
    assert isinstance(long.input, Filter)
    assert windows(long) == [("S", Rows(None))]
    assert [format_expression(c) for c in conjuncts(long.input.predicate)] == ["A > 10", "B < 20", "C > 40"]
    short = plan("S (A INT, B INT, C INT)", "Select * From S Where S.A > 10 and S.B < 20 and S.C > 40")
    assert short == Filter(long.input.input.input, long.input.predicate)
    assert short.kind is long.kind is Kind.STREAM


def test_example_2_1_2_a_windowed_join() -> None:
    streams = "S_1 (A INT, B INT); S_2 (A INT, C INT)"
    rest = "From S_1 [Rows 1000], S_2 [Range 2 Minutes] Where S_1.A = S_2.A and S_1.A > 10 and S_1.B < 20"
    relation = plan(streams, f"Select * {rest}")
    assert relation.kind is Kind.RELATION
    assert windows(relation) == [("S_1", Rows(1000)), ("S_2", Range(2 * MINUTE))]
    assert relation.schema.names == ("S_1.A", "B", "S_2.A", "C")
    stream = plan(streams, f"Select Istream(S_1.A) {rest}")
    assert isinstance(stream, IStream)
    assert stream.schema.names == ("A",)
    assert isinstance(stream.input, Map) and isinstance(relation, Map)
    assert stream.input.input == relation.input


def test_section_1_3_total_traffic_of_a_customer() -> None:
    query = """
        Select sum(C.size)
        From C [Range 10 minutes], B [Range 10 minutes], O [Range 10 minutes]
        Where C.pid = B.pid and B.pid = O.pid"""
    node = plan("C (pid INT, size INT); B (pid INT, size INT); O (pid INT, size INT)", query)
    assert node.schema.names == ("sum(size)",)
    assert windows(node) == [(s, Range(10 * MINUTE)) for s in "CBO"]
    (join,) = (n for n in walk(node) if isinstance(n, Join))
    assert [columns(c) for c in conjuncts(join.predicate)] == [{"0.pid", "1.pid"}, {"1.pid", "2.pid"}]
    assert isinstance(node, Map) and isinstance(node.input, Aggregate)


def test_section_2_3_1_the_query_that_shares_a_window() -> None:
    node = plan("S_1 (A INT, B INT)", "Select A, Max(B)\nFrom S_1 [Rows 200]\nGroup By A")
    assert isinstance(node, Aggregate)
    assert node.keys == ("A",)
    assert node.schema.names == ("A", "max(B)")
    assert windows(node) == [("S_1", Rows(200))]


def test_section_4_7_pipelined_filters() -> None:
    streams = "S_0 (a INT, b INT); S_1 (a INT, b INT); S_2 (a INT, b INT)"
    filters = " and ".join(f"S_0 in (Select * From S_{i} [Rows 10,000])" for i in (1, 2))
    node = plan(streams, f"Select * From S_0 Where {filters}")
    assert isinstance(node, IStream)
    outer = node.input
    assert isinstance(outer, SemiJoin) and isinstance(outer.left, SemiJoin)
    assert windows(node) == [("S_0", Range(0)), ("S_1", Rows(10_000)), ("S_2", Rows(10_000))]
    assert format_expression(outer.predicate) == "(0.a = 1.a) AND (0.b = 1.b)"


def test_section_5_8_three_way_and_n_way_joins() -> None:
    query = "Select * From R' [Rows 100], S' [Rows 100], T' [Rows 500] Where R'.A = S'.A and S'.B = T'.B"
    three = plan("R' (A INT); S' (A INT, B INT); T' (B INT)", query)
    assert three.schema.names == ("R'.A", "S'.A", "S'.B", "T'.B")
    assert windows(three) == [("R'", Rows(100)), ("S'", Rows(100)), ("T'", Rows(500))]
    n = 6
    streams = "; ".join(f"S_{i} (A INT)" for i in range(1, n + 1))
    sources = ", ".join(f"S_{i} [Rows 10]" for i in range(1, n + 1))
    conditions = " and ".join(f"S_{i}.A=S_{i + 1}.A" for i in range(1, n))
    node = plan(streams, f"Select * From {sources} Where {conditions}")
    (join,) = (j for j in walk(node) if isinstance(j, Join))
    assert len(join.members) == n
    assert len(conjuncts(join.predicate)) == n - 1


def test_section_6_1_5_a_join_and_its_filter_above_a_window_of_rows() -> None:
    streams = "S_1 (A INT, B INT); S_2 (A INT, C INT)"
    join = plan(streams, "Select * From S_1 [Range 5 Minutes], S_2 [Range 10 Minutes] Where S_1.A = S_2.A")
    assert windows(join) == [("S_1", Range(5 * MINUTE)), ("S_2", Range(10 * MINUTE))]
    query = "Select * From S_1 [Rows 50,000], S_2 [Range 10 Minutes] Where S_1.A = S_2.A and S_1.B > 10"
    pushed = [n for n in walk(optimize_node(plan(streams, query))) if isinstance(n, Filter)]
    assert [format_expression(f.predicate) for f in pushed] == ["B > 10"]
    assert isinstance(pushed[0].input, Window) and pushed[0].input.spec == Rows(50_000), "it stays above the window"


def test_example_6_3_4_unbounded_windows() -> None:
    query = """Select * From S_1 [Rows Unbounded], S_2 [Rows Unbounded], S_3 [Rows 1]
               Where S_1.B = S_2.B and S_2.C = S_3.C and S_3.D > 10"""
    node = plan("S_1 (A INT, B INT); S_2 (B INT, C INT); S_3 (C INT, D INT)", query)
    assert windows(node) == [("S_1", Rows(None)), ("S_2", Rows(None)), ("S_3", Rows(1))]


def test_figure_6_19_segments_with_accidents() -> None:
    query = """
        Select distinct sid From
         (Select cid, sid From
           (CarStr [Partition By cid Rows 1]) as LastRep,
           (Select distinct cid From
            CarStr [Range 30 seconds]) as CurActiveCars
         Where LastRep.cid = CurActiveCars.cid)
         as CurCarSeg,
         (Select cid
         From CarStr [Partition By cid Rows 4]
         Group By cid
         Having count (distinct xpos) = 1 and count(*) = 4)
         as AccCars
        Where CurCarSeg.cid = AccCars.cid"""
    node = plan("CarStr (cid INT, xpos INT, sid INT)", query)
    assert isinstance(node, Distinct)
    assert node.schema.names == ("sid",)
    assert [s for _, s in windows(node)] == [Rows(1, ("cid",)), Range(30_000_000), Rows(4, ("cid",))]
    (inner,) = (n for n in walk(node) if isinstance(n, Map) and n.schema.names == ("cid", "sid"))
    assert dict(inner.outputs)["cid"].name == "0.cid", (
        "cid is LastRep's, the first of the columns that the join equates"
    )
    (grouped,) = (n for n in walk(node) if isinstance(n, Aggregate))
    assert [str(a) for a in grouped.aggregates] == [
        "count(distinct xpos) as count(distinct xpos)",
        "count(*) as count(*)",
    ]
