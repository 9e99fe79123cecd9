"""Expressions: sqlglot's grammar of operators over operands of our own, so that a function keeps the name it was
given, a sub-query is a CQL query, and every word of an error is known."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from penstock.cql.grammar.calls import CallParser
from penstock.cql.grammar.cursor import is_name, place
from penstock.cql.grammar.syntax import CastTo, Duration, FunctionCall, SubQuery
from penstock.cql.grammar.tokens import RESERVED
from penstock.errors import PenstockError
from penstock.plan.durations import in_microseconds, parse_duration
from penstock.plan.types import SPELLINGS

_TYPED: Final = ("DATE", "TIMESTAMP")
_QUERY_WORDS: Final = ("SELECT", "ISTREAM", "DSTREAM", "RSTREAM")


class ExpressionParser(CallParser):
    """Reads operands, and with them expressions."""

    def _parse_type(self, parse_interval: bool = True, fallback_to_identifier: bool = False) -> exp.Expr | None:
        token = self.ahead()
        node = self._operand(token) if token is not None else None
        if node is None or token is None:
            self.unexpected("expected an expression")
        self._set_place(node, token.start)
        while self.at("::") or self.at("["):
            node = self._postfix(node)
            self._set_place(node, token.start)
        return node

    def _operand(self, token: Token) -> exp.Expr | None:
        for applies, read in _OPERANDS:
            if applies(self, token):
                return read(self)
        return None

    def _postfix(self, node: exp.Expr) -> exp.Expr:
        if self.take("::"):
            return self.expression(CastTo(this=node, to=self.type_name()))
        opening = self.expect("[")
        index = self.condition()
        self.expect("]")
        return self.expression(FunctionCall(this="element_at", name_span=place(opening), expressions=[node, index]))

    def _fraction(self) -> exp.Expr:
        """`.5`."""
        self.expect(".")
        digits = self._advance_any()
        assert digits is not None
        return self.expression(exp.Literal(this=f"0.{digits.text}", is_string=False), digits)

    def _literal(self) -> exp.Expr:
        token = self._advance_any(ignore_reserved=True)
        assert token is not None
        if token.token_type is TokenType.NULL:
            return self.expression(exp.Null(), token)
        if token.token_type in (TokenType.TRUE, TokenType.FALSE):
            return self.expression(exp.Boolean(this=token.token_type is TokenType.TRUE), token)
        return self.expression(exp.Literal(this=token.text, is_string=token.token_type is TokenType.STRING), token)

    def _parse_paren(self) -> exp.Expr:
        self.expect("(")
        if self.at_query():
            return self._sub_query()
        parts = self.listed(self.condition)
        self.expect(")")
        return self.expression(exp.Paren(this=parts[0]) if len(parts) == 1 else exp.Tuple(expressions=list(parts)))

    def at_query(self) -> bool:
        """True where a query begins, perhaps in parentheses."""
        i = 0
        while (token := self.ahead(i)) is not None and token.text == "(" and token.token_type is TokenType.L_PAREN:
            i += 1
        word, following = self.ahead(i), self.ahead(i + 1)
        if word is None or word.token_type is not TokenType.VAR or word.text.upper() not in _QUERY_WORDS:
            return False
        return word.text.upper() == "SELECT" or (following is not None and following.token_type is TokenType.L_PAREN)

    def _sub_query(self) -> exp.Expr:
        """A query after its opening parenthesis, and the closing one."""
        start = self._prev.start
        query = self.query()
        self.expect(")")
        node = self.expression(SubQuery(this=query))
        self._set_place(node, start)
        return node

    def _parse_in(self, this: exp.Expr | None, alias: bool = False) -> exp.In:
        self.expect("(")
        if self.at_query():
            return self.expression(exp.In(this=this, query=self._sub_query()))
        values = self.listed(self.condition)
        self.expect(")")
        return self.expression(exp.In(this=this, expressions=list(values)))

    def _parse_case(self) -> exp.Expr:
        self.expect("CASE")
        operand = None if self.at("WHEN") else self.condition()
        branches = [self._branch()]
        while self.at("WHEN"):
            branches.append(self._branch())
        default = self.condition() if self.take("ELSE") else None
        self.expect("END")
        return self.expression(exp.Case(this=operand, ifs=branches, default=default))

    def _branch(self) -> exp.Expr:
        self.expect("WHEN")
        condition = self.condition()
        self.expect("THEN")
        return self.expression(exp.If(this=condition, true=self.condition()))

    def _exists(self) -> exp.Expr:
        self.expect("EXISTS")
        self.expect("(")
        if not self.at_query():
            self.unexpected("expected a query")
        return self.expression(exp.Exists(this=self._sub_query()))

    def _interval(self) -> exp.Expr:
        start = self.expect("INTERVAL").start
        sign = -1 if self.take("-") else 1
        token = self.ahead()
        if token is None or token.token_type not in (TokenType.STRING, TokenType.NUMBER):
            self.unexpected("expected a duration, such as INTERVAL '10' MINUTE")
        self._advance()
        unit = self._unit()
        try:
            microseconds = in_microseconds(token.text, unit) if unit else parse_duration(token.text)
        except PenstockError as error:
            self.fail(
                error.diagnostics[0].message, self.since(start), error.diagnostics[0].notes, error.diagnostics[0].help
            )
        return self.expression(Duration(this=sign * microseconds))

    def _unit(self) -> str | None:
        token = self.ahead()
        if token is None or token.token_type is not TokenType.VAR or token.text.upper() in RESERVED:
            return None
        self._advance()
        return token.text

    def _typed_literal(self) -> exp.Expr:
        word = self._advance_any()
        assert word is not None
        return self.expression(CastTo(this=self._literal(), to=SPELLINGS[word.text.lower()], typed=True))

    def _array(self) -> exp.Expr:
        word = self.expect("ARRAY")
        self.expect("[")
        values = [] if self.at("]") else list(self.listed(self.condition))
        self.expect("]")
        return self.expression(FunctionCall(this="array", name_span=place(word), expressions=values))

    def _column_name(self) -> exp.Expr:
        parts = [self._identifier()]
        while self.take("."):
            parts.append(self._identifier())
        if len(parts) > 2:
            self.fail("a column has one qualifier at most", self.since(parts[0].meta["start"]))
        return self.expression(exp.Column(this=parts[-1], table=parts[0] if len(parts) == 2 else None))

    def _identifier(self) -> exp.Identifier:
        name = self.name("a column")
        return self.expression(exp.Identifier(this=name.text, quoted=False), self._prev)


def _is_call(parser: ExpressionParser, token: Token) -> bool:
    following = parser.ahead(1)
    called = following is not None and following.token_type is TokenType.L_PAREN
    return called and (is_name(token) or token.text.upper() in ("CAST", "LEFT", "RIGHT"))


def _is_fraction(parser: ExpressionParser, token: Token) -> bool:
    following = parser.ahead(1)
    digits = following is not None and following.token_type is TokenType.NUMBER and following.text.isdigit()
    return token.token_type is TokenType.DOT and digits and following is not None and following.start == token.end + 1


def _is_typed_literal(parser: ExpressionParser, token: Token) -> bool:
    following = parser.ahead(1)
    return token.text.upper() in _TYPED and following is not None and following.token_type is TokenType.STRING


_LITERALS: Final = (TokenType.STRING, TokenType.NUMBER, TokenType.NULL, TokenType.TRUE, TokenType.FALSE)
_OPERANDS: Final[
    tuple[tuple[Callable[[ExpressionParser, Token], bool], Callable[[ExpressionParser], exp.Expr]], ...]
] = (
    (lambda _, t: t.token_type in _LITERALS, ExpressionParser._literal),
    (lambda _, t: t.token_type is TokenType.L_PAREN, ExpressionParser._parse_paren),
    (lambda p, _: p.at("CASE"), ExpressionParser._parse_case),
    (lambda p, _: p.at("EXISTS"), ExpressionParser._exists),
    (lambda p, _: p.at("INTERVAL"), ExpressionParser._interval),
    (lambda p, _: p.at("ARRAY", "["), ExpressionParser._array),
    (_is_typed_literal, ExpressionParser._typed_literal),
    (_is_fraction, ExpressionParser._fraction),
    (_is_call, ExpressionParser._call),
    (lambda _, t: is_name(t), ExpressionParser._column_name),
)
