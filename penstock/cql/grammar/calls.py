"""Function calls, the special forms among them (CAST, EXTRACT, SUBSTRING, TRIM, POSITION), and types."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from penstock.cql.grammar.cursor import place
from penstock.cql.grammar.operators import OperatorParser
from penstock.cql.grammar.syntax import CastTo, FunctionCall
from penstock.errors import PenstockError, Span, unknown
from penstock.plan.functions.times import EXTRACTABLE, unit_name
from penstock.plan.types import Type, parse_type


class CallParser(OperatorParser):
    """Reads calls and types."""

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
        called = unit_name(part.text)
        if called not in EXTRACTABLE:
            self.note(unknown("part of a timestamp", part.text, EXTRACTABLE), part.span)
            called = EXTRACTABLE[0]
        self.expect("FROM")
        value = self.condition()
        self.expect(")")
        return self._made(name, [value], called=called)

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
        if not self.take("INTERVAL"):
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


_SPECIAL_CALLS: Final[dict[str, Callable[[CallParser, Token], exp.Expr]]] = {
    "CAST": CallParser._cast,
    "EXTRACT": CallParser._extract,
    "SUBSTRING": CallParser._substring,
    "SUBSTR": CallParser._substring,
    "TRIM": CallParser._trim,
    "POSITION": CallParser._position,
}
