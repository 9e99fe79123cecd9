"""The aggregates: their names, what they take, what they return, and what may be done to them.

`resolve` is the type rule. `properties` says how an aggregate may be evaluated: whether partial results of parts of a
window can be put together and taken apart again, whether the order of the rows matters, and whether a source may
pre-aggregate it per pane.

Meaning (what every engine computes):

* NULL arguments are skipped, except by `first` and `last`, which give the value of the first or last row, even NULL.
  A group without an argument that is not NULL gives NULL, and a count of 0.
* sum over integers is BIGINT, NULL where the exact sum leaves 64 bits; over doubles it is the exact sum, rounded once.
* variance and stddev are the sample ones (NULL for one row), `*_pop` divide by n; the argument is taken as a double.
* `approx_quantile(x, q)` has a relative error of at most 1 %: see `penstock.operators.kernels.sketch`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from penstock.errors import Diagnostic, PenstockError, unknown
from penstock.plan.functions.user import user_functions
from penstock.plan.node import Node
from penstock.plan.nodes import AggregateCall, Delay, Filter, Map, Window
from penstock.plan.types import BIGINT, DOUBLE, INTERVAL, MAX_DECIMAL_PRECISION, NULL, Type, decimal

Parameters = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Properties:
    """How an aggregate may be evaluated.

    mergeable        partial results of two sets of rows make the result of their union
    subtractable     ... and of their difference
    order_sensitive  the result depends on the order of the rows
    panes            a source may send one partial result a pane and group in place of the rows
    """

    mergeable: bool = True
    subtractable: bool = True
    order_sensitive: bool = False
    panes: bool = False


@dataclass(frozen=True, slots=True)
class Rule:
    """One built-in aggregate: how it is written, what it returns for a type (None: refused), and its properties."""

    signature: str
    returns: Callable[[Type], Type | None]
    properties: Properties
    takes_distinct: bool = False


def _same(t: Type) -> Type | None:
    return t


def _count(_: Type) -> Type | None:
    return BIGINT


def _double(t: Type) -> Type | None:
    return DOUBLE if t.numeric or t == NULL else None


def _sum(t: Type) -> Type | None:
    if t.name == "decimal":
        return decimal(min(MAX_DECIMAL_PRECISION, t.precision + 10), t.scale)
    return BIGINT if t.name in ("int", "bigint") else t if t in (DOUBLE, INTERVAL) else DOUBLE if t == NULL else None


def _avg(t: Type) -> Type | None:
    if t.name == "decimal":
        return decimal(min(MAX_DECIMAL_PRECISION, t.precision + 4), min(MAX_DECIMAL_PRECISION, t.scale + 4))
    return INTERVAL if t == INTERVAL else _double(t)


_ALGEBRAIC: Final = Properties(panes=True)
_EXTREME: Final = Properties(subtractable=False, panes=True)
_ORDERED: Final = Properties(subtractable=False, order_sensitive=True)
_HOLISTIC: Final = Properties(panes=False)
_MOMENT: Final = {n: Rule(f"{n}(number)", _double, _ALGEBRAIC) for n in ("stddev", "stddev_pop", "variance", "var_pop")}
RULES: Final[dict[str, Rule]] = {
    "count": Rule("count(*) or count([distinct] value)", _count, _ALGEBRAIC, takes_distinct=True),
    "sum": Rule("sum([distinct] number)", _sum, _ALGEBRAIC, takes_distinct=True),
    "avg": Rule("avg([distinct] number)", _avg, _ALGEBRAIC, takes_distinct=True),
    "min": Rule("min(value)", _same, _EXTREME, takes_distinct=True),
    "max": Rule("max(value)", _same, _EXTREME, takes_distinct=True),
    **_MOMENT,
    "first": Rule("first(value)", _same, _ORDERED),
    "last": Rule("last(value)", _same, _ORDERED),
    "approx_quantile": Rule("approx_quantile(number, rank from 0 to 1)", _double, _HOLISTIC),
}
"""The built-in aggregates by their canonical names: what `AggregateCall.function` holds."""

ALIASES: Final = {
    "mean": "avg", "average": "avg", "stddev_samp": "stddev", "stdev": "stddev", "var_samp": "variance",
    "var": "variance", "variance_pop": "var_pop",
    "first_value": "first", "last_value": "last", "approx_percentile": "approx_quantile",
}  # fmt: skip
NAMES: Final = (*RULES, *ALIASES)
"""Every name that a query may write."""


def canonical(name: str) -> str:
    """The name under which the plan knows the aggregate that a query calls `name`.

    >>> canonical("STDDEV_SAMP"), canonical("sum")
    ('stddev', 'sum')
    """
    lowered = name.lower()
    return ALIASES.get(lowered, lowered)


def is_aggregate(name: str) -> bool:
    """True where `name` is an aggregate, built in or a user's."""
    return canonical(name) in RULES or name.lower() in user_functions.aggregates


def resolve(name: str, argument_type: Type | None, parameters: Parameters = (), distinct: bool = False) -> Type:
    """What the aggregate returns; raises PenstockError. `argument_type` None is `*`.

    >>> str(resolve("sum", decimal(10, 2))), str(resolve("avg", BIGINT)), str(resolve("count", None))
    ('decimal(20,2)', 'double', 'bigint')
    """
    rule = RULES.get(canonical(name))
    if rule is None:
        return _resolve_user(name, argument_type, parameters, distinct)
    _check_shape(name, rule, argument_type, parameters, distinct)
    result = BIGINT if argument_type is None else rule.returns(argument_type)
    if result is None:
        raise _misuse(f"{name}({argument_type}) has no meaning", rule.signature)
    return result


def properties(name: str, distinct: bool = False) -> Properties:
    """How the aggregate may be evaluated; a user's own can only be recomputed from its rows in order."""
    rule = RULES.get(canonical(name))
    if rule is None:
        return Properties(mergeable=False, subtractable=False, order_sensitive=True)
    return _HOLISTIC if distinct and canonical(name) not in ("min", "max") else rule.properties


def in_order(relation: Node) -> bool:
    """True where a relation's rows keep their places in a stream: a window, and what lets rows be above it."""
    while isinstance(relation, Filter | Map | Delay):
        relation = relation.input
    return isinstance(relation, Window)


def check_order(relation: Node, calls: Iterable[AggregateCall]) -> None:
    """Refuses first and last over a relation whose rows have no order."""
    for call in calls:
        if canonical(call.function) in ("first", "last") and not in_order(relation):
            cause = f"{call.function}({call.argument}) needs rows in order, and '{relation.label}' keeps none"
            raise PenstockError(Diagnostic(cause, help="aggregate a window directly, or the filtered rows of one"))


def _check_shape(name: str, rule: Rule, argument: Type | None, parameters: Parameters, distinct: bool) -> None:
    function = canonical(name)
    if argument is None and (function != "count" or distinct):
        raise _misuse(f"{name}({'distinct ' if distinct else ''}*) has no meaning", rule.signature)
    if distinct and not rule.takes_distinct:
        raise _misuse(f"{name} does not take DISTINCT", rule.signature)
    wanted = 1 if function == "approx_quantile" else 0
    if len(parameters) != wanted:
        raise _misuse(f"{name} takes {1 + wanted} argument{'s' * wanted}, not {1 + len(parameters)}", rule.signature)
    if wanted and not _is_rank(parameters[0]):
        help_ = "a constant from 0 to 1, e.g. 0.5 for the median"
        raise _misuse(f"the rank of {name} is {parameters[0]!r}", rule.signature, help_)


def _is_rank(value: object) -> bool:
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool) and 0 <= value <= 1


def _misuse(message: str, signature: str, help_: str | None = None) -> PenstockError:
    return PenstockError(Diagnostic(message, notes=(f"usage: {signature}",), help=help_))


def _resolve_user(name: str, argument: Type | None, parameters: Parameters, distinct: bool) -> Type:
    found = user_functions.aggregates.get(name.lower())
    if found is None:
        raise PenstockError(unknown("aggregate", name, (*NAMES, *user_functions.aggregates)))
    if argument is None or parameters or distinct:
        raise _misuse(f"{name}, an aggregate in Python, takes one argument", f"{name}(value)")
    return found.returns
