"""CQL: Babu's Continuous Query Language (chapter 2), from text to plan nodes."""

from penstock.cql.compile import compile_script
from penstock.cql.pieces import (
    ParsedAggregate,
    parse_aggregate,
    parse_condition,
    parse_duration,
    parse_expression,
    parse_window,
)

__all__ = [
    "ParsedAggregate",
    "compile_script",
    "parse_aggregate",
    "parse_condition",
    "parse_duration",
    "parse_expression",
    "parse_window",
]
