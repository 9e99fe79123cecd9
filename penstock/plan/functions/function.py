"""A scalar function: how it is called, what its types are, and what it means on plain Python values.

A module of this package lists its functions in `FUNCTIONS`; each is made by `define` from a signature that serves the
type rule, the error messages and `docs/functions.md` alike (see `penstock.plan.functions.signature` for how signatures
are written).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from penstock.plan.expressions import Expression
from penstock.plan.functions.signature import Signature, parse_signature
from penstock.plan.types import Type

Meaning = Callable[..., Any]
"""Internal values to an internal value."""
Bind = Callable[[tuple[Type, ...], Type], Meaning]
"""The meaning for these argument types and this result type."""


class Shape(NamedTuple):
    """The types that a call's arguments are cast to, and the type of its result."""

    arguments: tuple[Type, ...]
    result: Type


Rule = Callable[[tuple[Expression, ...]], "Shape | None"]
"""The shape of a call with these arguments; None where the function does not take them."""
Check = Callable[[tuple[Expression, ...]], None]
Rewrite = Callable[[Callable[..., Expression], tuple[Expression, ...]], Expression]


@dataclass(frozen=True, slots=True)
class Function:
    """A built-in function.

    signatures  how it may be called; tried in this order about       what it gives, for a person bind        its
    meaning, given the types aliases     other names; a call is stored under `name` strict      a NULL argument gives
    NULL, and `bind`'s meaning never sees one expensive   a call costs much more than a comparison rule        replaces
    the type rule of the signatures check       refuses constants that can never work (a regular expression that is
    none) rewrite     says the call in other functions, given the arguments and `call`; such a function has no meaning
    of its own
    """

    name: str
    signatures: tuple[Signature, ...]
    about: str
    bind: Bind
    aliases: tuple[str, ...] = ()
    strict: bool = True
    expensive: bool = False
    rule: Rule | None = None
    check: Check | None = None
    rewrite: Rewrite | None = None


def define(
    signatures: str,
    about: str,
    meaning: Meaning | None = None,
    *,
    bind: Bind | None = None,
    aliases: tuple[str, ...] = (),
    strict: bool = True,
    expensive: bool = False,
    rule: Rule | None = None,
    check: Check | None = None,
    rewrite: Rewrite | None = None,
) -> Function:
    """A function from its signatures (separated by semicolons) and one `meaning` for all types, or `bind`, or
    `rewrite`.

    >>> define("lower(string) -> string", "in lower case", str.lower).name
    'lower'
    """
    parsed = tuple(parse_signature(s) for s in signatures.split(";"))
    bound = bind if bind is not None else _untyped(meaning or _rewritten)
    return Function(parsed[0].name, parsed, about, bound, aliases, strict, expensive, rule, check, rewrite)


def _untyped(meaning: Meaning) -> Bind:
    return lambda arguments, result: meaning


def _rewritten(*_: Any) -> Any:
    raise TypeError("this function is always rewritten into others")
