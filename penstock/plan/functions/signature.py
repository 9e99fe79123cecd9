"""Signatures: `name(string, bigint [, bigint]) -> string`, and how arguments are fitted to them.

A parameter is a type or a variable. What stands after `[` may be left out; `T...` stands for one or more. Variables
take one type a call, the common type of all arguments that stand for them: `T` any type, `N` a number, `I` an integer,
`D` a date or a timestamp, `E` the element type of `array<E>`. `any` takes anything as it is, `text` anything as a
string. `decimal` takes exact numbers as decimals.

Implicit casts only widen: int, bigint, decimal, double; date, timestamp; NULL to anything. A string constant also
stands for a number, a boolean, a date, a timestamp or an interval where one is needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from penstock.plan.expressions import Expression, Literal
from penstock.plan.types import (
    BIGINT,
    DOUBLE,
    NULL,
    SPELLINGS,
    STRING,
    TIMESTAMP,
    Type,
    array,
    common_type,
    decimal,
    digits,
    parse_type,
)

VARIABLES: Final = ("T", "N", "I", "D", "E")


@dataclass(frozen=True, slots=True)
class Signature:
    """`required` of the `parameters` must be given; with `repeated` the last may be given again and again."""

    name: str
    parameters: tuple[str, ...]
    required: int
    repeated: bool
    result: str
    text: str


def parse_signature(text: str) -> Signature:
    """The signature that `text` spells.

    >>> s = parse_signature("substr(string, bigint [, bigint]) -> string")
    >>> s.name, s.parameters, s.required, s.result
    ('substr', ('string', 'bigint', 'bigint'), 2, 'string')
    """
    left, _, result = text.strip().rpartition(" -> ")
    name, _, inside = left.partition("(")
    required, _, _ = inside.partition("[")
    names = _listed(inside)
    repeated = bool(names) and names[-1].endswith("...")
    return Signature(
        name, tuple(n.removesuffix("...") for n in names), len(_listed(required)), repeated, result, text.strip()
    )


def _listed(inside: str) -> list[str]:
    cleaned = inside.rstrip(")").replace("[", "").replace("]", "")
    return [p.strip() for p in cleaned.split(",") if p.strip()]


def fit(signature: Signature, arguments: Sequence[Expression]) -> tuple[tuple[Type, ...], Type] | None:
    """The types that `arguments` are cast to and the type of the result, or None where they do not fit."""
    parameters = _spread(signature, len(arguments))
    if parameters is None:
        return None
    variables = _bound(parameters, arguments)
    if variables is None:
        return None
    wanted = tuple(_wanted(p, a, variables) for p, a in zip(parameters, arguments, strict=True))
    for word, argument, t in zip(parameters, arguments, wanted, strict=True):
        if t is None or not (word == "text" or coercible(argument, t)):
            return None
    return tuple(w for w in wanted if w is not None), _named(signature.result, variables)


def coercible(argument: Expression, wanted: Type) -> bool:
    """True where `argument` may stand for a `wanted` without a cast being written."""
    given = argument.type
    if given in (wanted, NULL) or common_type((given, wanted)) == wanted:
        return True
    if given.numeric and wanted.name == "decimal":
        return given.name != "double"
    constant = isinstance(argument, Literal) and given == STRING
    return constant and (wanted.numeric or wanted.name in ("boolean", "date", "timestamp", "interval"))


def unified(arguments: Sequence[Expression]) -> Type | None:
    """The common type of `arguments`; string constants give way to the type of the others."""
    types = [a.type for a in arguments]
    firm = [narrow(a, types) for a in arguments if not (isinstance(a, Literal) and a.type == STRING)]
    loose = [a.type for a in arguments if isinstance(a, Literal) and a.type == STRING]
    common = common_type(firm)
    if common is None or common == NULL:
        return common_type([*firm, *loose])
    return common if all(coercible(a, common) for a in arguments) else None


def narrow(argument: Expression, among: Sequence[Type]) -> Type:
    """The type of `argument`; beside decimals a whole constant is a decimal of only the digits that it has.

    >>> str(narrow(Literal(100, BIGINT), [decimal(10, 2)])), str(narrow(Literal(100, BIGINT), [DOUBLE]))
    ('decimal(3,0)', 'bigint')
    """
    whole = isinstance(argument, Literal) and argument.type.name in ("int", "bigint") and argument.value is not None
    if whole and any(t.name == "decimal" for t in among):
        assert isinstance(argument, Literal)
        return decimal(len(str(abs(argument.value))), 0)
    return argument.type


def _spread(signature: Signature, count: int) -> tuple[str, ...] | None:
    parameters = signature.parameters
    if count < signature.required or (count > len(parameters) and not signature.repeated):
        return None
    return parameters[:count] if count <= len(parameters) else parameters + parameters[-1:] * (count - len(parameters))


def _bound(parameters: Sequence[str], arguments: Sequence[Expression]) -> dict[str, Type] | None:
    bound: dict[str, Type] = {}
    for variable in VARIABLES:
        group = [a for p, a in zip(parameters, arguments, strict=True) if p == variable]
        if any(p == f"array<{variable}>" for p in parameters):
            element = _element(variable, parameters, arguments)
        elif not group:
            continue
        else:
            element = _admitted(variable, unified(group))
        if element is None:
            return None
        bound[variable] = element
    return bound


def _element(variable: str, parameters: Sequence[str], arguments: Sequence[Expression]) -> Type | None:
    types = [a.type for p, a in zip(parameters, arguments, strict=True) if p == variable]
    for p, a in zip(parameters, arguments, strict=True):
        if p == f"array<{variable}>":
            if a.type.element is None and a.type != NULL:
                return None
            types.append(a.type.element or NULL)
    return common_type(types)


def _admitted(variable: str, t: Type | None) -> Type | None:
    """`t` where the variable may stand for it. NULL alone stands for the variable's widest type."""
    if t is None or variable in ("T", "E"):
        return t
    if variable == "D":
        return TIMESTAMP if t in (NULL, STRING) else t if t.name in ("date", "timestamp") else None
    if t == NULL:
        return DOUBLE if variable == "N" else BIGINT
    allowed = t.numeric if variable == "N" else t.name in ("int", "bigint")
    return t if allowed else None


def _wanted(parameter: str, argument: Expression, variables: dict[str, Type]) -> Type | None:
    if parameter == "any":
        return argument.type
    if parameter == "text":
        return STRING if argument.type.element is None else None
    if parameter == "decimal":
        return _as_decimal(argument.type)
    return _named(parameter, variables)


def _as_decimal(t: Type) -> Type | None:
    if t == NULL:
        return decimal()
    return t if t.name == "decimal" else decimal(*digits(t)) if t.name in ("int", "bigint") else None


def _named(word: str, variables: dict[str, Type]) -> Type:
    if word in variables:
        return variables[word]
    if word.startswith("array<") and word[6:-1] in variables:
        return array(variables[word[6:-1]])
    return SPELLINGS[word] if word in SPELLINGS else parse_type(word) if word not in ("any", "decimal") else NULL
