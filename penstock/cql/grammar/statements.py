"""Statements: CREATE STREAM, RELATION, VIEW, QUERY and FUNCTION, and bare queries; one after the other, separated by
semicolons."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from sqlglot.tokenizer_core import Token, TokenType

from penstock.cql.grammar import syntax
from penstock.cql.grammar.cursor import is_name, place
from penstock.cql.grammar.queries import QueryParser
from penstock.cql.grammar.syntax import ColumnDefinition, ConnectorClause, Name, Option, Statement
from penstock.cql.grammar.tokens import tokenize
from penstock.errors import Diagnostic, PenstockError, suggestion
from penstock.plan.durations import in_microseconds

_FIRST: Final = ("CREATE", "SELECT", "ISTREAM", "DSTREAM", "RSTREAM")


class StatementParser(QueryParser):
    """Reads one statement."""

    def statement(self) -> Statement:
        """Takes the whole statement."""
        self._nesting = self._query_nesting = 0
        found = self._create() if self.take("CREATE") else self._bare_query()
        if not self.done:
            self.unexpected("expected the end of the statement")
        return found

    def _bare_query(self) -> Statement:
        if self.at("WITH"):
            self.fail("WITH before a query is not offered", self.here(), help="name its parts with CREATE VIEW")
        if not self.at_query():
            self.unexpected("expected a statement: CREATE ... or SELECT ...", _FIRST)
        return syntax.CreateQuery(None, (), self.query(), self._sink())

    def _create(self) -> Statement:
        for word, read in _KINDS.items():
            if self.take(word):
                return read(self, self.name("a name"))
        self.unexpected(f"expected {', '.join(_KINDS)} after CREATE", _KINDS)

    def _stream(self, name: Name) -> Statement:
        columns = self._columns()
        timestamp = self._timestamp()
        within = self._within() if self.take("WITHIN") else None
        late = self._late()
        return syntax.CreateStream(name, columns, timestamp, within, late, self._source())

    def _timestamp(self) -> Name | None:
        if not self.take("TIMESTAMP"):
            return None
        self.expect("BY")
        return self.name("a column")

    def _within(self) -> int:
        quantity = self._extent()
        if quantity.value < 0 or not isinstance(quantity.value, int):
            self.fail("the bound of disorder is a duration", quantity.span, help="such as WITHIN 2 SECONDS")
        return quantity.value

    def _late(self) -> str:
        if not self.take("LATE"):
            return "keep"
        for word in ("KEEP", "DROP"):
            if self.take(word):
                return word.lower()
        self.unexpected("expected KEEP or DROP", ("KEEP", "DROP"))

    def _relation(self, name: Name) -> Statement:
        columns = self._columns()
        following = self.ahead(2)
        if self.at("FROM") and following is not None and following.text.upper() == "KEY":
            self.expect("FROM")
            stream = self.name("a stream")
            self.expect("KEY")
            self.expect("(")
            key = self.listed(lambda: self.name("a column"))
            self.expect(")")
            return syntax.CreateRelation(name, columns, None, stream, key)
        return syntax.CreateRelation(name, columns, self._source(), None, ())

    def _columns(self) -> tuple[ColumnDefinition, ...]:
        self.expect("(")
        columns = self.listed(lambda: ColumnDefinition(self.name("a column"), self.type_name()))
        self.expect(")")
        return columns

    def _view(self, name: Name) -> Statement:
        self.expect("AS")
        return syntax.CreateView(name, self.query())

    def _query_statement(self, name: Name) -> Statement:
        options: tuple[Option, ...] = ()
        if self.take("WITH"):
            options = self._options()
        self.expect("AS")
        return syntax.CreateQuery(name, options, self.query(), self._sink())

    def _function(self, name: Name) -> Statement:
        source = self._source()
        if source is None:
            self.unexpected("expected FROM python OPTIONS (file = '...')", ("FROM",))
        return syntax.CreateFunction(name, source)

    def _source(self) -> ConnectorClause | None:
        return self._connector() if self.take("FROM") else None

    def _sink(self) -> ConnectorClause | None:
        return self._connector() if self.take("INTO") else None

    def _connector(self) -> ConnectorClause:
        format_ = self.name("a format, such as csv or kafka")
        return ConnectorClause(format_, self._options() if self.take("OPTIONS") else ())

    def _options(self) -> tuple[Option, ...]:
        self.expect("(")
        options = () if self.at(")") else self.listed(self._option)
        self.expect(")")
        return options

    def _option(self) -> Option:
        start = self.here().start
        key = self._option_key()
        key_span = self.since(start)
        self.expect("=")
        value_start = self.here().start
        value = self._option_value()
        return Option(key, key_span, value, self.since(value_start))

    def _option_key(self) -> str:
        """A name, several with points between, or a string."""
        if self._match(TokenType.STRING):
            return self._prev.text
        parts = [self.name("an option").text]
        while self.take("."):
            parts.append(self.name("an option").text)
        return ".".join(parts)

    def _option_value(self) -> str | int | float | bool:
        """A string, a number, TRUE or FALSE, or a number with a unit of time as the string it is."""
        start = self.here().start
        if self._match(TokenType.STRING) or self._match(TokenType.IDENTIFIER):
            return self._prev.text
        for word, truth in (("TRUE", True), ("FALSE", False)):
            if self.take(word):
                return truth
        sign = "-" if self.take("-") else ""
        if not self._match(TokenType.NUMBER):
            self.unexpected("expected a string, a number, TRUE or FALSE", ())
        number = self._prev.text
        if unit := self._unit():
            in_microseconds(number, unit)
            span = self.since(start)
            return self.text[span.start : span.end]
        return int(sign + number) if number.isdigit() else float(sign + number)


_KINDS: Final[dict[str, Callable[[StatementParser, Name], Statement]]] = {
    "STREAM": StatementParser._stream, "RELATION": StatementParser._relation, "VIEW": StatementParser._view,
    "QUERY": StatementParser._query_statement, "FUNCTION": StatementParser._function,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Unread:
    """A statement, or a part of one, that could not be read; `name` is what it would have named, so that nobody
    complains of its absence."""

    diagnostic: Diagnostic
    name: str | None


def read_script(text: str, parser: StatementParser) -> list[Statement | Unread]:
    """The statements of `text`; after a mistake, reading goes on at the next semicolon."""
    return [part for tokens in _split(tokenize(text)) for part in _read(parser, tokens, text)]


def _split(tokens: list[Token]) -> list[list[Token]]:
    pieces: list[list[Token]] = [[]]
    for token in tokens:
        if token.token_type is TokenType.SEMICOLON:
            pieces.append([])
        else:
            pieces[-1].append(token)
    return [p for p in pieces if p]


def _read(parser: StatementParser, tokens: list[Token], text: str) -> list[Statement | Unread]:
    """The statement, behind the mistakes that it could be read in spite of."""
    found: Statement | Unread
    parser.load(tokens, text)
    try:
        found = parser.statement()
    except PenstockError as error:
        found = Unread(_placed(error.diagnostics[0], parser), _would_name(tokens))
    except RecursionError:
        help_ = "name the inner queries with CREATE VIEW"
        found = Unread(Diagnostic("this is nested too deeply", place(tokens[0]), help=help_), _would_name(tokens))
    return [*(Unread(noted, None) for noted in parser.noted), found]


def _placed(found: Diagnostic, parser: StatementParser) -> Diagnostic:
    return found if found.span is not None else Diagnostic(found.message, parser.here(), found.notes, found.help)


def _would_name(tokens: list[Token]) -> str | None:
    near = len(tokens) > 2 and (
        tokens[0].text.upper() == "CREATE" or suggestion(tokens[0].text, ["CREATE"]) is not None
    )
    return tokens[2].text if near and is_name(tokens[2]) else None
