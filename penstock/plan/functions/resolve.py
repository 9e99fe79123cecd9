"""From names and arguments to typed calls: overloads, implicit casts, and what is said where nothing fits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from penstock.errors import Diagnostic, PenstockError, unknown
from penstock.plan.expressions import Call, Column, Expression, Literal, format_expression
from penstock.plan.functions.casts import cast, possible
from penstock.plan.functions.function import Function, Shape
from penstock.plan.functions.registry import ALIASES, FUNCTIONS, find
from penstock.plan.functions.signature import fit
from penstock.plan.functions.user import UserFunction, user_functions
from penstock.plan.types import BIGINT, BOOLEAN, DATE, DOUBLE, INTERVAL, STRING, TIMESTAMP, Type

_TRIED: tuple[Type, ...] = (BIGINT, DOUBLE, STRING, TIMESTAMP, DATE, BOOLEAN, INTERVAL)


def resolve(name: str, argument_types: Sequence[Type]) -> Type:
    """The type of `name` applied to arguments of these types; raises PenstockError.

    >>> from penstock.plan.types import INT
    >>> str(resolve("+", (INT, INT))), str(resolve("/", (INT, INT)))
    ('bigint', 'double')
    """
    return call(name, *(Column(f"argument{i + 1}", t) for i, t in enumerate(argument_types))).type


def call(name: str, *arguments: Expression) -> Expression:
    """`name` applied to `arguments`, typed, with implicit casts written out; raises PenstockError.

    Some names stand for others (`between`, `if`, `nullif`), so what comes back need not be a call of `name`.

    >>> format_expression(call(">", Column("x", DOUBLE), Literal(1, BIGINT)))
    'x > 1.0'
    """
    function = find(name)
    if function is None:
        return _user_call(name, arguments)
    shape = shape_of(function, arguments)
    if shape is None:
        raise PenstockError(_unfit(function, arguments))
    fitted = tuple(_implicit(a, t) for a, t in zip(arguments, shape.arguments, strict=True))
    if function.check is not None:
        function.check(fitted)
    if function.rewrite is not None:
        return function.rewrite(call, arguments)
    return _built(function, fitted, shape.result)


def known_functions() -> list[str]:
    """The names of all functions that may be called, the users' own included."""
    return sorted({*FUNCTIONS, *ALIASES, *user_functions.functions})


def shape_of(function: Function, arguments: tuple[Expression, ...]) -> Shape | None:
    """What `function` makes of these arguments, None where it does not take them."""
    if function.rule is not None:
        return function.rule(arguments)
    for signature in function.signatures:
        fitted = fit(signature, arguments)
        if fitted is not None:
            return Shape(*fitted)
    return None


def _built(function: Function, arguments: tuple[Expression, ...], result: Type) -> Expression:
    if function.name == "typeof":
        return Literal(str(arguments[0].type), STRING)
    if function.name in ("and", "or"):
        flat = tuple(p for a in arguments for p in _members(a, function.name))
        return flat[0] if len(flat) == 1 else Call(function.name, flat, result)
    return Call(function.name, arguments, result)


def _members(expression: Expression, function: str) -> tuple[Expression, ...]:
    return expression.arguments if isinstance(expression, Call) and expression.function == function else (expression,)


def _implicit(argument: Expression, wanted: Type) -> Expression:
    made = cast(argument, wanted)
    if (
        isinstance(argument, Literal)
        and isinstance(made, Literal)
        and made.value is None
        and argument.value is not None
    ):
        raise PenstockError(
            Diagnostic(f"{format_expression(argument)} is no {wanted}", help=f"write it as {_example(wanted)}")
        )
    return made


def _example(t: Type) -> str:
    return {
        "timestamp": "'2026-01-31 12:00:00'",
        "date": "'2026-01-31'",
        "interval": "'10 minutes'",
        "boolean": "true",
    }.get(t.name, "a number")


def _unfit(function: Function, arguments: tuple[Expression, ...]) -> Diagnostic:
    types = ", ".join(str(a.type) for a in arguments)
    notes = tuple(f"it takes {s.text}" for s in function.signatures)
    return Diagnostic(f"'{function.name}' does not take ({types})", None, notes, _repair(function, arguments))


def _repair(function: Function, arguments: tuple[Expression, ...]) -> str | None:
    """The first single cast that makes the call fit: to another argument's type, or to one of the usual ones."""
    for i, argument in enumerate(arguments):
        for t in (*(a.type for a in arguments), *_TRIED):
            if t == argument.type or not possible(argument.type, t):
                continue
            attempt = (*arguments[:i], replace(Column("x", t)), *arguments[i + 1 :])
            if shape_of(function, attempt) is not None:
                return f"try cast({format_expression(argument)} as {t})"
    return None


def _user_call(name: str, arguments: tuple[Expression, ...]) -> Expression:
    function = user_functions.functions.get(name.lower())
    if function is None:
        raise PenstockError(unknown("function", name, _near(name)))
    _check_count(function, arguments)
    if function.takes is not None:
        wrong = [
            f"{format_expression(a)} is {a.type}, not {t}"
            for a, t in zip(arguments, function.takes, strict=True)
            if not possible(a.type, t)
        ]
        if wrong:
            raise PenstockError(
                Diagnostic(f"'{function.name}' takes ({', '.join(map(str, function.takes))})", notes=tuple(wrong))
            )
        arguments = tuple(cast(a, t) for a, t in zip(arguments, function.takes, strict=True))
    return Call(function.name, arguments, function.returns)


def _near(name: str) -> list[str]:
    """The names to show: all of them where they are few, else those that begin alike, for a person reads them."""
    names = [n for n in known_functions() if n[0].isalpha()]
    return [n for n in names if n[0] == name[:1].lower()] or names


def _check_count(function: UserFunction, arguments: tuple[Expression, ...]) -> None:
    if not function.accepts(len(arguments)):
        raise PenstockError(
            Diagnostic(
                f"'{function.name}' does not take {len(arguments)} arguments", notes=(f"it is {function.spelled}",)
            )
        )
