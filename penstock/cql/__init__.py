"""CQL: Babu's Continuous Query Language (chapter 2), from text to plan nodes."""

from penstock.cql.binder.options import checked_connector, checked_options
from penstock.cql.binder.streams import boundaries
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
    "boundaries",
    "checked_connector",
    "checked_options",
    "compile_script",
    "parse_aggregate",
    "parse_condition",
    "parse_duration",
    "parse_expression",
    "parse_window",
]
