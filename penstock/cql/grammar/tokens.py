"""CQL's words: sqlglot's tokenizer with only the keywords that expressions need; every other word is a name until the
grammar reads it."""

from __future__ import annotations

import re
from typing import ClassVar, Final

from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import Token, TokenType
from sqlglot.tokens import Tokenizer

from penstock.errors import Diagnostic, PenstockError, Span

_OPERATORS: Final = {
    "||": TokenType.DPIPE,
    "==": TokenType.EQ,
    "::": TokenType.DCOLON,
    "<=": TokenType.LTE,
    ">=": TokenType.GTE,
    "<>": TokenType.NEQ,
    "!=": TokenType.NEQ,
    "<=>": TokenType.NULLSAFE_EQ,
    "/*+": TokenType.HINT,
}
_WORDS: Final = {
    "AND": TokenType.AND,
    "OR": TokenType.OR,
    "NOT": TokenType.NOT,
    "IN": TokenType.IN,
    "BETWEEN": TokenType.BETWEEN,
    "LIKE": TokenType.LIKE,
    "ILIKE": TokenType.ILIKE,
    "RLIKE": TokenType.RLIKE,
    "IS": TokenType.IS,
    "NULL": TokenType.NULL,
    "TRUE": TokenType.TRUE,
    "FALSE": TokenType.FALSE,
    "ESCAPE": TokenType.ESCAPE,
    "DIV": TokenType.DIV,
    "DISTINCT": TokenType.DISTINCT,
}

_PRIME: Final = re.compile(r"(?<![\w'])([^\W\d]\w*)'(?=[\s.,;()\[\]=<>]|$)")
_LETTER: Final = "\u02b9"
"""The letter that looks like a prime."""
_NUMBER: Final = re.compile(r"[0-9]{1,40}(\.[0-9]{0,40})?([eE][+-]?[0-9]{1,4})?")
_RESERVED: Final = (
    "SELECT FROM WHERE GROUP HAVING ORDER LIMIT OFFSET UNION EXCEPT INTERSECT ALL DISTINCT AS ON JOIN INNER OUTER "
    "LEFT RIGHT FULL CROSS NATURAL USING AND OR NOT IN EXISTS BETWEEN LIKE ILIKE RLIKE IS NULL TRUE FALSE CASE WHEN "
    "THEN ELSE END CREATE INTO WITH ESCAPE DIV BY INTERVAL CAST"
)
RESERVED: Final = frozenset(_RESERVED.split())
"""The words that name nothing, unless they are quoted."""


class CQLTokenizer(Tokenizer):
    """Splits a script into words. Names may be quoted by `"` or a backtick, strings by `'`, which doubles itself."""

    IDENTIFIERS: ClassVar = ['"', "`"]
    KEYWORDS: ClassVar = {**_OPERATORS, **_WORDS}


def tokenize(text: str) -> list[Token]:
    """The words of `text`; raises PenstockError where a string, a name or a comment never ends.

    >>> [t.text for t in tokenize("Select * From S [Rows 10,000]")]
    ['Select', '*', 'From', 'S', '[', 'Rows', '10', ',', '000', ']']
    >>> [t.text for t in tokenize("R'.a = 'x'")]
    ["R'", '.', 'a', '=', 'x']
    """
    primed = _with_primes(text)
    try:
        tokens = CQLTokenizer().tokenize(primed)
    except SqlglotError:
        raise PenstockError(_unclosed(primed)) from None
    for token in tokens if primed != text else ():
        token.text = text[token.start : token.end + 1] if token.token_type is TokenType.VAR else token.text
    for token in tokens:
        if token.token_type is TokenType.NUMBER and not _NUMBER.fullmatch(token.text):
            raise PenstockError(Diagnostic(f"'{token.text}' is no number", Span(token.start, token.end + 1)))
    return tokens


def _with_primes(text: str) -> str:
    """`text` with another letter for each prime of a name (the thesis' R'): an apostrophe right behind a name that no
    string can begin with. The length stays."""
    primes = {m.end(1) for m in _PRIME.finditer(text) if m[1].upper() not in RESERVED}
    letters, at = list(text), 0
    while primes and at < len(text):
        if at in primes:
            letters[at] = _LETTER
        at = at + 1 if at in primes else _past(text, at) or len(text)
    return "".join(letters)


def _past(text: str, offset: int) -> int | None:
    """Where the comment, the quote or the character at `offset` ends; None where it never does."""
    if text.startswith("--", offset):
        return (text.find("\n", offset) + 1) or len(text)
    if text.startswith("/*", offset):
        return _comment_end(text, offset)
    return _quote_end(text, offset) if text[offset] in "'\"`" else offset + 1


def _comment_end(text: str, offset: int) -> int | None:
    depth = 0
    while offset < len(text):
        step = text[offset : offset + 2]
        depth += (step == "/*") - (step == "*/")
        offset += 2 if step in ("/*", "*/") else 1
        if depth == 0:
            return offset
    return None


def _unclosed(text: str) -> Diagnostic:
    """Says which quote or comment is open at the end of `text`."""
    offset = 0
    while offset < len(text):
        end = _past(text, offset)
        if end is None and text[offset] == "/":
            return Diagnostic("a comment that never ends", Span(offset, offset + 2), help="end it with */")
        if end is None:
            what = "string" if text[offset] == "'" else "quoted name"
            help_ = f"end it with {text[offset]}"
            return Diagnostic(f"a {what} that never ends", Span(offset, offset + 1), help=help_)
        offset = end
    return Diagnostic("this is no text that can be read")


def _quote_end(text: str, offset: int) -> int | None:
    quote, offset = text[offset], offset + 1
    while (found := text.find(quote, offset)) >= 0:
        if not text.startswith(quote, found + 1):
            return found + 1
        offset = found + 2
    return None
