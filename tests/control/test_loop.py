"""The loop: what strategies propose and the gate accepts becomes the plan, and everything is in the log."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from penstock.control.loop import Decision, Loop, Proposal
from penstock.cql import compile_script
from penstock.lane.events import Inputs, arrivals
from penstock.lane.runtime import Lane
from penstock.lane.session import Job, run
from penstock.plan.drops import Location, RandomDrop
from penstock.plan.rewrites import optimize
from penstock.plan.running import Plan, SetDrops
from penstock.stats.snapshot import Snapshot

SCRIPT = "CREATE STREAM s (a BIGINT); CREATE QUERY q AS SELECT a FROM s WHERE a > 0"
NETWORK = optimize(compile_script(SCRIPT))


@dataclass(frozen=True)
class Halve:
    """Drops half of the result once `after` rows have come in."""

    after: int
    name: str = "halve"

    def propose(self, plan: Plan, snapshot: Snapshot) -> Sequence[Proposal]:
        if plan.drops or sum(s.rows for s in snapshot.streams) < self.after:
            return ()
        root = NETWORK.query("q").root
        return (Proposal(SetDrops(((Location(root), RandomDrop(0.5)),)), "too much"),)


class Closed:
    def judge(self, strategy: str, proposal: Proposal, snapshot: Snapshot) -> str | None:
        return f"{strategy} may not"


def delivered(loop: Loop) -> int:
    given = arrivals(Inputs(NETWORK), [("s", i, {"a": i}) for i in range(1, 401)])
    job = Job(NETWORK, NETWORK.streams, (), given, 100)
    return len(run(job, Lane(NETWORK, optimized=False), loop).elements["q"])


def test_what_is_proposed_holds_from_the_next_batch_on() -> None:
    loop = Loop(Plan(NETWORK), [Halve(200)])
    assert 270 < delivered(loop) < 330
    (decision,) = [d for d in loop.log if isinstance(d, Decision)]
    assert (decision.strategy, decision.refused, decision.plan) == ("halve", None, 1)


def test_what_the_gate_refuses_changes_nothing_and_is_logged() -> None:
    loop = Loop(Plan(NETWORK), [Halve(200)], Closed())
    assert delivered(loop) == 400
    decisions = [d for d in loop.log if isinstance(d, Decision)]
    assert {d.refused for d in decisions} == {"halve may not"}
    assert loop.plan == Plan(NETWORK)
