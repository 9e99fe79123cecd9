"""Expressions: sqlglot's grammar of operators over operands of our own, with the place of every part.

Sqlglot's levels (OR, AND, NOT, comparison, IN / LIKE / BETWEEN / IS, `||`, `+ -`, `* / % DIV`, unary) stay as they are.
The operands
are ours, so that a function keeps the name it was given, a sub-query is a CQL query, and every word of an error is
known.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Final, TypeVar

from sqlglot import exp
from sqlglot.parser import Parser
from sqlglot.tokenizer_core import Token, TokenType

from penstock.cql.grammar.cursor import Cursor, is_name, place
from penstock.cql.grammar.durations import in_microseconds, parse_duration
from penstock.cql.grammar.syntax import CastTo, Duration, FunctionCall, Query, SubQuery, span_of
from penstock.cql.grammar.tokens import RESERVED
from penstock.errors import PenstockError, Span
from penstock.plan.types import SPELLINGS, Type, parse_type

_E = TypeVar("_E", bound=exp.Expr)
MAX_NESTING: Final = 24
"""Operands within operands: deeper ones would exhaust Python's stack."""
MAX_DEPTH: Final = 100
"""Levels of one tree: every pass over an expression goes down them one by one."""
_TYPED: Final = ("DATE", "TIMESTAMP")
_QUERY_WORDS: Final = ("SELECT", "ISTREAM", "DSTREAM", "RSTREAM")


class ExpressionParser(Cursor):
    """Reads expressions."""

    RANGE_PARSERS: ClassVar = {
        t: Parser.RANGE_PARSERS[t]
        for t in (TokenType.BETWEEN, TokenType.ILIKE, TokenType.IN, TokenType.IS, TokenType.LIKE, TokenType.RLIKE)
    }
    UNARY_PARSERS: ClassVar = {t: Parser.UNARY_PARSERS[t] for t in (TokenType.PLUS, TokenType.NOT, TokenType.DASH)}
    BITWISE: ClassVar = {}
    PLACEHOLDER_PARSERS: ClassVar = {}

    _nesting: int = 0

    def condition(self) -> exp.Expr:
        """Takes one expression."""
        found = self._parse_disjunction()
        assert found is not None, "an operand that is missing has failed"
        return found

    def query(self) -> Query:
        """Takes a query; `QueryParser` says how."""
        raise TypeError("an expression alone has no queries")

    def expression(self, instance: _E, token: Token | None = None, comments: list[str] | None = None) -> _E:
        """Sqlglot's hook for each new node: here it gets its place and its depth."""
        node = super().expression(instance, token)
        parts = list(node.iter_expressions())
        if token is None:
            starts = [p.meta["start"] for p in parts if "start" in p.meta]
            self._set_place(node, min(starts, default=self._prev.start))
        connective = isinstance(node, exp.And | exp.Or)
        depth = max((p.meta.get("depth", 1) for p in parts), default=0) + (not connective)
        node.meta["depth"] = depth
        if depth > MAX_DEPTH:
            self.fail(
                f"an expression of more than {MAX_DEPTH} levels",
                self.since(node.meta["start"]),
                help="compute it in two steps",
            )
        return node

    def raise_error(self, message: str, token: Token | None = None) -> None:
        """Sqlglot's hook for its own complaints."""
        self.unexpected("expected an expression")

    def _set_place(self, node: exp.Expr, start: int) -> None:
        node.meta["start"], node.meta["end"] = start, max(start, self._prev.end)

    def _parse_unary(self) -> exp.Expr | None:
        start = self.here().start
        self._nesting += 1
        if self._nesting > MAX_NESTING:
            self.fail(
                f"expressions nested more than {MAX_NESTING} deep",
                self.here(),
                help="compute the inner ones in a sub-query",
            )
        node = super()._parse_unary()
        self._nesting -= 1
        if node is not None:
            self._set_place(node, start)
        return node

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
        query = self.query()
        self.expect(")")
        return self.expression(SubQuery(this=query))

    def _parse_in(self, this: exp.Expr | None, alias: bool = False) -> exp.In:
        self.expect("(")
        if self.at_query():
            return self.expression(exp.In(this=this, query=self._sub_query()))
        values = self.listed(self.condition)
        self.expect(")")
        return self.expression(exp.In(this=this, expressions=list(values)))

    def _parse_between(self, this: exp.Expr | None) -> exp.Between:
        low = self._parse_bitwise()
        self.expect("AND")
        return self.expression(exp.Between(this=this, low=low, high=self._parse_bitwise()))

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
        return self.expression(CastTo(this=self._literal(), to=SPELLINGS[word.text.lower()]))

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

    def _call(self) -> exp.Expr:
        name = self._advance_any(ignore_reserved=True)
        assert name is not None
        self.expect("(")
        special = _SPECIAL_CALLS.get(name.text.upper())
        node = special(self, name) if special else self._plain_call(name)
        if self.at("OVER"):
            self.fail(
                "windows of SQL (OVER) are not offered",
                self.here(),
                help="put a window behind the stream: S [Range 10 Minutes]",
            )
        return node

    def _plain_call(self, name: Token) -> exp.Expr:
        star = self.take("*")
        distinct = not star and self.take("DISTINCT")
        arguments = [] if star or self.at(")") else list(self.listed(self.condition))
        self.expect(")")
        return self._made(name, arguments, distinct=distinct, star=star)

    def _made(
        self, name: Token, arguments: list[exp.Expr], called: str = "", distinct: bool = False, star: bool = False
    ) -> exp.Expr:
        call = FunctionCall(
            this=called or name.text, name_span=place(name), expressions=arguments, distinct=distinct, star=star
        )
        node = self.expression(call)
        self._set_place(node, name.start)
        return node

    def _cast(self, name: Token) -> exp.Expr:
        value = self.condition()
        self.expect("AS")
        to = self.type_name()
        self.expect(")")
        return self.expression(CastTo(this=value, to=to))

    def _extract(self, name: Token) -> exp.Expr:
        part = self.name("a part of a timestamp, such as YEAR")
        self.expect("FROM")
        value = self.condition()
        self.expect(")")
        return self._made(name, [value], called=part.text.lower())

    def _substring(self, name: Token) -> exp.Expr:
        arguments = [self.condition()]
        while self.take(",") or self.take("FROM") or self.take("FOR"):
            arguments.append(self.condition())
        self.expect(")")
        return self._made(name, arguments)

    def _trim(self, name: Token) -> exp.Expr:
        sides = {"LEADING": "ltrim", "TRAILING": "rtrim", "BOTH": "trim"}
        called = next((f for word, f in sides.items() if self.take(word)), "")
        arguments = [self.condition()]
        if self.take("FROM"):
            arguments.insert(0, self.condition())
        elif self.take(","):
            arguments.append(self.condition())
        self.expect(")")
        return self._made(name, arguments, called=called)

    def _position(self, name: Token) -> exp.Expr:
        needle = self._parse_bitwise()
        assert needle is not None
        if not self.take("IN"):
            self.expect(",")
        haystack = self.condition()
        self.expect(")")
        return self._made(name, [needle, haystack])

    def type_name(self) -> Type:
        """Takes a type: `INT`, `DECIMAL(10, 2)`, `ARRAY<INT>`."""
        start = self.here().start
        self.name("a type")
        if self.take("<"):
            self.type_name()
            self.expect(">")
        elif self.take("("):
            self.listed(self._type_parameter)
            self.expect(")")
        span = self.since(start)
        return self._named_type(span)

    def _type_parameter(self) -> None:
        if not self._match(TokenType.NUMBER):
            self.unexpected("expected a number")

    def _named_type(self, span: Span) -> Type:
        spelled = self.text[span.start : span.end]
        try:
            return parse_type("".join(spelled.split()))
        except PenstockError as error:
            found = error.diagnostics[0]
            self.fail(found.message, span, found.notes, found.help)
        except (TypeError, ValueError):
            self.fail(f"'{spelled}' is no type", span, help="such as INT, DECIMAL(10, 2) or ARRAY<STRING>")


def _is_call(parser: ExpressionParser, token: Token) -> bool:
    following = parser.ahead(1)
    called = following is not None and following.token_type is TokenType.L_PAREN
    return called and (is_name(token) or token.text.upper() in ("CAST", "LEFT", "RIGHT"))


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
    (_is_call, ExpressionParser._call),
    (lambda _, t: is_name(t), ExpressionParser._column_name),
)
_SPECIAL_CALLS: Final[dict[str, Callable[[ExpressionParser, Token], exp.Expr]]] = {
    "CAST": ExpressionParser._cast, "EXTRACT": ExpressionParser._extract, "SUBSTRING": ExpressionParser._substring,
    "SUBSTR": ExpressionParser._substring, "TRIM": ExpressionParser._trim, "POSITION": ExpressionParser._position,
}  # fmt: skip
__all__ = ["MAX_DEPTH", "MAX_NESTING", "ExpressionParser", "span_of"]
