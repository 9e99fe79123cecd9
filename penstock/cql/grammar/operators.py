"""Operators: sqlglot's levels (OR, AND, NOT, comparison, IN / LIKE / BETWEEN / IS, `||`, `+ -`, `* / % DIV`, unary),
with the place of every part, and bounds on how deep a tree may grow."""

from __future__ import annotations

from typing import ClassVar, Final, TypeVar

from sqlglot import exp
from sqlglot.parser import Parser
from sqlglot.tokenizer_core import Token, TokenType

from penstock.cql.grammar.cursor import Cursor
from penstock.cql.grammar.syntax import Query

_E = TypeVar("_E", bound=exp.Expr)
MAX_NESTING: Final = 24
"""Operands within operands: deeper ones would exhaust Python's stack."""
MAX_DEPTH: Final = 100
"""Levels of one tree: every pass over an expression goes down them one by one."""


class OperatorParser(Cursor):
    """Reads operators; what stands between them is for `ExpressionParser`."""

    RANGE_PARSERS: ClassVar = {
        t: Parser.RANGE_PARSERS[t]
        for t in (TokenType.BETWEEN, TokenType.ILIKE, TokenType.IN, TokenType.IS, TokenType.LIKE, TokenType.RLIKE)
    }
    UNARY_PARSERS: ClassVar = {
        t: Parser.UNARY_PARSERS[t] for t in (TokenType.PLUS, TokenType.NOT, TokenType.DASH, TokenType.TILDE)
    }
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

    def _parse_between(self, this: exp.Expr | None) -> exp.Between:
        low = self._parse_bitwise()
        self.expect("AND")
        return self.expression(exp.Between(this=this, low=low, high=self._parse_bitwise()))
