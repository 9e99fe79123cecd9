"""The quality of service that a query declares: what losing results costs, and what it may never lose (Tatbul 2.1.4).

    loss        '100: 1.0, 50: 0.7, 0: 0'                percent of the results delivered: utility
    value       "src: '10.0.0.1' = 1.0, else = 0.2"      categories of an output column, or
                'x: 0..50 = 0.2, 50..101 = 0.4..1.0'     half-open intervals; a utility may run along the interval
    latency     '1 second: 1.0, 10 seconds: 0'           delay of a result: utility
    max_gap     10, or '1 minute'                        the most consecutive results (or the longest time) lost
    answer      'subset' or 'estimate'                   exact results only, or scaled aggregates with an error
    confidence  0.95                                     of an estimate's error; max_error: the largest wished for

Where nothing is declared every query tolerates loss equally: utility is the share delivered.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from penstock.errors import PenstockError
from penstock.plan.durations import parse_duration
from penstock.plan.estimates import CONFIDENCE, estimate_of, why_not
from penstock.plan.latency import latency_points
from penstock.plan.network import Query
from penstock.shed.graph import LINEAR, Graph, envelope
from penstock.shed.reading import loss_graph, value_graph
from penstock.shed.values import Value


@dataclass(frozen=True, slots=True)
class Gap:
    """The most that may be missing in a row: so many `results`, or results over so many microseconds."""

    results: int | None = None
    span_us: int | None = None

    @property
    def drop_rate(self) -> float:
        """The largest share that can be dropped: of `results` + 1 one is delivered (Tatbul 2.1.4)."""
        return 0.0 if self.results is None else self.results / (self.results + 1)


@dataclass(frozen=True, slots=True)
class QoS:
    """What one query declares. `loss` is concave; `notes` say what was done to what was declared."""

    loss: Graph = LINEAR
    value: Value | None = None
    latency: tuple[tuple[float, float], ...] = ()
    max_gap: Gap | None = None
    answer: str = "subset"
    confidence: float = CONFIDENCE
    max_error: float | None = None
    loss_declared: bool = False
    notes: tuple[str, ...] = ()


def qos(query: Query) -> QoS:
    """What `query` declares; raises PenstockError.

    >>> from penstock.plan.nodes import Source
    >>> from penstock.plan.schema import Schema
    >>> s = Source("s", Schema.parse("x double"))
    >>> declared = qos(Query("q", s, (("loss", "100: 1, 50: 0.2, 0: 0"), ("max_gap", 10))))
    >>> declared.loss.points, declared.max_gap.drop_rate, len(declared.notes)
    (((0.0, 0.0), (1.0, 1.0)), 0.9090909090909091, 1)
    """
    given = dict(query.options)
    notes: list[str] = []
    try:
        loss = loss_graph(str(given["loss"])) if "loss" in given else None
        value = value_graph(str(given["value"]), query.root.schema, notes) if "value" in given else None
        latency = latency_points(str(given["latency"])) if "latency" in given else ()
        gap = _gap(given["max_gap"]) if "max_gap" in given else None
    except PenstockError as error:
        placed = (replace(d, message=f"query '{query.name}': {d.message}") for d in error.diagnostics)
        raise PenstockError(*placed) from None
    answer = str(given.get("answer", "subset")).lower()
    if answer == "estimate" and estimate_of(query.root) is None:
        answer = "subset"
        notes.append(f"answer: there are no estimates ({why_not(query.root)}); what is delivered is a subset")
    return QoS(
        loss=LINEAR if loss is None else _concave(loss, notes),
        value=value,
        latency=latency,
        max_gap=gap,
        answer=answer,
        confidence=float(given.get("confidence", CONFIDENCE)),
        max_error=float(given["max_error"]) if "max_error" in given else None,
        loss_declared=loss is not None,
        notes=tuple(notes),
    )


def _concave(graph: Graph, notes: list[str]) -> Graph:
    """The concave envelope; the greedy order of drops needs one."""
    hull = envelope(graph)
    if any(abs(hull(x) - u) > 1e-9 for x, u in graph.points):
        shown = ", ".join(f"{x * 100:g}: {u:g}" for x, u in reversed(hull.points))
        notes.append(f"loss: the function is not concave; its concave envelope stands for it: '{shown}'")
    return hull


def _gap(value: str | int | float | bool) -> Gap:
    try:
        return Gap(results=int(float(value)))
    except ValueError:
        return Gap(span_us=parse_duration(str(value)))
