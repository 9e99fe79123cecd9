"""Queries: SELECT ... FROM ... WHERE ... GROUP BY ... HAVING, Istream/Dstream/Rstream around them, and UNION, EXCEPT,
INTERSECT between."""

from __future__ import annotations

from typing import Final

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from penstock.cql.grammar.cursor import is_name, place
from penstock.cql.grammar.labels import label
from penstock.cql.grammar.syntax import Item, Name, Operator, Output, Query, Select, SetOperation, Star, StreamOf
from penstock.cql.grammar.windows import WindowParser
from penstock.errors import Span

_STREAM_WORDS: Final = ("ISTREAM", "DSTREAM", "RSTREAM")
_NOT_OFFERED: Final = {
    "ORDER": (
        "ORDER BY is not offered",
        "a result has no end that it could be sorted at; sort what you read from the sink",
    ),
    "LIMIT": ("LIMIT is not offered", "a stream has no end; a window such as [Rows 10] keeps the last rows"),
    "OFFSET": ("OFFSET is not offered", "a stream has no end to count from"),
    "WINDOW": ("named windows are not offered", "put the window behind the stream: S [Range 10 Minutes]"),
    "QUALIFY": ("QUALIFY is not offered", "filter in a query around this one"),
}
_OUTER: Final = ("LEFT", "RIGHT", "FULL", "NATURAL")
MAX_QUERY_NESTING: Final = 12
"""Queries within queries: deeper ones would exhaust Python's stack."""


class QueryParser(WindowParser):
    """Reads queries."""

    _query_nesting: int = 0

    def query(self) -> Query:
        """Takes a query: INTERSECT binds closer than UNION and EXCEPT, which go from left to right."""
        self._query_nesting += 1
        if self._query_nesting > MAX_QUERY_NESTING:
            self.fail(
                f"queries nested more than {MAX_QUERY_NESTING} deep",
                self.here(),
                help="name the inner ones with CREATE VIEW",
            )
        left = self._intersection()
        while self.at("UNION") or self.at("EXCEPT"):
            left = self._combined(left, self._intersection)
        self._query_nesting -= 1
        return left

    def _intersection(self) -> Query:
        left = self._simple_query()
        while self.at("INTERSECT"):
            left = self._combined(left, self._simple_query)
        return left

    def _combined(self, left: Query, operand: object) -> Query:
        assert callable(operand)
        start = left.span.start
        token = self._advance_any(ignore_reserved=True)
        assert token is not None
        word, keep = token.text.lower(), self.take("ALL")
        if not keep:
            self.take("DISTINCT")
        operator_span = self.since(token.start)
        members: tuple[Query, ...] = (left,)
        if isinstance(left, SetOperation) and (left.word, left.all) == ("union", keep) and word == "union":
            members = left.members
        return SetOperation(word, keep, (*members, operand()), operator_span, self.since(start))

    def _simple_query(self) -> Query:
        start = self.here().start
        for word in _STREAM_WORDS:
            if self.at(word, "("):
                operator = self._operator()
                self.expect("(")
                inner = self.query()
                self.expect(")")
                return StreamOf(operator, inner, self.since(start))
        if self.take("("):
            inner = self.query()
            self.expect(")")
            return inner
        return self._select()

    def _operator(self) -> Operator:
        token = self._advance_any()
        assert token is not None
        return Operator(token.text.lower(), place(token))

    def _select(self) -> Select:
        start = self.expect("SELECT").start
        distinct = self._distinct()
        operator, inner_distinct, outputs = self._select_list()
        self._require_from(start)
        items = self._items()
        where = self.condition() if self.take("WHERE") else None
        group = self._group()
        having = self.condition() if self.take("HAVING") else None
        self._refuse_the_rest()
        return Select(operator, distinct or inner_distinct, outputs, items, where, group, having, self.since(start))

    def _distinct(self) -> Span | None:
        if self.take("DISTINCT"):
            return place(self._prev)
        self.take("ALL")
        return None

    def _require_from(self, start: int) -> None:
        if self.done or self.at(")") or self.at("INTO"):
            self.fail(
                "a query needs FROM", self.since(start), help="name a stream, a relation or a view: SELECT ... FROM S"
            )
        self.expect("FROM")

    def _select_list(self) -> tuple[Operator | None, Span | None, tuple[Output, ...]]:
        if not any(self.at(word, "(") for word in _STREAM_WORDS):
            return None, None, self.listed(self._output)
        operator = self._operator()
        self.expect("(")
        distinct = self._distinct()
        outputs = self.listed(self._output)
        self.expect(")")
        alias = self._alias()
        if self.at(","):
            self.fail(
                f"{operator.word.capitalize()} goes around the whole select list",
                self.here(),
                help="put the other columns in its parentheses",
            )
        if alias is not None:
            if len(outputs) > 1 or outputs[0].alias is not None or isinstance(outputs[0].value, Star):
                self.fail(
                    "this alias names more than one column",
                    alias.span,
                    help="give each column its own, inside the parentheses",
                )
            outputs = (Output(outputs[0].value, alias, outputs[0].label, outputs[0].span),)
        return operator, distinct, outputs

    def _output(self) -> Output:
        start = self.here().start
        star = self._star()
        if star is not None:
            return Output(star, None, "*", star.span)
        first = self._index
        value = self.condition()
        text = label(self._tokens[first : self._index])
        return Output(value, self._alias(), text, self.since(start))

    def _star(self) -> Star | None:
        start = self.here().start
        if self.take("*"):
            return Star(None, self.since(start))
        first, dot, star = self.ahead(), self.ahead(1), self.ahead(2)
        if first is None or dot is None or star is None or not is_name(first):
            return None
        if dot.token_type is not TokenType.DOT or star.token_type is not TokenType.STAR:
            return None
        self._advance(3)
        return Star(Name(first.text, place(first)), self.since(start))

    def _alias(self) -> Name | None:
        if self.take("AS"):
            return self.name("a name")
        token = self.ahead()
        if token is None or not is_name(token) or token.text.upper() in _NOT_OFFERED:
            return None
        self._advance()
        self._bare_alias = token
        return Name(token.text, place(token))

    def _items(self) -> tuple[Item, ...]:
        found = [self._item()]
        while True:
            if self.take(","):
                found.append(self._item())
            elif self._take_join():
                found.append(self._joined())
            else:
                return tuple(found)

    def _take_join(self) -> bool:
        if any(self.at(word) for word in _OUTER):
            self.fail(
                f"{self._word()} joins are not offered",
                self.here(),
                help="an inner join with JOIN ... ON; what finds no partner: NOT EXISTS",
            )
        return self.take("CROSS", "JOIN") or self.take("INNER", "JOIN") or self.take("JOIN")

    def _word(self) -> str:
        token = self.ahead()
        return token.text.upper() if token is not None else ""

    def _joined(self) -> Item:
        item = self._item()
        if self.at("USING"):
            self.fail("USING is not offered", self.here(), help="say JOIN ... ON a.x = b.x")
        if not self.take("ON"):
            return item
        return Item(item.source, item.window, item.alias, item.span, self.condition())

    def _item(self) -> Item:
        start = self.here().start
        source: Name | Query | Item
        if self.at_query() and self.at("("):
            self.expect("(")
            source = self.query()
            self.expect(")")
        elif self.take("("):
            source = self._item()
            self.expect(")")
        else:
            source = self.name("a stream, a relation, a view or a query in parentheses")
        window = self.window()
        span = self.since(start)
        alias = self._alias()
        if self.at("["):
            self._misplaced_window(window is not None)
        return Item(source, window, alias, span)

    def _misplaced_window(self, second: bool) -> None:
        span = self.here()
        if second:
            self.fail("a second window", span, help="a stream has one; put a query around it for another")
        self.fail("the window stands before the alias", span, help="S [Range 10 Minutes] AS s")

    def _group(self) -> tuple[exp.Expr, ...]:
        if not self.take("GROUP"):
            return ()
        self.expect("BY")
        return self.listed(self.condition)

    def _refuse_the_rest(self) -> None:
        token = self.ahead()
        if token is not None and token.token_type is TokenType.VAR and token.text.upper() in _NOT_OFFERED:
            message, help_ = _NOT_OFFERED[token.text.upper()]
            self.fail(message, place(token), help=help_)
