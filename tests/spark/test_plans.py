"""Plans that change while the pipeline runs: what the gate drops, what lanes drop, and that both count it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from penstock.control.loop import Loop, Proposal
from penstock.cql import compile_script
from penstock.errors import PenstockError
from penstock.lane.events import Inputs, arrivals
from penstock.lane.lanes import Lanes
from penstock.lane.session import Job
from penstock.lane.session import run as run_lanes
from penstock.plan.drops import Location, Placed, RandomDrop, SemanticDrop
from penstock.plan.expressions import Call, Column, Literal
from penstock.plan.network import Network
from penstock.plan.node import Node, walk
from penstock.plan.nodes import Filter, Source, WindowAggregate
from penstock.plan.rewrites import optimize
from penstock.plan.running import Plan, SetDrops, ShutDown
from penstock.plan.types import BOOLEAN, INT
from penstock.settings import Settings
from penstock.spark import kit
from penstock.spark.drops import at_gate
from penstock.spark.plans import Plans
from penstock.spark.stages import staged
from penstock.spark.state.files import Folder
from penstock.spark.steering import Steering
from penstock.stats.snapshot import Snapshot

SCRIPT = """
CREATE STREAM s (a INT, k INT, x DOUBLE) WITHIN 0 SECONDS;
CREATE STREAM t (k INT, y INT) WITHIN 0 SECONDS;
CREATE QUERY big AS SELECT a, x FROM s WHERE a > 20;
CREATE QUERY sums AS SELECT k, sum(a) AS total, count(*) AS n FROM s [Range 10 Microseconds Slide 5 Microseconds]
  GROUP BY k;
CREATE QUERY pairs AS SELECT s.a, t.y FROM s [Range 20 Microseconds], t [Range 20 Microseconds] WHERE s.k = t.k;
CREATE QUERY nested AS SELECT max(n) AS most FROM (SELECT k, count(*) AS n
  FROM t [Range 8 Microseconds Slide 4 Microseconds] GROUP BY k) [Range 16 Microseconds Slide 8 Microseconds];
"""
NETWORK = optimize(compile_script(SCRIPT))
NODES = NETWORK.nodes()
S, T = (next(n for n in NODES if isinstance(n, Source) and n.name == name) for name in "st")


def job(network: Network, rows: int = 300, batch: int = 150) -> Job:
    events = [("s", i, {"a": i * 7 % 101, "k": i % 5, "x": i / 4}) for i in range(1, rows)]
    events += [("t", i, {"k": i * 3 % 5, "y": i}) for i in range(1, rows)]
    events.sort(key=lambda e: e[1])
    return Job(network, network.streams, (), arrivals(Inputs(network), events), batch)


def results(found: dict[str, list[Any]]) -> dict[str, list[Any]]:
    return {name: sorted(tuple(e) for e in elements) for name, elements in found.items()}


def keep(column: str, least: int) -> Call:
    return Call(">=", (Column(column, INT), Literal(least, INT)), BOOLEAN)


def reader(leaf: Node, kind: type) -> Location:
    """The arc from `leaf` into the first operator of that kind above it."""
    for node in NODES:
        if isinstance(node, kind) and leaf in node.inputs:
            return Location(leaf, node, node.inputs.index(leaf))
    raise AssertionError(kind)


@dataclass
class Schedule:
    """Sets these plans one after another, a batch each."""

    changes: list[tuple[Any, ...]]
    name: str = "schedule"

    def propose(self, plan: Plan, snapshot: Snapshot) -> Sequence[Proposal]:
        changes = self.changes.pop(0) if self.changes else ()
        return [Proposal(change, "as scheduled") for change in changes]


EVERYWHERE: tuple[Placed, ...] = (
    (Location(S), RandomDrop(0.3, 5)),
    (reader(S, Filter), SemanticDrop(keep("a", 30), 0.1)),
    (Location(T), SemanticDrop(keep("y", 50), 0.1)),
    (Location(NETWORK.query("pairs").root, query="pairs"), RandomDrop(0.5, 9)),
)


AGGREGATE = next(n for n in NODES if isinstance(n, WindowAggregate) and S in walk(n))


def spark_run(loop: Loop) -> Any:
    return kit.run(job(NETWORK), 2, loop)


@pytest.mark.usefixtures("spark")
def test_the_same_plan_drops_the_same_tuples_on_gate_and_lanes() -> None:
    plan = Plan(NETWORK, drops=EVERYWHERE)
    mine, left = at_gate(staged(NETWORK, 2), plan)
    assert [str(d.placed[0]) for d in mine] == ["stream s", "stream s", "stream t", "stream t"]
    assert left.drops == EVERYWHERE[1:2] + EVERYWHERE[3:]
    in_process = run_lanes(job(NETWORK), Lanes(NETWORK, 2), Loop(plan, []))
    on_spark = spark_run(Loop(plan, []))
    assert results(on_spark.elements) == results(in_process.elements)
    assert all(on_spark.elements.values())
    found, expected = ({(str(d.location), d.reason): (d.rows_in, d.dropped) for d in o.log[-1].drops}
                       for o in (on_spark, in_process))  # fmt: skip
    assert found["stream t", "semantic"] == (299, 49)
    assert found.keys() == expected.keys()
    assert all(came > went > 0 for came, went in found.values())


@pytest.mark.usefixtures("spark")
def test_plans_that_change_are_repeated_exactly_and_every_tuple_is_counted() -> None:
    changes = [(SetDrops(EVERYWHERE),), (SetDrops(EVERYWHERE[:2]), ShutDown(("sums",)))]
    first, second = (spark_run(Loop(Plan(NETWORK), [Schedule(list(changes))])) for _ in range(2))
    assert results(first.elements) == results(second.elements)
    last = first.log[-1]
    assert {s.name: s.rows for s in last.streams} == {"s": 299, "t": 299}
    assert last.shut_down == ("sums",)
    assert [s.batch.rows_in for s in first.log] == [150, 150, 150, 148, 0]
    sums = next(o for o in last.operators if o.node == AGGREGATE)
    assert sums.rows_in < 299 and sums.busy_s > 0 and sums.rows_out > 0


def steering(folder: Path, mode: str = "on") -> Steering:
    return Steering(staged(NETWORK, 2), Loop(Plan(NETWORK, 4, EVERYWHERE), []), Folder(str(folder)), Settings(), mode)


def test_only_on_drops_and_a_file_switches_while_it_runs(tmp_path: Path) -> None:
    steered = steering(tmp_path)
    plans = Plans(NETWORK)
    assert plans.read(steered.written()).drops == EVERYWHERE
    for mode, drops in (("monitor", ()), ("on", EVERYWHERE), ("off", ()), ("sideways", ())):
        (tmp_path / "mode").write_text(mode)
        assert plans.read(steered.written()).drops == drops
    assert steered.mode == "off"
    steered.close()
    (file,) = (tmp_path / "events").iterdir()
    events = [json.loads(line) for line in file.read_text().splitlines()]
    assert [e["kind"] for e in events] == ["network", "mode", "mode", "mode", "mode refused"]
    with pytest.raises(PenstockError, match="unknown mode 'sideways'"):
        steered.mode = "sideways"


def test_a_plan_is_read_over_nodes_of_ones_own() -> None:
    plan = Plan(NETWORK, 7, EVERYWHERE, shut_down=("sums",))
    again = optimize(compile_script(SCRIPT))
    assert Plans(again).read(Plans(NETWORK).written(plan)) == replace(plan, network=again)
    with pytest.raises(AssertionError, match="another network"):
        Plans(optimize(compile_script("CREATE STREAM s (a INT); CREATE QUERY q AS SELECT a FROM s"))).read(
            Plans(NETWORK).written(plan)
        )
