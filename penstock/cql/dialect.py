"""CQL as a dialect of sqlglot."""

from __future__ import annotations

from sqlglot.dialects.dialect import Dialect

from penstock.cql.grammar.statements import StatementParser
from penstock.cql.grammar.tokens import CQLTokenizer


class CQL(Dialect):
    """The Continuous Query Language of Babu's thesis (chapter 2) with Penstock's statements."""

    Tokenizer = CQLTokenizer
    Parser = StatementParser


def parser() -> StatementParser:
    """A parser of CQL."""
    return StatementParser(dialect=CQL)
