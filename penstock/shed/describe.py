"""What `check` and `explain` say of shedding: which drops a query allows and where, what a late drop forgoes, load
coefficients and drop locations."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.plan.drops import Location
from penstock.plan.estimates import wants, why_not
from penstock.plan.network import Network, Query
from penstock.plan.node import Node
from penstock.plan.nodes import Aggregate, Source, WindowAggregate
from penstock.plan.rewrites import optimize_node
from penstock.shed.allowed import Allowed, places
from penstock.shed.group_values import group_valuing
from penstock.shed.lineage import lineage
from penstock.shed.locations import branches, candidates
from penstock.shed.mapped import protected
from penstock.shed.qos import QoS, qos
from penstock.stats.load import NOMINAL_S, LoadModel, Work


def allowed_drops(query: Query) -> Iterator[str]:
    """A line for each thing that a reader of `check` should know of shedding `query`.

    >>> from penstock.cql import compile_script
    >>> network = compile_script('''CREATE STREAM s (a INT, x INT);
    ...     CREATE QUERY q WITH (value = 'x: 0..50 = 0.2, 50..101 = 1, else = 0') AS SELECT x FROM s WHERE x > 10;
    ...     CREATE QUERY d AS SELECT DISTINCT a FROM s [Range 1 Minute]''')
    >>> for query in network.queries:
    ...     print("\\n".join(allowed_drops(query)))
    random drops: at stream s
    semantic drops, by x: at stream s
    random drops: at Distinct -> d, not earlier: of equal rows a later one would stand for the first
        a drop there saves nothing of window [Range 1 Minute], map a, Distinct
    >>> grouped = compile_script('CREATE STREAM s (a INT); CREATE QUERY g WITH (value = "a: 0..9 = 1") AS '
    ...     'SELECT a, count(*) AS n FROM s [Range 1 Minute Slide 1 Minute] GROUP BY a')
    >>> print(list(allowed_drops(grouped.queries[0]))[-2])
    semantic drops, by a: whole groups, as windows, before the aggregate
    """
    query = Query(query.name, optimize_node(query.root), query.options)
    declared = qos(query)
    yield from (f"note: {note}" for note in declared.notes)
    if declared.latency:
        yield "note: latency: orders the work where results come one by one; a run answers micro-batches as wholes"
    if declared.answer == "estimate":
        yield "sampling: every sum, count and avg is estimated, with its error at " + _confidence(declared)
        return
    if declared.max_gap is not None:
        yield f"random drops: none, for they do not bound gaps; {_most(declared)}"
    else:
        yield from _random(query)
        yield from _semantic(query, declared)
    if declared.max_gap is None and _sampled(query):
        yield "sampling: possible, with answer = 'estimate'"


def _confidence(declared: QoS) -> str:
    wished = "" if declared.max_error is None else f", at most {declared.max_error:g} of the value"
    return f"{declared.confidence:g} confidence{wished}"


def _most(declared: QoS) -> str:
    gap = declared.max_gap
    if gap is None or gap.results is None:
        return "window drops only where the aggregate's windows are known"
    return f"window drops take at most {gap.drop_rate:.1%} of the windows"


def _random(query: Query) -> Iterator[str]:
    for place in places(query):
        late = f", not earlier: {place.why}" if place.why else ""
        yield f"random drops: at {place.location}{late}"
        if place.forgone:
            yield f"    a drop there saves nothing of {', '.join(n.label for n in place.forgone)}"


def _semantic(query: Query, declared: QoS) -> Iterator[str]:
    if declared.value is None:
        return
    if query.name in group_valuing(Network(queries=(query,))):
        yield f"semantic drops, by {declared.value.column}: whole groups, as windows, before the aggregate"
        return
    having = lineage(query.root, declared.value.column)
    allowed = Allowed.of(Network(queries=(query,)))
    early = [n for n in Network(queries=(query,)).nodes() if n in having and allowed.why_not(Location(n)) is None]
    where = str(Location(early[0])) if early else f"{query.root.label} -> {query.name}"
    yield f"semantic drops, by {declared.value.column}: at {where}"
    if early and not isinstance(early[0], Source):
        yield f"    {declared.value.column} is no plain column of the stream; a random drop may stand earlier"


def _sampled(query: Query) -> bool:
    aggregated = any(isinstance(n, Aggregate | WindowAggregate) for n in Network(queries=(query,)).nodes())
    return aggregated and not wants(query) and why_not(query.root) is None


def load_notes(network: Network) -> dict[Node, tuple[str, ...]]:
    """For each node of `network` its load coefficient and, where drops may stand behind it, what may. Costs are those
    that delay boxes state, and `NOMINAL_S` for every other operator; every selectivity is 1 until it is measured."""
    nodes = network.nodes()
    stated = {n: LoadModel(Network(), {}, {}).of(n) for n in nodes}
    work = {n: w if w.cost_s else Work(NOMINAL_S, 1.0) for n, w in stated.items()}
    load = LoadModel(network, work, {})
    declared = [qos(q) for q in network.queries]
    listed = set(candidates(load, Allowed.of(network, protected(network, declared))))
    arcs = branches(load)
    found = {}
    for node in nodes:
        notes = [f"load coefficient {load.coefficient(Location(node)) * 1e6:.4g} us a tuple, at nominal costs"]
        here = [at for at in (Location(node), *arcs[node]) if at in listed]
        notes += [f"drop location{'' if at == Location(node) else f': {at}'}" for at in here]
        found[node] = tuple(notes)
    return found
