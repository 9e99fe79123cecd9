"""The mistakes found so far. Binding goes on after each, and nothing that follows from a reported mistake is reported
again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TypeVar

from penstock.errors import Diagnostic, PenstockError, Span

_T = TypeVar("_T")


@dataclass(slots=True)
class Problems:
    """Collects diagnostics. The value of what is wrong is None, here and everywhere in the binder."""

    said: dict[Diagnostic, None] = field(default_factory=dict)

    def report(self, message: str, span: Span, notes: tuple[str, ...] = (), help: str | None = None) -> None:
        """One more mistake; the same words at the same place count once."""
        self.add(Diagnostic(message, span, notes, help))

    def add(self, diagnostic: Diagnostic) -> None:
        """One more mistake."""
        self.said.setdefault(diagnostic)

    @property
    def found(self) -> list[Diagnostic]:
        """All of them, in the order in which they were found."""
        return list(self.said)

    def guarded(self, make: Callable[[], _T], span: Span) -> _T | None:
        """What `make` makes; where it refuses, that is reported at `span`, and the result is None."""
        try:
            return make()
        except PenstockError as error:
            for diagnostic in error.diagnostics:
                self.add(replace(diagnostic, span=diagnostic.span or span))
            return None

    def quietly(self, make: Callable[[], _T]) -> _T:
        """What `make` makes, without the mistakes it reports."""
        said = dict(self.said)
        result = make()
        self.said = said
        return result
