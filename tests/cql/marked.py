"""Scripts with the place of a mistake in them: `SELECT * FROM «orders2» [Range 5 Minutes]`."""

from __future__ import annotations

import pytest

from penstock.cql import compile_script
from penstock.errors import Diagnostic, PenstockError

STREAMS = """
CREATE STREAM orders (id INT, customer STRING, price DOUBLE, paid DECIMAL(10, 2), at TIMESTAMP, day DATE);
CREATE STREAM bids (id INT, price DOUBLE, bidder STRING);
CREATE RELATION people (name STRING, age INT) FROM csv OPTIONS (path = 'people.csv');
CREATE VIEW dear AS SELECT id, price FROM orders WHERE price > 100;
"""


def mistakes(marked: str, streams: str = STREAMS) -> list[tuple[str, Diagnostic]]:
    """The diagnostics of a script, each with the text at its place; the marks are taken out first."""
    text = streams + marked.replace("«", "").replace("»", "")
    with pytest.raises(PenstockError) as caught:
        compile_script(text, "app.cql")
    assert caught.value.text == text
    found = caught.value.diagnostics
    assert all(d.span is not None and 0 <= d.span.start <= d.span.end <= len(text) for d in found)
    return [(text[d.span.start : d.span.end], d) for d in found if d.span is not None]


def spans(marked: str, streams: str = STREAMS) -> list[tuple[int, int]]:
    """The marked places, as offsets into the text without marks."""
    found, text = [], streams + marked
    while "«" in text:
        start = text.index("«")
        text = text.replace("«", "", 1)
        end = text.index("»")
        text = text.replace("»", "", 1)
        found.append((start, end))
    return found


def check(marked: str, *messages: str, help: str | None = None, streams: str = STREAMS) -> None:
    """The script has exactly the marked mistakes, and these are said of them, in order."""
    found = [d for _, d in mistakes(marked, streams)]
    assert [d.message for d in found] == list(messages)
    assert [(d.span.start, d.span.end) for d in found if d.span] == spans(marked, streams)
    if help is not None:
        assert help in (found[0].help or "")
