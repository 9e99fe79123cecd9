"""One aggregate: its function, its argument, its constants, and the name of its column."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.cql.binder.expressions import ExpressionBinder
from penstock.cql.grammar.syntax import FunctionCall, span_of
from penstock.errors import Diagnostic, PenstockError
from penstock.plan import aggregates, functions
from penstock.plan.expressions import Expression, Literal
from penstock.plan.nodes import AggregateCall
from penstock.plan.types import Type


@dataclass(frozen=True, slots=True)
class Pieces:
    """What an aggregate is made of before its argument is a column; `argument` None is `*`."""

    function: str
    argument: Expression | None
    type: Type
    distinct: bool = False
    parameters: tuple[object, ...] = ()

    def call(self, argument: str | None, type_: Type) -> AggregateCall:
        """The plan's call over the column `argument`, named by what it computes, so that equal plans are equal."""
        inner = ", ".join([("distinct " if self.distinct else "") + (argument or "*"), *map(str, self.parameters)])
        return AggregateCall(
            f"{self.function}({inner})", self.function, argument, type_, self.distinct, self.parameters
        )


def aggregate_pieces(node: FunctionCall, before: ExpressionBinder) -> Pieces | None:
    """The aggregate that `node` calls, its argument bound by `before`; None where it is wrong, which has been
    reported."""
    star, distinct = bool(node.args.get("star")), bool(node.args.get("distinct"))
    bound = [before.bind(e) for e in node.expressions]
    arguments = [b for b in bound if b is not None]
    if len(arguments) < len(bound):
        return None
    if not star and not arguments:
        before.problems.report(f"{node.this.lower()} needs an argument", span_of(node), help="count(*) counts rows")
        return None
    return before.problems.guarded(lambda: _pieces(node.this, star, distinct, arguments), span_of(node))


def _pieces(name: str, star: bool, distinct: bool, arguments: list[Expression]) -> Pieces:
    argument = None if star else arguments[0]
    user = functions.user_functions.aggregates.get(name.lower())
    if user is not None:
        return _user_pieces(user, argument, distinct, arguments[1:])
    ranked = aggregates.canonical(name) == "approx_quantile"
    parameters = tuple(_constant(name, a) if ranked else a for a in arguments[1:])
    kind = aggregates.resolve(name, None if argument is None else argument.type, parameters, distinct)
    return Pieces(aggregates.canonical(name), argument, kind, distinct, parameters)


def _user_pieces(
    user: functions.UserAggregate, argument: Expression | None, distinct: bool, more: list[Expression]
) -> Pieces:
    if argument is None or more or distinct:
        raise PenstockError(
            Diagnostic(f"'{user.name}' takes one argument", help=f"{user.name}(x), without * and DISTINCT")
        )
    return Pieces(user.name, argument, user.returns)


def _constant(name: str, argument: Expression) -> object:
    if not isinstance(argument, Literal):
        raise PenstockError(
            Diagnostic(
                f"{name} takes one column; what follows it must be constants", help="such as approx_quantile(x, 0.5)"
            )
        )
    return argument.value
