"""Texts of pairs, `left: right, left: right`: how options of a query write piece-wise linear functions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from penstock.errors import Diagnostic, PenstockError

NUMBER: Final = r"-?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?"
Point = tuple[float, float]


def pairs(text: str, option: str, example: str) -> Iterator[tuple[str, str]]:
    """The sides of each pair.

    >>> list(pairs("1 second: 1.0, 10 seconds: 0", "latency", "such as ..."))
    [('1 second', '1.0'), ('10 seconds', '0')]
    """
    for piece in text.split(","):
        left, colon, right = piece.partition(":")
        if not colon:
            raise PenstockError(Diagnostic(f"{option}: '{piece.strip()}' has no colon", help=example))
        yield left.strip(), right.strip()


def number(text: str, option: str, example: str) -> float:
    """The number that `text` is."""
    if re.fullmatch(NUMBER, text) is None:
        raise PenstockError(Diagnostic(f"{option}: '{text}' is no number", help=example))
    return float(text)


def utility(text: str, option: str, example: str) -> float:
    """The utility that `text` is."""
    found = number(text, option, example)
    if not 0 <= found <= 1:
        raise PenstockError(Diagnostic(f"{option}: a utility lies between 0 and 1, not at {text}", help=example))
    return found
