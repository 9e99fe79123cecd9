"""From a script to a network."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from penstock.cql.binder.problems import Problems
from penstock.cql.binder.statements import ScriptBinder
from penstock.cql.dialect import parser
from penstock.cql.grammar.statements import read_script
from penstock.errors import Diagnostic, PenstockError
from penstock.plan.functions import UserAggregate, UserFunction, user_functions
from penstock.plan.network import Network
from penstock.plan.secrets import veil

MAX_TOLD: Final = 50
"""More mistakes than anybody repairs before looking again."""


def compile_script(
    text: str,
    source: str = "<script>",
    functions: Iterable[UserFunction | UserAggregate] | None = None,
    onto: Network | None = None,
) -> Network:
    """The network that the CQL script `text` registers.

    `source` names the script in messages; files that it names lie beside it. `functions` are registered first, and the
    script may use what `onto` has, which the result then has too. Raises one PenstockError with all mistakes that were
    found, each with its place.

    >>> network = compile_script("CREATE STREAM S (a INT); SELECT a FROM S WHERE a > 10")
    >>> network.queries[0].root.label, network.queries[0].name
    ('filter a > 10', 'query1')
    """
    if functions is not None:
        user_functions.install(functions)
    problems = Problems()
    try:
        statements = read_script(text, parser())
    except PenstockError as error:
        raise error.located(veil(text), source) from None
    binder = ScriptBinder(problems, Path(source).parent, onto or Network())
    for statement in statements:
        binder.bind(statement)
    if problems.found:
        raise PenstockError(*_told(problems.found), text=veil(text), source=source)
    return binder.network


def _told(found: list[Diagnostic]) -> list[Diagnostic]:
    """The mistakes in the order of the text; past MAX_TOLD of them, how many more there are."""
    ordered = sorted(found, key=lambda d: d.span.start if d.span else 0)
    more = len(ordered) - MAX_TOLD
    if more <= 0:
        return ordered
    return [*ordered[:MAX_TOLD], Diagnostic(f"and {more} more from here on", ordered[MAX_TOLD].span)]
