"""The delay that each query declares: `delay = '2 seconds'` bounds the response time of its slowest results."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from penstock.plan.durations import parse_duration
from penstock.plan.network import Network
from penstock.stats.batches import DelayStatistics

_SECOND_US = 1_000_000


def targets(network: Network) -> dict[str, float]:
    """The target of each query that declares one, in seconds.

    >>> from penstock.cql import compile_script
    >>> script = "CREATE STREAM s (a INT); CREATE QUERY q WITH (delay = '2 seconds') AS SELECT a FROM s WHERE a > 1"
    >>> targets(compile_script(script))
    {'q': 2.0}
    """
    declared = {q.name: dict(q.options).get("delay") for q in network.queries}
    return {name: parse_duration(str(d)) / _SECOND_US for name, d in declared.items() if d is not None}


@dataclass(frozen=True, slots=True)
class Judged:
    """Response times of all queries with a target, in the measure of the binding one: a query whose target is twice as
    far may be twice as slow."""

    mean_s: float
    p99_s: float


def judged(delays: Iterable[DelayStatistics], wanted: Mapping[str, float]) -> Judged | None:
    """The worst of `delays` against what each query wants; None where no such query delivered anything.

    >>> from penstock.stats.batches import DelayStatistics
    >>> judged([DelayStatistics("a", 5, 1.0, 1.0, 1.5, 1.6), DelayStatistics("b", 5, 3.0, 3.0, 3.6, 4.0)],
    ...        {"a": 2.0, "b": 8.0})
    Judged(mean_s=1.0, p99_s=1.5)
    """
    binding = min(wanted.values(), default=0.0)
    told = [(d, binding / wanted[d.query]) for d in delays if d.query in wanted]
    if not told:
        return None
    return Judged(max(d.mean_s * share for d, share in told), max(d.p99_s * share for d, share in told))
