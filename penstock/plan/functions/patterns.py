"""LIKE and regular expressions. Patterns are Python's (`re`); for the usual ones that is what Java's are. A pattern
that is none gives NULL where it is computed, and an error where it is a constant."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, Final

from penstock.errors import Diagnostic, PenstockError
from penstock.plan.expressions import Expression, Literal
from penstock.plan.functions.function import Check, define
from penstock.plan.functions.strings import LONGEST
from penstock.plan.types import BIGINT

_REFERENCE: Final = re.compile(r"\\(.)|\$(\d)", re.DOTALL)


@lru_cache(maxsize=1024)
def like_pattern(pattern: str, escape: str, flags: int = 0) -> re.Pattern[str] | None:
    """The regular expression for a LIKE pattern; None where it ends with the escape character.

    >>> bool(like_pattern("a%c_", chr(92)).fullmatch("abbcd"))
    True
    """
    out, position = "", 0
    while position < len(pattern):
        c = pattern[position]
        if c == escape:
            position += 1
            if position == len(pattern):
                return None
            out += re.escape(pattern[position])
        else:
            out += ".*" if c == "%" else "." if c == "_" else re.escape(c)
        position += 1
    return re.compile(out, re.DOTALL | flags)


@lru_cache(maxsize=1024)
def regexp(pattern: str) -> re.Pattern[str] | None:
    """The compiled pattern, None where it is none."""
    try:
        return re.compile(pattern)
    except (re.error, OverflowError, RecursionError):
        return None


def _like(flags: int) -> Callable[..., bool | None]:
    def like(text: str, pattern: str, escape: str = "\\") -> bool | None:
        compiled = like_pattern(pattern, escape, flags) if len(escape) == 1 else None
        return None if compiled is None else compiled.fullmatch(text) is not None

    return like


def _matches(text: str, pattern: str) -> bool | None:
    compiled = regexp(pattern)
    return None if compiled is None else compiled.search(text) is not None


def _extract(text: str, pattern: str, group: int = 1) -> str | None:
    compiled = regexp(pattern)
    if compiled is None or not 0 <= group <= compiled.groups:
        return None
    found = compiled.search(text)
    return "" if found is None else found[group] or ""


def _replace(text: str, pattern: str, replacement: str) -> str | None:
    compiled = regexp(pattern)
    if compiled is None:
        return None
    pieces, length = [], 0
    for piece in _pieces(text, compiled, replacement):
        length += len(piece)
        if length > LONGEST:
            return None
        pieces.append(piece)
    return "".join(pieces)


def _pieces(text: str, compiled: re.Pattern[str], replacement: str) -> Iterator[str]:
    """What is kept and what replaces the matches, in turn."""
    end = 0
    for found in compiled.finditer(text):
        yield text[end : found.start()]
        yield _filled(found, replacement)
        end = found.end()
    yield text[end:]


def _filled(found: re.Match[str], replacement: str) -> str:
    """`replacement` with `$1` replaced by a group; a backslash takes its meaning from what follows."""

    def part(reference: re.Match[str]) -> str:
        if reference[1] is not None:
            return reference[1]
        number = int(reference[2])
        return (found[number] or "") if number <= len(found.groups()) else ""

    return _REFERENCE.sub(part, replacement)


def _split(text: str, pattern: str, limit: int = -1) -> tuple[str, ...] | None:
    """As Java splits: no empty piece before a match of nothing at the start; a positive limit bounds the pieces.

    >>> _split("a,,b", ","), _split("abc", ""), _split("aab", "a*")
    (('a', '', 'b'), ('a', 'b', 'c'), ('', '', 'b', ''))
    """
    compiled = regexp(pattern or "(?!$)")
    if compiled is None:
        return None
    pieces: list[str] = []
    end = 0
    for found in compiled.finditer(text):
        if 0 < limit <= len(pieces) + 1:
            break
        if found.end() == 0:
            continue
        pieces.append(text[end : found.start()])
        end = found.end()
    return (*pieces, text[end:])


def _valid(known: Callable[[Any], Any], what: str) -> Check:
    """Refuses a constant second argument that `known` gives None for."""

    def check(arguments: tuple[Expression, ...]) -> None:
        pattern = arguments[1]
        if isinstance(pattern, Literal) and pattern.value is not None and known(pattern.value) is None:
            raise PenstockError(Diagnostic(f"{pattern.value!r} is no {what}", help=_why(pattern.value)))

    return check


def _why(pattern: str) -> str | None:
    try:
        re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        return str(error)
    return None


def _like_check(arguments: tuple[Expression, ...]) -> None:
    escape = arguments[2] if len(arguments) > 2 else None
    if isinstance(escape, Literal) and escape.value is not None and len(escape.value) != 1:
        raise PenstockError(Diagnostic(f"ESCAPE {escape.value!r} is not one character"))


def _extract_check(arguments: tuple[Expression, ...]) -> None:
    _REGEXP(arguments)
    pattern, group = arguments[1], arguments[2] if len(arguments) > 2 else Literal(1, BIGINT)
    if (
        not isinstance(pattern, Literal)
        or not isinstance(group, Literal)
        or pattern.value is None
        or group.value is None
    ):
        return
    compiled = regexp(pattern.value)
    if compiled is not None and not 0 <= group.value <= compiled.groups:
        message = f"{pattern.value!r} has {compiled.groups} groups, and group {group.value} is asked for"
        raise PenstockError(Diagnostic(message, help="0 is the whole match: regexp_extract(x, pattern, 0)"))


_REGEXP: Final = _valid(regexp, "regular expression")
FUNCTIONS: Final = (
    define(
        "like(string, string [, string]) -> boolean",
        "`x LIKE pattern ESCAPE c`: % stands for any text, _ for any character, "
        "what follows the escape character (backslash) for itself",
        _like(0),
        check=_like_check,
    ),
    define(
        "ilike(string, string [, string]) -> boolean",
        "like, in upper or lower case",
        _like(re.IGNORECASE),
        check=_like_check,
    ),
    define(
        "rlike(string, string) -> boolean",
        "true where a regular expression matches somewhere",
        _matches,
        expensive=True,
        check=_REGEXP,
        aliases=("regexp_like", "regexp", "regexp_matches"),
    ),
    define(
        "regexp_extract(string, string [, bigint]) -> string",
        "what a group (1; 0: all) of the first match of a regular expression matched; empty where it does not match",
        _extract,
        expensive=True,
        check=_extract_check,
    ),
    define(
        "regexp_replace(string, string, string) -> string",
        "every match of a regular expression replaced; `$1` stands for its first group",
        _replace,
        expensive=True,
        check=_REGEXP,
    ),
    define(
        "split(string, string [, bigint]) -> array<string>",
        "the pieces between matches of a regular expression, at most so many",
        _split,
        expensive=True,
        check=_REGEXP,
    ),
)
