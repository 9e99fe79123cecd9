"""Timelines drawn by hand: what a relation holds, or a stream emits, instant by instant.

    at      0   1   2   3   4
    in      a   .   b   .   .
    window  a   a   ab  b   .

Columns are set apart by blanks, one character is one tuple (a row of one string), `.` is nothing. The last instant is
the end of time, drawn as END.
"""

from __future__ import annotations

from penstock.operators.base import Event, Stream
from penstock.plan.node import Kind, Node
from penstock.plan.nodes import Source
from penstock.plan.windows import END
from tests.operators import harness
from tests.operators.harness import check, run

S = harness.source("S", "name string")
NOTHING = "."


def drawn(picture: str) -> dict[str, dict[int, str]]:
    """The lines of a picture by their label: what stands at each instant."""
    lines = [line.split() for line in picture.strip().splitlines()]
    moments = [END if word == "END" else int(word) for word in lines[0][1:]]
    return {label: dict(zip(moments, words, strict=True)) for label, *words in lines}


def told(cells: dict[int, str]) -> Stream:
    """The tuples of a line, in order."""
    pairs = [(t, name) for t, names in cells.items() for name in names if names != NOTHING]
    return [Event(t, i, (name,)) for i, (t, name) in enumerate(pairs)]


def show(node: Node, picture: str) -> None:
    """Asserts that `node` over S gives what the picture's last line shows, however time is cut; its reference too."""
    lines = drawn(picture)
    fed = {"S": told(lines["in"])}
    wanted = list(lines.values())[-1]
    moments = sorted(wanted)
    for cuts in ([], moments[:-1], moments[::2]):
        check(node, fed, cuts)
        emitted = run(node, fed, cuts)
        found = {t: _at(node, emitted, t) for t in moments}
        assert found == {t: "" if names == NOTHING else "".join(sorted(names)) for t, names in wanted.items()}


def _at(node: Node, emitted: list[harness.Element], instant: int) -> str:
    if node.kind is Kind.STREAM:
        return "".join(sorted(e.row[0] for e in emitted if e.ts == instant))
    counts: dict[str, int] = {}
    for e in emitted:
        if e.ts <= instant:
            counts[e.row[0]] = counts.get(e.row[0], 0) + e.sign
    return "".join(name * counts[name] for name in sorted(counts))


def stream(name: str = "S") -> Source:
    """A stream of single names."""
    return harness.source(name, "name string")
