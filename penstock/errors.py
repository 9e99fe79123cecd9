"""What a person sees when something they gave us is wrong: place, underlined text, cause, known names, help."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

LONGEST_LINE: Final = 200
"""Characters of a line that are shown at most."""


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of a text: `start` and `end` are character offsets into it (`end` exclusive)."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One mistake. `notes` are facts ("known: orders, bids"), `help` is what to try."""

    message: str
    span: Span | None = None
    notes: tuple[str, ...] = ()
    help: str | None = None


class PenstockError(Exception):
    """One or more mistakes in what a user gave us: a script, a setting, a file, a row.

    `text` is the document that the spans point into and `source` its name (a file, or `<script>`).

    >>> print(PenstockError(Diagnostic("unknown stream 'orders2'", Span(14, 21), ("known: orders, bids",),
    ...                                "did you mean 'orders'?"), text="SELECT * FROM orders2", source="app.cql"))
    app.cql:1:15  unknown stream 'orders2'
        SELECT * FROM orders2
                      ^^^^^^^
        known: orders, bids
        help: did you mean 'orders'?
    """

    def __init__(self, *diagnostics: Diagnostic | str, text: str | None = None, source: str = "<script>") -> None:
        self.diagnostics = tuple(Diagnostic(d) if isinstance(d, str) else d for d in diagnostics)
        self.text = text
        self.source = source
        super().__init__("; ".join(d.message for d in self.diagnostics))

    def located(self, text: str, source: str) -> PenstockError:
        """The same mistakes, placed in `text`."""
        return PenstockError(*self.diagnostics, text=text, source=source)

    def __str__(self) -> str:
        return "\n".join(render(d, self.text, self.source) for d in self.diagnostics)


def render(diagnostic: Diagnostic, text: str | None, source: str) -> str:
    """`diagnostic` as the lines a person reads."""
    lines: list[str] = []
    if text is not None and diagnostic.span is not None:
        line, column, excerpt, marks = _underline(text, diagnostic.span)
        lines += [f"{source}:{line}:{column}  {diagnostic.message}", f"    {excerpt}", f"    {marks}"]
    else:
        lines.append(diagnostic.message if text is None else f"{source}  {diagnostic.message}")
    lines += [f"    {note}" for note in diagnostic.notes]
    if diagnostic.help is not None:
        lines.append(f"    help: {diagnostic.help}")
    return "\n".join(lines)


def position(text: str, offset: int) -> tuple[int, int]:
    """Line and column of `offset` in `text`, both counted from 1."""
    before = text[:offset]
    return before.count("\n") + 1, offset - (before.rfind("\n") + 1) + 1


def _underline(text: str, span: Span) -> tuple[int, int, str, str]:
    start = min(span.start, len(text))
    line, column = position(text, start)
    begin = start - (column - 1)
    newline = text.find("\n", begin)
    end = len(text) if newline < 0 else newline
    width = max(1, min(span.end, end) - start)
    excerpt, before, width = _clipped(text[begin:end], column - 1, width)
    padding = "".join("\t" if c == "\t" else " " for c in excerpt[:before])
    return line, column, excerpt, padding + "^" * width


def _clipped(line: str, before: int, width: int) -> tuple[str, int, int]:
    """`line` about the `width` characters that follow the first `before`: all of it, unless it is longer than anybody
    reads; then with dots for what is left out."""
    if len(line) <= LONGEST_LINE:
        return line, before, width
    width = min(width, LONGEST_LINE // 2)
    first = max(0, min(before - LONGEST_LINE // 4, len(line) - LONGEST_LINE))
    shown = line[first : first + LONGEST_LINE]
    head, tail = "... " * (first > 0), " ..." * (first + LONGEST_LINE < len(line))
    return f"{head}{shown}{tail}", before - first + len(head), width


def suggestion(name: str, known: Iterable[str]) -> str | None:
    """A help line naming the known name nearest to `name`, or None where none is near.

    >>> suggestion("orders2", ["orders", "bids"])
    "did you mean 'orders'?"
    """
    lowered = {k.lower(): k for k in known}
    near = difflib.get_close_matches(name.lower(), list(lowered), n=1, cutoff=0.6)
    return f"did you mean '{lowered[near[0]]}'?" if near and lowered[near[0]] != name else None


def unknown(kind: str, name: str, known: Sequence[str], span: Span | None = None) -> Diagnostic:
    """The diagnostic for a name that nothing bears, with the names there are and the nearest one."""
    listed = ", ".join(sorted(known)) if known else "none"
    return Diagnostic(f"unknown {kind} '{name}'", span, (f"known: {listed}",), suggestion(name, known))
