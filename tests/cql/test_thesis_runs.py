"""The thesis' queries, run: small inputs whose answers one can work out by hand, on the reference and on the lane."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from penstock.plan.functions import function, user_functions
from penstock.testing import evaluate

SECOND = 1_000_000
MINUTE = 60 * SECOND
ENGINES = ("reference", "lane")
Events = list[tuple[str, int, dict[str, Any]]]


def net(script: str, events: Events, engine: str) -> dict[tuple[Any, ...], int]:
    """The net count of each (timestamp, values) in the result of the only query."""
    result = evaluate(script, events, engine=engine)
    (query,) = result.queries
    counts: Counter[tuple[Any, ...]] = Counter()
    for element in result[query]:
        counts[(element.timestamp, *element.values.values())] += element.sign
    return {k: n for k, n in counts.items() if n}


@pytest.mark.parametrize("engine", ENGINES)
def test_example_2_1_1_both_forms_are_the_same_stream(engine: str) -> None:
    declared = "CREATE STREAM S (A INT, B INT, C INT);"
    where = "Where S.A > 10 and S.B < 20 and S.C > 40"
    events: Events = [
        ("S", t, {"A": a, "B": b, "C": c})
        for t, a, b, c in [(1, 11, 19, 41), (2, 10, 0, 99), (2, 50, 0, 99), (3, None, 1, 99)]
    ]
    expected = {(1, 11, 19, 41): 1, (2, 50, 0, 99): 1}
    assert net(f"{declared} Select Istream(*) From S [Rows Unbounded] {where}", events, engine) == expected
    assert net(f"{declared} Select * From S {where}", events, engine) == expected


@pytest.mark.parametrize("engine", ENGINES)
def test_example_2_1_2_the_join_forgets_after_two_minutes(engine: str) -> None:
    script = """CREATE STREAM S_1 (A INT, B INT); CREATE STREAM S_2 (A INT);
        Select * From S_1 [Rows 1000], S_2 [Range 2 Minutes] Where S_1.A = S_2.A and S_1.A > 10 and S_1.B < 20"""
    events: Events = [
        ("S_1", 0, {"A": 11, "B": 1}),
        ("S_1", 1, {"A": 11, "B": 20}),
        ("S_2", 5, {"A": 11}),
        ("S_2", 7, {"A": 10}),
    ]
    assert net(script, events, engine) == {(5, 11, 1, 11): 1, (5 + 2 * MINUTE + 1, 11, 1, 11): -1}


@pytest.mark.parametrize("engine", ENGINES)
def test_section_1_3_total_traffic(engine: str) -> None:
    streams = "".join(f"CREATE STREAM {s} (pid INT, size INT);" for s in "CBO")
    query = """
        Select sum(C.size)
        From C [Range 10 minutes], B [Range 10 minutes], O [Range 10 minutes]
        Where C.pid = B.pid and B.pid = O.pid"""
    seen = [("C", 1), ("B", 2), ("O", 3), ("C", 4), ("O", 5), ("B", 6)]
    sizes = {1: 100, 2: 100, 3: 100, 4: 30, 5: 30, 6: 30}
    events: Events = [(s, t, {"pid": 1 if t <= 3 else 2, "size": sizes[t]}) for s, t in seen]
    left = 10 * MINUTE + 1
    assert net(streams + query, events, engine) == {
        (3, 100): 1, (6, 100): -1, (6, 130): 1, (1 + left, 130): -1, (1 + left, 30): 1, (4 + left, 30): -1,
    }  # fmt: skip


@pytest.mark.parametrize("engine", ENGINES)
def test_section_2_3_1_the_maximum_of_each_a(engine: str) -> None:
    script = "CREATE STREAM S_1 (A INT, B INT); Select A, Max(B) From S_1 [Rows 2] Group By A"
    events: Events = [("S_1", t, {"A": a, "B": b}) for t, a, b in [(1, 1, 5), (2, 1, 3), (3, 2, 9)]]
    assert net(script, events, engine) == {(1, 1, 5): 1, (3, 1, 5): -1, (3, 1, 3): 1, (3, 2, 9): 1}


@pytest.fixture
def packet_functions() -> Iterator[None]:
    table = {"T": {"10.0.0.1", "10.0.0.2"}}

    @function(returns="boolean", name="lookup")
    def lookup(addresses: Any, names: Any) -> list[bool]:
        return [a in table[t] for a, t in zip(addresses, names, strict=True)]

    @function(returns="boolean", name="match")
    def match(inputs: Any, patterns: Any) -> list[bool]:
        return [p in i for i, p in zip(inputs, patterns, strict=True)]

    yield
    for name in ("lookup", "match"):
        user_functions.functions.pop(name)


@pytest.mark.parametrize("engine", ENGINES)
def test_section_4_1_1_packets_of_an_attack(engine: str, packet_functions: None) -> None:
    script = """CREATE STREAM P (dst STRING, payload STRING); CREATE RELATION T (addr STRING);
        Select * From P Where lookup(dst, T) and match(payload, '0xa8') and match(payload, '0x7b')"""
    packets = [
        ("10.0.0.1", "..0xa8..0x7b"),
        ("10.0.0.9", "0xa80x7b"),
        ("10.0.0.2", "0xa8"),
        ("10.0.0.2", "0x7b0xa8"),
        (None, "0x7b0xa8"),
    ]
    events: Events = [("P", t, {"dst": d, "payload": p}) for t, (d, p) in enumerate(packets)]
    assert net(script, events, engine) == {(0, *packets[0]): 1, (3, *packets[3]): 1}


@pytest.mark.parametrize("engine", ENGINES)
def test_section_4_7_a_tuple_that_occurs_in_every_window(engine: str) -> None:
    script = """CREATE STREAM S_0 (a INT); CREATE STREAM S_1 (a INT); CREATE STREAM S_2 (a INT);
        Select * From S_0 Where S_0 in (Select * From S_1 [Rows 10,000]) and S_0 in (Select * From S_2 [Rows 2])"""
    feed = [
        ("S_1", 1, 7),
        ("S_2", 2, 7),
        ("S_0", 3, 7),
        ("S_2", 4, 8),
        ("S_0", 5, 7),
        ("S_2", 6, 8),
        ("S_0", 7, 7),
        ("S_0", 8, 8),
    ]
    assert net(script, [(s, t, {"a": a}) for s, t, a in feed], engine) == {(3, 7): 1, (5, 7): 1}


@pytest.mark.parametrize("engine", ENGINES)
def test_section_5_8_three_streams_with_primes(engine: str) -> None:
    script = """CREATE STREAM R' (A INT); CREATE STREAM S' (A INT, B INT); CREATE STREAM T' (B INT);
        Select * From R' [Rows 1], S' [Rows 2], T' [Rows 1] Where R'.A = S'.A and S'.B = T'.B"""
    events: Events = [("R'", 1, {"A": 7}), ("S'", 2, {"A": 7, "B": 5}), ("S'", 3, {"A": 7, "B": 6}),
                      ("T'", 4, {"B": 5}), ("T'", 5, {"B": 6}), ("R'", 6, {"A": 8})]  # fmt: skip
    assert net(script, events, engine) == {
        (4, 7, 7, 5, 5): 1, (5, 7, 7, 5, 5): -1, (5, 7, 7, 6, 6): 1, (6, 7, 7, 6, 6): -1,
    }  # fmt: skip


@pytest.mark.parametrize("engine", ENGINES)
def test_section_6_1_5_the_filter_counts_after_the_window(engine: str) -> None:
    """Tuples that fail S_1.B > 10 take places of the window all the same."""
    script = """CREATE STREAM S_1 (A INT, B INT); CREATE STREAM S_2 (A INT);
        Select * From S_1 [Rows 2], S_2 [Range 10 Minutes] Where S_1.A = S_2.A and S_1.B > 10"""
    rows = [(1, 7, 11), (2, 7, 10), (3, 8, 1)]
    events: Events = [("S_2", 0, {"A": 7}), *(("S_1", t, {"A": a, "B": b}) for t, a, b in rows)]
    assert net(script, events, engine) == {(1, 7, 11, 7): 1, (3, 7, 11, 7): -1}


@pytest.mark.parametrize("engine", ENGINES)
def test_figure_6_19_an_accident_and_its_end(engine: str) -> None:
    script = """CREATE STREAM CarStr (cid INT, xpos INT, sid INT);
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
    stuck = [("CarStr", t * SECOND, {"cid": 1, "xpos": 500, "sid": 9}) for t in range(4)]
    moving = [("CarStr", t * SECOND, {"cid": 2, "xpos": 100 * t, "sid": t}) for t in range(6)]
    freed = [("CarStr", 5 * SECOND, {"cid": 1, "xpos": 510, "sid": 9})]
    events: Events = sorted(stuck + moving, key=lambda e: e[1])
    assert net(script, events, engine) == {(3 * SECOND, 9): 1, (33 * SECOND + 1, 9): -1}, "the car falls silent"
    events = sorted(stuck + moving + freed, key=lambda e: e[1])
    assert net(script, events, engine) == {(3 * SECOND, 9): 1, (5 * SECOND, 9): -1}, "the car drives on"
