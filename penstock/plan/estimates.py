"""Queries that take estimates: their sums, counts and averages are computed from weighted tuples, each with its error
(Babcock, Datar, Motwani).

A tuple that passed sampling drops stands for w = 1 / P tuples. The rewriting is in terms of ordinary operators: a map
below the aggregate makes the weighted columns, a map above it puts them together.

| answer | estimate | its variance, estimated |
|---|---|---|
| sum(x) | sum w x | V = sum w (w - 1) x^2 |
| count(x) | sum w where x is there | the same with x = 1 |
| avg(x) | R = sum w x / sum w | sum w (w - 1) (x - R)^2 / (sum w)^2 |

Both are unbiased for sum and count whatever the weights are, for tuples are kept independently of each other
(Horvitz, Thompson); avg is a ratio, nearly unbiased, and its variance that of the delta method.

`<column>_error` is the half-width at the query's confidence 1 - delta: z sqrt(V (1 + z^2 / n)) + sqrt(V / n) / 2. Here
n = V^2 / sum (w (w - 1) x^2)^2 says how many tuples the variance rests on: where few or unequal ones, it is itself
uncertain; the last term is half of what one tuple more or less makes. z is the normal quantile for `MARGIN` delta: with
both the half-width is exceeded in at most a share delta of the answers, which tests measure. Hoeffding's bound, by
which the paper chooses sampling rates, is twice as wide.

A join on the path must find one stored row for a tuple at most (a foreign key): several rows of one tuple stay or go
together, and the error would be larger than is said.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import reduce
from statistics import NormalDist
from typing import Final

from penstock.errors import PenstockError
from penstock.plan.aggregates import canonical
from penstock.plan.expressions import Call, Column, Expression, Literal, columns
from penstock.plan.functions import call, cast
from penstock.plan.network import Query
from penstock.plan.node import Node
from penstock.plan.nodes import (
    Aggregate,
    AggregateCall,
    Delay,
    Filter,
    IStream,
    Join,
    Map,
    Read,
    RStream,
    SemiJoin,
    Source,
    Table,
    Union,
    Window,
    WindowAggregate,
)
from penstock.plan.types import DOUBLE
from penstock.plan.windows import Range, SlideRange, format_window

MARGIN: Final = 0.75
"""The share of delta that the normal distribution may use up; the rest is for what it is not."""
CONFIDENCE: Final = 0.95
WEIGHTED: Final = "weighted "
"""The name of a weighted column begins with this."""
_ESTIMATED: Final = ("sum", "count", "avg")


@dataclass(frozen=True, slots=True)
class Estimate:
    """An aggregate that estimates: `node`, and the weighted columns of its input that it sums; `ratio` for avg."""

    node: Aggregate | WindowAggregate
    columns: tuple[tuple[str, bool], ...]


def wants(query: Query) -> bool:
    """True where the query takes estimates."""
    return str(dict(query.options).get("answer", "")).lower() == "estimate"


def estimate_of(root: Node) -> Estimate | None:
    """The aggregate of a query that was made to estimate; None where there is none."""
    node: Node = root
    while isinstance(node, Map | Filter | Delay | IStream | RStream):
        node = node.inputs[0]
    if not isinstance(node, Aggregate | WindowAggregate):
        return None
    summed = [c.argument for c in node.aggregates if c.argument and c.argument.startswith(WEIGHTED)]
    averaged = {c.argument for c in node.aggregates if c.argument and c.argument.startswith("product ")}
    counted = {f"weighted whether {c.removeprefix('product ')}" for c in averaged}
    listed = tuple((c, f"product {c.removeprefix(WEIGHTED)}" in averaged) for c in summed if c not in counted)
    return Estimate(node, listed) if listed else None


def estimated(query: Query) -> Query:
    """`query` with its estimates and their errors; as it is where it wants none, or can have none (see `why_not`).

    >>> from penstock.cql import compile_script
    >>> network = compile_script('''CREATE STREAM s (x INT);
    ...     CREATE QUERY q WITH (answer = 'estimate') AS
    ...     SELECT sum(x) AS total FROM s [Range 1 Minute Slide 1 Minute]''')
    >>> network.query("q").root.schema.names
    ('total', 'total_error')
    """
    if not wants(query) or estimate_of(query.root) is not None or why_not(query.root) is not None:
        return query
    confidence = float(dict(query.options).get("confidence", CONFIDENCE))
    return replace(query, root=_above(query.root, NormalDist().inv_cdf(1 - MARGIN * (1 - confidence) / 2)))


def why_not(root: Node) -> str | None:
    """Why the result of `root` cannot be estimated by sampling; None where it can."""
    node: Node = root
    chain: list[Node] = []
    while not isinstance(node, Aggregate | WindowAggregate):
        if not isinstance(node, Map | Filter | Delay | IStream | RStream):
            return f"{node.label}: only an aggregate can be estimated"
        chain.append(node)
        node = node.inputs[0]
    wrong = [c for c in node.aggregates if canonical(c.function) not in _ESTIMATED or c.distinct]
    if wrong:
        return f"{wrong[0].function}{' distinct' if wrong[0].distinct else ''} cannot be estimated by sampling"
    if not node.aggregates:
        return "it has no sum, count or avg"
    strange = [c for c in node.aggregates if c.type.name == "interval"]
    if strange:
        return f"{strange[0]} is of intervals, not of numbers"
    return _why_not_above(chain, node) or _why_not_below(node)


def _why_not_above(chain: list[Node], node: Aggregate | WindowAggregate) -> str | None:
    made = frozenset(c.name for c in node.aggregates)
    for above in reversed(chain):
        if isinstance(above, Filter) and columns(above.predicate) & made:
            return f"{above.label}: a condition on an estimate would choose by chance"
        if isinstance(above, Map):
            read = [(n, e) for n, e in above.outputs if columns(e) & made]
            bent = next((n for n, e in read if _error(e, made) is None), None)
            if bent is not None:
                return f"{bent} computes with estimates; only multiples of one have an error of their own"
            made = frozenset(n for n, _ in read)
    return None


def _why_not_below(node: Aggregate | WindowAggregate) -> str | None:
    if isinstance(node, WindowAggregate) and (not isinstance(node.window, SlideRange) or node.window.on is not None):
        return f"{node.label}: its windows are not over time"
    streams = 0
    waiting: list[Node] = [node.input]
    while waiting:
        below = waiting.pop()
        if isinstance(below, Source):
            streams += 1
            continue
        why = _why_not_through(below)
        if why is not None:
            return f"{below.label}: {why}"
        waiting += below.inputs
    return None if streams else "it reads no stream"


def _why_not_through(node: Node) -> str | None:
    """Why a sample of what comes to `node` gives no sample of what leaves it."""
    if isinstance(node, Window):
        timed = isinstance(node.spec, Range) and node.spec.on is None
        return None if timed or (isinstance(node.spec, SlideRange) and node.spec.on is None) else "it is not over time"
    if isinstance(node, Join | SemiJoin | Read):
        if node.kind is node.inputs[0].kind and sum(_has_stream(i) for i in node.inputs) > 1:
            return "only joins with stored relations keep a sample a sample"
        return "it may lose rows" if isinstance(node, SemiJoin) and _has_stream(node.right) else None
    return None if isinstance(node, Filter | Map | Delay | Union | Table) else "behind it a sample is no sample"


def _has_stream(node: Node) -> bool:
    return isinstance(node, Source) or any(_has_stream(i) for i in node.inputs)


def _above(node: Node, z: float) -> Node:
    """The nodes from the aggregate up, with error columns at the end."""
    if isinstance(node, Aggregate | WindowAggregate):
        return _aggregated(node, z)
    below = _above(node.inputs[0], z)
    if not isinstance(node, Map):
        return node.with_inputs((below,))
    made = _with_errors(below)
    outputs: list[tuple[str, Expression]] = []
    errors: list[tuple[str, Expression]] = []
    for name, e in node.outputs:
        outputs.append((name, _value(e, made)))
        error = _error(e, made) if columns(e) & made else None
        if error is not None:
            errors.append((f"{name}_error", error))
    return Map(below, _distinct_names((*outputs, *errors)))


def _with_errors(node: Node) -> frozenset[str]:
    """The columns that have an error."""
    return frozenset(n for n in node.schema.names if f"{n}_error" in node.schema)


def _distinct_names(outputs: tuple[tuple[str, Expression], ...]) -> tuple[tuple[str, Expression], ...]:
    names = [n for n, _ in outputs]
    twice = next((n for n in names if names.count(n) > 1), None)
    if twice is not None:
        raise PenstockError(f"a column named '{twice}' and the error of an estimate have one name")
    return outputs


def _value(e: Expression, made: frozenset[str]) -> Expression:
    """`e` over estimates: doubles."""
    if isinstance(e, Column):
        return Column(e.name, DOUBLE) if e.name in made else e
    if not isinstance(e, Call) or not columns(e) & made:
        return e
    arguments = [_value(a, made) for a in e.arguments]
    return cast(arguments[0], e.type) if e.function == "cast" else call(e.function, *arguments)


def _error(e: Expression, made: frozenset[str]) -> Expression | None:
    """The half-width of a multiple of one estimate; None for anything else."""
    if isinstance(e, Column):
        return Column(f"{e.name}_error", DOUBLE) if e.name in made else None
    if not isinstance(e, Call):
        return None
    inner = [_error(a, made) for a in e.arguments]
    fixed = [a for a in e.arguments if isinstance(a, Literal)]
    if e.function == "cast":
        return inner[0] if e.type.numeric else None
    if len(inner) != 2 or len(fixed) != 1:
        return None
    (other,) = [i for a, i in zip(e.arguments, inner, strict=True) if not isinstance(a, Literal)]
    if other is None or e.function in ("+", "-"):
        return other
    if e.function == "*" or (e.function == "/" and isinstance(e.arguments[1], Literal)):
        return call(e.function, other, call("abs", cast(fixed[0], DOUBLE)))
    return None


def _aggregated(node: Aggregate | WindowAggregate, z: float) -> Node:
    below: dict[str, Expression] = {k: Column(k, node.input.schema.type_of(k)) for k in node.keys}
    sums: dict[str, AggregateCall] = {}
    finished: list[tuple[str, Expression]] = [(k, Column(k, node.schema.type_of(k))) for k in node.keys]
    errors: list[tuple[str, Expression]] = []
    for each in node.aggregates:
        about = _subject(each, node)
        for name, e in _summands(about, each, node.input):
            below[name] = e
            sums[name] = AggregateCall(f"sum({name})", "sum", name, DOUBLE)
        value, error = _answer(about, each, z)
        finished.append((each.name, value))
        errors.append((f"{each.name}_error", error))
    weighed = Map(node.input, tuple(below.items()))
    summed = replace(node, input=weighed, aggregates=tuple(sums.values()))
    bounds = [(f.name, Column(f.name, f.type)) for f in node.schema.fields[len(finished) :]]
    return Map(summed, _distinct_names((*finished, *bounds, *errors)))


_WEIGHT: Final = Call("weight", (), DOUBLE)
_ONE: Final = Literal(1.0, DOUBLE)


def _subject(each: AggregateCall, node: Aggregate | WindowAggregate) -> str:
    """What the summands of an aggregate are named after: its argument and its window, so that aggregates over different
    windows read maps of their own, and may be sampled at different rates."""
    over = f" over {format_window(node.window)}" if isinstance(node, WindowAggregate) else ""
    about = "1" if each.argument is None else each.argument
    counts = each.argument is not None and canonical(each.function) == "count"
    return f"{'whether ' if counts else ''}{about}{over}"


def _times(*factors: Expression) -> Expression:
    return reduce(lambda a, b: call("*", a, b), factors)


def _summands(about: str, each: AggregateCall, source: Node) -> Iterator[tuple[str, Expression]]:
    """The columns to be summed for an aggregate."""
    spread = _times(_WEIGHT, call("-", _WEIGHT, _ONE))
    x = _counted(each, source)
    yield f"{WEIGHTED}{about}", _times(_WEIGHT, x)
    yield f"spread {about}", _times(spread, x, x)
    if canonical(each.function) != "avg":
        square = _times(spread, x, x)
        yield f"evidence {about}", _times(square, square)
        return
    assert each.argument is not None
    there = _there(Column(each.argument, source.schema.type_of(each.argument)))
    yield f"product {about}", _times(spread, x)
    yield f"weighted whether {about}", _times(_WEIGHT, there)
    yield f"spread whether {about}", _times(spread, there)
    yield f"evidence whether {about}", _times(spread, spread, there)


def _counted(each: AggregateCall, source: Node) -> Expression:
    if each.argument is None:
        return _ONE
    argument = Column(each.argument, source.schema.type_of(each.argument))
    return _there(argument) if canonical(each.function) == "count" else cast(argument, DOUBLE)


def _there(argument: Expression) -> Expression:
    return call("if", call("is_null", argument), Literal(0.0, DOUBLE), _ONE)


def _sum(what: str) -> Expression:
    return Column(f"sum({what})", DOUBLE)


def _answer(about: str, each: AggregateCall, z: float) -> tuple[Expression, Expression]:
    """The estimate and its half-width, over the sums."""
    if canonical(each.function) != "avg":
        spread = _sum(f"spread {about}")
        return _sum(f"{WEIGHTED}{about}"), _half_width(spread, spread, _sum(f"evidence {about}"), z)
    count, there = _sum(f"weighted whether {about}"), _sum(f"spread whether {about}")
    ratio = call("/", _sum(f"{WEIGHTED}{about}"), count)
    twice = _times(Literal(2.0, DOUBLE), ratio, _sum(f"product {about}"))
    squares = call("+", call("-", _sum(f"spread {about}"), twice), _times(ratio, ratio, there))
    variance = call("/", call("greatest", squares, Literal(0.0, DOUBLE)), _times(count, count))
    return ratio, _half_width(variance, there, _sum(f"evidence whether {about}"), z)


def _half_width(variance: Expression, spread: Expression, evidence: Expression, z: float) -> Expression:
    """z sqrt(V (1 + z^2 / n)) + sqrt(V / n) / 2 with 1 / n = evidence / spread^2; 0 where nothing is left to chance."""
    few = call("/", evidence, _times(spread, spread))
    wide = call("sqrt", _times(variance, call("+", _ONE, _times(Literal(z * z, DOUBLE), few))))
    one = call("sqrt", _times(variance, few))
    half = call("+", _times(Literal(z, DOUBLE), wide), _times(Literal(0.5, DOUBLE), one))
    return call("if", call(">", evidence, Literal(0.0, DOUBLE)), half, Literal(0.0, DOUBLE))
