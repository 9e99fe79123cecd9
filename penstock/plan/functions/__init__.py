"""Scalar functions: names, types and meanings, the users' own included (the list is `docs/functions.md`)."""

from penstock.plan.functions.casts import cast
from penstock.plan.functions.evaluate import can_raise, evaluate, expensive
from penstock.plan.functions.resolve import call, known_functions, resolve
from penstock.plan.functions.user import SetAside, UserAggregate, UserFunction, aggregate, function, user_functions

__all__ = [
    "SetAside",
    "UserAggregate",
    "UserFunction",
    "aggregate",
    "call",
    "can_raise",
    "cast",
    "evaluate",
    "expensive",
    "function",
    "known_functions",
    "resolve",
    "user_functions",
]
