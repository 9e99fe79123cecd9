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
    """
    try:
        tokens = CQLTokenizer().tokenize(text)
    except SqlglotError:
        raise PenstockError(_unclosed(text)) from None
    for token in tokens:
        if token.token_type is TokenType.NUMBER and not _NUMBER.fullmatch(token.text):
            raise PenstockError(Diagnostic(f"'{token.text}' is no number", Span(token.start, token.end + 1)))
    return tokens


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
        c = text[offset]
        if text.startswith("--", offset):
            offset = (text.find("\n", offset) + 1) or len(text)
        elif text.startswith("/*", offset):
            end = _comment_end(text, offset)
            if end is None:
                return Diagnostic("a comment that never ends", Span(offset, offset + 2), help="end it with */")
            offset = end
        elif c in "'\"`":
            end = _quote_end(text, offset)
            if end is None:
                what = "string" if c == "'" else "quoted name"
                return Diagnostic(f"a {what} that never ends", Span(offset, offset + 1), help=f"end it with {c}")
            offset = end
        else:
            offset += 1
    return Diagnostic("this is no text that can be read")


def _quote_end(text: str, offset: int) -> int | None:
    quote, offset = text[offset], offset + 1
    while (found := text.find(quote, offset)) >= 0:
        if not text.startswith(quote, found + 1):
            return found + 1
        offset = found + 2
    return None
