"""The options that each source knows. Spark ignores a misspelt option; here it is an error."""

from __future__ import annotations

from collections.abc import Iterable

from penstock.errors import PenstockError
from penstock.plan.connectors import SOURCES, unknown_options


def checked_options(what: str, format: str, given: Iterable[str]) -> None:
    """Refuses options that `format` does not know."""
    mistakes = unknown_options(f"option of {what}", format, SOURCES, given)
    if mistakes:
        raise PenstockError(*mistakes)
