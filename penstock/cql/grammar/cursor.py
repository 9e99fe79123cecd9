"""A reader of words: what stands here, taking it, and saying what was expected instead."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import NoReturn, TypeVar

from sqlglot.parser import Parser
from sqlglot.tokenizer_core import Token, TokenType

from penstock.cql.grammar.syntax import Name
from penstock.cql.grammar.tokens import RESERVED
from penstock.errors import Diagnostic, PenstockError, Span, suggestion
from penstock.plan.types import SPELLINGS

_T = TypeVar("_T")
CLAUSES = (
    "SELECT",
    "FROM",
    "WHERE",
    "GROUP",
    "HAVING",
    "UNION",
    "EXCEPT",
    "INTERSECT",
    "INTO",
    "JOIN",
    "AND",
    "OPTIONS",
)
_AFTER_NAMES = frozenset((".", *(t.upper() for t in SPELLINGS)))


class Cursor(Parser):
    """Sqlglot's parser with a view of the words of one statement.

    `text` is the whole script, `noted` what is wrong with the statement though it could be read.
    """

    text: str = ""
    noted: tuple[Diagnostic, ...] = ()
    _bare_alias: Token | None = None

    def load(self, tokens: list[Token], text: str) -> None:
        """Starts at the first of `tokens`, all of them from `text`."""
        self.reset()
        self.text = self.sql = text
        self.noted = ()
        self._bare_alias = None
        self._tokens = tokens
        self._tokens_size = len(tokens)
        self._index = -1
        self._advance()

    @property
    def done(self) -> bool:
        """True after the last word."""
        return self._index >= self._tokens_size

    def at(self, *words: str) -> bool:
        """True where the next words are these, unquoted, in any case."""
        for i, word in enumerate(words):
            token = self.ahead(i)
            if (
                token is None
                or token.token_type in (TokenType.IDENTIFIER, TokenType.STRING)
                or token.text.upper() != word
            ):
                return False
        return True

    def take(self, *words: str) -> bool:
        """Takes these words where they stand."""
        found = self.at(*words)
        if found:
            self._advance(len(words))
        return found

    def expect(self, *words: str) -> Token:
        """Takes these words, or fails."""
        if not self.take(*words):
            self.unexpected(f"expected {' '.join(words)}", words)
        return self._prev

    def ahead(self, count: int = 0) -> Token | None:
        """The word `count` after the next one."""
        index = self._index + count
        return self._tokens[index] if index < self._tokens_size else None

    def name(self, what: str) -> Name:
        """Takes a name, or fails and says that `what` was expected."""
        token = self.ahead()
        if token is None or not is_name(token):
            self.unexpected(f"expected {what}")
        self._advance()
        return Name(token.text, place(token))

    def listed(self, read: Callable[[], _T]) -> tuple[_T, ...]:
        """One or more of what `read` reads, separated by commas."""
        found = [read()]
        while self.take(","):
            found.append(read())
        return tuple(found)

    def here(self) -> Span:
        """The place of the next word; after the last one, the place behind it."""
        token = self.ahead()
        if token is not None:
            return place(token)
        end = self._tokens[-1].end + 1 if self._tokens else 0
        return Span(end, end)

    def since(self, start: int) -> Span:
        """From `start` to the end of the last word taken."""
        return Span(start, max(start, self._prev.end + 1))

    def fail(self, message: str, span: Span, notes: tuple[str, ...] = (), help: str | None = None) -> NoReturn:
        """Ends the reading of this statement."""
        raise PenstockError(Diagnostic(message, span, notes, help))

    def note(self, found: Diagnostic, span: Span) -> None:
        """One mistake that reading goes on after."""
        self.noted += (replace(found, span=found.span or span),)

    def unexpected(self, expected: str, words: Iterable[str] = CLAUSES) -> NoReturn:
        """Fails at the next word, or at the word before it where that is a misspelt keyword taken for an alias."""
        alias = self._bare_alias
        if alias is not None and alias is self._prev and (near := suggestion(alias.text, [*words, *CLAUSES])):
            self.fail(f"unexpected '{alias.text}'", place(alias), help=near)
        token = self.ahead()
        misspelt = token is not None and token.token_type is TokenType.VAR and token.text.upper() not in RESERVED
        near = suggestion(token.text, list(words)) if token is not None and misspelt else None
        self.fail(f"{expected}, found {self.found()}", self.here(), help=near or self._quoting())

    def _quoting(self) -> str | None:
        """What to try where a reserved word stands for a name: before a point, a type or a comma, or after AS."""
        token, following = self.ahead(), self.ahead(1)
        if token is None or token.text.upper() not in RESERVED or token.token_type is TokenType.IDENTIFIER:
            return None
        named = self._prev.text.upper() == "AS" or (following is not None and following.text.upper() in _AFTER_NAMES)
        return f'quote a reserved word: "{token.text}"' if named else None

    def found(self) -> str:
        """The next word, for a message."""
        token = self.ahead()
        if token is None:
            return "the end of the statement"
        return f"'{self.text[token.start : token.end + 1]}'"


def place(token: Token) -> Span:
    """Where `token` stands."""
    return Span(token.start, token.end + 1)


def is_name(token: Token) -> bool:
    """True for a quoted name, and for a word that is not reserved."""
    if token.token_type is TokenType.IDENTIFIER:
        return bool(token.text)
    return (
        token.token_type is TokenType.VAR
        and token.text.upper() not in RESERVED
        and (token.text[0].isalpha() or token.text[0] == "_")
    )
