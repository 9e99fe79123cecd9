"""`cast` and `typeof` as functions. Targets of casts are types, so `penstock.plan.functions.cast` builds the calls."""

from __future__ import annotations

from typing import Final

from penstock.plan.functions.casts import cast_meaning
from penstock.plan.functions.function import define

FUNCTIONS: Final = (
    define(
        "cast(any) -> any",
        "`cast(x as type)`, also `x::type`: x as a value of another type, NULL where that type has no such value",
        bind=lambda arguments, result: cast_meaning(arguments[0], result),
        aliases=("try_cast",),
        rule=lambda arguments: None,
    ),
    define(
        "typeof(any) -> string",
        "the name of the type",
        bind=lambda arguments, result: lambda value: str(arguments[0]),
        strict=False,
    ),
)
