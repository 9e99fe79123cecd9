"""All built-in functions by name, from the packages' ordered list of modules."""

from __future__ import annotations

from typing import Final

from penstock.plan.functions import (
    arithmetic,
    arrays,
    comparison,
    conversion,
    formats,
    hashing,
    logic,
    numeric,
    patterns,
    sampling,
    strings,
    times,
)
from penstock.plan.functions.function import Function

GROUPS: Final = (
    ("Logic and choice", logic.FUNCTIONS),
    ("Comparison", comparison.FUNCTIONS),
    ("Arithmetic", arithmetic.FUNCTIONS),
    ("Numbers", numeric.FUNCTIONS),
    ("Strings", strings.FUNCTIONS),
    ("Patterns", patterns.FUNCTIONS),
    ("Times", times.FUNCTIONS),
    ("Times as text", formats.FUNCTIONS),
    ("Arrays", arrays.FUNCTIONS),
    ("Conversion", conversion.FUNCTIONS),
    ("Hashing", hashing.FUNCTIONS),
    ("Sampling", sampling.FUNCTIONS),
)
"""Titles and functions, in the order of `docs/functions.md`."""
FUNCTIONS: Final[dict[str, Function]] = {f.name: f for _, functions in GROUPS for f in functions}
ALIASES: Final[dict[str, str]] = {alias: f.name for f in FUNCTIONS.values() for alias in f.aliases}


def find(name: str) -> Function | None:
    """The built-in function that `name` or an alias names, in any case."""
    lowered = name.lower()
    return FUNCTIONS.get(ALIASES.get(lowered, lowered))
