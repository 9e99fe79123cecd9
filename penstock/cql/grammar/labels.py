"""The name of an output column that has no alias: the text of its expression, in one normal form."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot.tokenizer_core import Token, TokenType

from penstock.cql.grammar.cursor import is_name
from penstock.cql.grammar.tokens import RESERVED

_TIGHT_AFTER = ("(", "[", ".", "::")
_SIGNED_AFTER = ("(", ",", "*", "/", "+", "-", "%", "=", "<", ">", "<=", ">=", "<>")
_TIGHT_BEFORE = (")", "]", ",", ".", "::", "[")


def label(tokens: Sequence[Token]) -> str:
    """`tokens` as a column's name: keywords and function names in lower case, names without their qualifier, one
    spacing.

    >>> from penstock.cql.grammar.tokens import tokenize
    >>> label(tokenize("SUM( C.size )")), label(tokenize("Count(Distinct xpos)")), label(tokenize("a+1"))
    ('sum(size)', 'count(distinct xpos)', 'a + 1')
    """
    kept = [t for i, t in enumerate(tokens) if not _qualifies(tokens, i)]
    text = ""
    for i, token in enumerate(kept):
        following = kept[i + 1] if i + 1 < len(kept) else None
        word = _word(token, following)
        text += word if i == 0 or _joined(kept, i) else f" {word}"
    return text


def _qualifies(tokens: Sequence[Token], i: int) -> bool:
    """True for the qualifier and the point of `s.a`; the point of `.5` has no name before it."""
    point = i if tokens[i].token_type is TokenType.DOT else i + 1
    return 0 < point < len(tokens) and tokens[point].token_type is TokenType.DOT and is_name(tokens[point - 1])


def _word(token: Token, following: Token | None) -> str:
    if token.token_type is TokenType.STRING:
        return "'" + token.text.replace("'", "''") + "'"
    if token.token_type is TokenType.IDENTIFIER:
        return token.text
    called = following is not None and following.token_type is TokenType.L_PAREN
    return token.text.lower() if called or token.text.upper() in RESERVED else token.text


def _joined(tokens: Sequence[Token], i: int) -> bool:
    """True where no space stands before token `i`."""
    before, token = tokens[i - 1], tokens[i]
    if _mark(before) in _TIGHT_AFTER or _mark(token) in _TIGHT_BEFORE:
        return True
    if _mark(before) + _mark(token) in ("<<", ">>"):
        return before.end + 1 == token.start
    if token.token_type is TokenType.L_PAREN:
        return before.token_type in (TokenType.VAR, TokenType.IDENTIFIER) and before.text.upper() not in RESERVED - {
            "CAST"
        }
    return before.token_type in (TokenType.DASH, TokenType.TILDE) and (i == 1 or _mark(tokens[i - 2]) in _SIGNED_AFTER)


def _mark(token: Token) -> str:
    """The text of `token`, empty where it is quoted."""
    return "" if token.token_type in (TokenType.STRING, TokenType.IDENTIFIER) else token.text
