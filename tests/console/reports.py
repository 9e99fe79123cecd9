"""Reports of batches as a run would give them, for whoever watches one."""

from __future__ import annotations

from penstock.cql import compile_script
from penstock.plan.drops import Location
from penstock.plan.network import Network
from penstock.plan.rewrites import optimize
from penstock.plan.windows import BEGIN
from penstock.spark.batch import BatchReport
from penstock.stats.accounts import QueryAccount
from penstock.stats.batches import BatchStatistics, DelayStatistics, Waits
from penstock.stats.snapshot import DropStatistics, Snapshot, StreamStatistics

SCRIPT = """
CREATE STREAM s (a INT, b INT);
CREATE STREAM t (a INT);
CREATE QUERY q WITH (delay = '2 seconds') AS SELECT a FROM s WHERE b > 1;
CREATE QUERY r AS SELECT a FROM t;
"""
SECONDS = {"plan": 0.01, "gate": 0.09, "lanes": 0.2, "state": 0.03, "commit": 0.02, "sinks": 0.05}

ACCOUNTS = (QueryAccount("q", 90, share=0.9, tuple_utility=0.8, gap_us=3_000_000, error=0.05),)


def network() -> Network:
    return optimize(compile_script(SCRIPT))


def report(batch: int, came: int = 100, dropped: int = 0, waits: tuple[float, ...] = (1.0,)) -> BatchReport:
    """Batch number `batch`: `came` and `dropped` rows of `s` in all, and results of `q` that waited so long."""
    nodes = network().nodes()
    streams = (StreamStatistics("s", came, 2, 1, 0, 0, BEGIN, None), StreamStatistics("t", 0, 0, 0, 0, 0, 7, None))
    drop = DropStatistics(Location(nodes[0]), "random", came, dropped)
    due = [(1, [int(-w * 1e6)]) for w in waits]
    delays = (DelayStatistics.of("q", 0, due),) if due else ()
    taken = BatchStatistics(batch, came, SECONDS, 0.5, delays)
    snapshot = Snapshot(batch, 0.0, (), streams, store_bytes=512, set_aside=(("f", batch),), drops=(drop,), batch=taken,
                        accounts=ACCOUNTS)  # fmt: skip
    heard = {"q": Waits.of(0, due)} if due else {}
    return BatchReport(batch, batch, came, {"q": len(due)}, SECONDS, {("s", "a is not an int"): 3}, heard, snapshot)
