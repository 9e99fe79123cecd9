"""Which column a name means: the entries of one FROM, and behind them those of the query around it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from penstock.cql.binder.problems import Problems
from penstock.cql.grammar.syntax import Name
from penstock.errors import Span, suggestion
from penstock.plan.expressions import Column
from penstock.plan.schema import Field

_PREFIX = re.compile(r"(?<![\w.])\d+\.(?=[^\W\d])")
BOUNDS = ("window_start", "window_end")
OUTER = "\0outer."
"""What the name of an outer query's column begins with until the sub-query is joined to it."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of FROM: its alias, the columns that `*` means, those that only their names mean (a window's bounds),
    and what their plan names begin with. `fields` None: the entry is broken."""

    alias: str | None
    fields: tuple[Field, ...] | None
    hidden: tuple[Field, ...] = ()
    prefix: str = ""

    def column(self, name: str) -> Column | None:
        """The column that `name` means: exactly, else in any case."""
        everything = (*(self.fields or ()), *self.hidden)
        exact = [f for f in everything if f.name == name]
        alike = exact or [f for f in everything if f.name.lower() == name.lower()]
        return Column(self.prefix + alike[0].name, alike[0].type) if alike else None

    def hides(self, column: Column) -> bool:
        """True for a column that only its name means."""
        return any(self.prefix + f.name == column.name for f in self.hidden)

    def columns(self) -> list[tuple[str, Column]]:
        """What `*` means: names and columns."""
        return [(f.name, Column(self.prefix + f.name, f.type)) for f in self.fields or ()]


@dataclass(slots=True)
class Scope:
    """`equated` holds the groups of columns that a join makes equal: any of them may stand for the first (figure 6.19's
    `cid`).

    `outer` is the scope of the query around this one. Where `outer_readable` is not set, its columns are known but
    refused. `late_bounds` says that the bounds of a window are known only after the rows are grouped.
    """

    entries: list[Entry]
    problems: Problems
    equated: list[frozenset[str]] = field(default_factory=list)
    outer: Scope | None = None
    outer_readable: bool = False
    late_bounds: bool = False

    def resolve(self, qualifier: Name | None, name: Name) -> Column | None:
        """The column that `name` means here; None where it means none, which has been reported."""
        matches, broken = self._matches(qualifier, name)
        if len(matches) == 1 or (matches and self._equal(matches)):
            return matches[0][1]
        if matches:
            self._report_ambiguous(name, matches)
        elif not broken:
            return self._from_outside(qualifier, name)
        return None

    def shown(self, name: str) -> str:
        """A plan's column as the user knows it: `o.price` for `0.price`."""
        aliases = {e.prefix: f"{e.alias}." for e in self.entries if e.prefix and e.alias}
        return _PREFIX.sub(lambda m: aliases.get(m.group(), m.group()), name.replace(OUTER, ""))

    def entry(self, alias: str) -> Entry | None:
        """The entry with this alias."""
        return next((e for e in self.entries if e.alias is not None and e.alias.lower() == alias.lower()), None)

    def peek(self, qualifier: Name | None, name: Name) -> Column | None:
        """As `resolve`, here alone and without a word."""
        matches, _ = self._matches(qualifier, name)
        return matches[0][1] if len(matches) == 1 or (matches and self._equal(matches)) else None

    def _matches(self, qualifier: Name | None, name: Name) -> tuple[list[tuple[Entry, Column]], bool]:
        asked = self.entries if qualifier is None else [e for e in self.entries if e is self.entry(qualifier.text)]
        found = [(e, c) for e in asked if (c := e.column(name.text)) is not None]
        found = [(e, c) for e, c in found if not e.hides(c)] or found
        return found, any(e.fields is None for e in asked)

    def _equal(self, matches: list[tuple[Entry, Column]]) -> bool:
        names = {c.name for _, c in matches}
        return any(names <= group for group in self.equated)

    def _report_ambiguous(self, name: Name, matches: list[tuple[Entry, Column]]) -> None:
        could = [f"{e.alias}.{name.text}" for e, _ in matches if e.alias]
        help_ = f"say which, as in {could[0]}" if could else "give the sub-queries aliases"
        self.problems.report(
            f"column '{name.text}' is ambiguous",
            name.span,
            (f"it could be {' or '.join(could)}",) if could else (),
            help_,
        )

    def _from_outside(self, qualifier: Name | None, name: Name) -> Column | None:
        span = Span(qualifier.span.start, name.span.end) if qualifier else name.span
        found = self.outer.peek(qualifier, name) if self.outer is not None else None
        if found is None:
            broken = self.outer is not None and self.outer._matches(qualifier, name)[1]
            if not broken or (qualifier is not None and self.entry(qualifier.text) is not None):
                self._report_unknown(qualifier, name)
        elif self.outer_readable:
            return Column(OUTER + found.name, found.type)
        else:
            self.problems.report(
                f"'{name.text}' belongs to the query around this one",
                span,
                help="a sub-query reads the outer query in its WHERE alone, and only where it does not group",
            )
        return None

    def _report_unknown(self, qualifier: Name | None, name: Name) -> None:
        if qualifier is not None and self.entry(qualifier.text) is None:
            known = [e.alias for e in self.entries if e.alias]
            listed = ", ".join(known) or "none"
            self.problems.report(
                f"unknown name '{qualifier.text}'",
                qualifier.span,
                (f"known: {listed}",),
                suggestion(qualifier.text, known),
            )
            return
        asked = self.entries if qualifier is None else [e for e in self.entries if e is self.entry(qualifier.text)]
        columns = sorted({f.name for e in asked for f in (*(e.fields or ()), *e.hidden)})
        notes = (f"known: {', '.join(columns) or 'none'}",)
        self.problems.report(f"unknown column '{name.text}'", name.span, notes, self._column_help(name, columns))

    def _column_help(self, name: Name, columns: list[str]) -> str | None:
        if name.text.lower() in BOUNDS and self.late_bounds:
            return "a window's bounds are known when it ends: the select list and HAVING may name them"
        if name.text.lower() in BOUNDS:
            return "it belongs to a window with Slide, such as [Range 10 Minutes Slide 1 Minute]"
        quoted = name.span.end - name.span.start > len(name.text)
        return suggestion(name.text, columns) or (f"a string is written '{name.text}'" if quoted else None)
