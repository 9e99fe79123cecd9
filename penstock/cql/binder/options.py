"""The options of CREATE QUERY ... WITH (...): their names, and the form of their values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from penstock.cql.binder.problems import Problems
from penstock.cql.grammar.syntax import ConnectorClause, Option
from penstock.errors import Diagnostic, PenstockError, unknown
from penstock.plan.connectors import SINKS, SOURCES, missing_path, unknown_format, unknown_options
from penstock.plan.durations import parse_duration
from penstock.plan.network import Connector, Options

Value = str | int | float | bool
Check = Callable[[Value], str | None]


def _number(value: Value) -> float | None:
    if isinstance(value, bool):
        return None
    try:
        return float(value)
    except ValueError:
        return None


def _duration(value: Value) -> str | None:
    try:
        longer = not isinstance(value, bool | float) and parse_duration(str(value)) > 0
    except PenstockError:
        longer = False
    return None if longer else "a duration above 0, such as '2 seconds'"


def _share(value: Value) -> str | None:
    number = _number(value)
    return None if number is not None and 0 < number < 1 else "a number between 0 and 1, such as 0.95"


def _positive(value: Value) -> str | None:
    number = _number(value)
    return None if number is not None and 0 < number < float("inf") else "a number above 0, such as 0.05"


def _gap(value: Value) -> str | None:
    number = _number(value)
    if number is not None:
        return None if number >= 0 and number.is_integer() else "a whole number of results, or a duration"
    return (
        None if _duration(value) is None else "a whole number of results such as 10, or a duration such as '1 minute'"
    )


def _answer(value: Value) -> str | None:
    return None if isinstance(value, str) and value.lower() in ("subset", "estimate") else "'subset' or 'estimate'"


def _on_error(value: Value) -> str | None:
    return None if isinstance(value, str) and value.lower() in ("set_aside", "stop") else "'set_aside' or 'stop'"


def _graph(example: str) -> Check:
    """The form that `penstock.shed` reads in detail; here it must be a text that has a colon or an equals sign."""
    return lambda value: (
        None if isinstance(value, str) and any(c in value for c in ":=") else f"a text such as {example}"
    )


OPTIONS: Final[dict[str, Check]] = {
    "delay": _duration,
    "latency": _graph("'1 second: 1.0, 10 seconds: 0'"),
    "loss": _graph("'100: 1.0, 50: 0.7, 0: 0'"),
    "value": _graph("\"src: '10.0.0.1' = 1.0, else = 0.2\""),
    "max_gap": _gap,
    "answer": _answer,
    "confidence": _share,
    "max_error": _positive,
    "on_error": _on_error,
}
"""Each option's name, and what is said of a value that it does not take (None: it takes it)."""


def wrong_option(name: str, value: Value) -> Diagnostic | None:
    """What is to be said of an option of a query; None where nothing is.

    >>> wrong_option("dely", "2 seconds").help, wrong_option("delay", "soon").message
    ("did you mean 'delay'?", "option 'delay' cannot be 'soon'")
    """
    if name.lower() not in OPTIONS:
        return unknown("option", name, list(OPTIONS))
    wanted = OPTIONS[name.lower()](value)
    return None if wanted is None else Diagnostic(f"option '{name}' cannot be {value!r}", help=wanted)


def query_options(options: tuple[Option, ...], problems: Problems) -> Options:
    """`options` as the plan keeps them; what is wrong with them is reported."""
    kept: dict[str, Value] = {}
    for option in options:
        wrong = wrong_option(option.key, option.value)
        if wrong is not None:
            place = option.span if option.key.lower() in OPTIONS else option.key_span
            problems.add(replace(wrong, span=place))
        elif option.key.lower() in kept:
            problems.report(f"option '{option.key}' is given twice", option.key_span)
        else:
            kept[option.key.lower()] = option.value
    return tuple(kept.items())


def checked_options(given: Mapping[str, Value]) -> Options:
    """The options of a query that Python registers; raises PenstockError."""
    wrong = [found for name, value in given.items() if (found := wrong_option(name, value)) is not None]
    if wrong:
        raise PenstockError(*wrong)
    return tuple((name.lower(), value) for name, value in given.items())


def checked_connector(format: str, options: Mapping[str, Value], *, written: bool) -> Connector:
    """A source, or a sink (`written`), that Python registers; raises PenstockError."""
    misspelt = unknown_format(format, written=written)
    wrong = [*([misspelt] if misspelt is not None else []),
             *unknown_options("option", format, SINKS if written else SOURCES, options)]  # fmt: skip
    missing = missing_path(format, options, written=written) if not wrong else None
    if wrong or missing is not None:
        raise PenstockError(*wrong, *([missing] if missing is not None else []))
    return Connector(format.lower(), tuple(options.items()))


def connector_options(clause: ConnectorClause, problems: Problems, *, written: bool) -> Options:
    """The options of a source, or of a sink (`written`). What is misspelt is not said to be missing, too."""
    before = len(problems.said)
    kept: dict[str, Value] = {}
    for option in clause.options:
        if option.key.lower() in {k.lower() for k in kept}:
            problems.report(f"option '{option.key}' is given twice", option.key_span)
        kept[option.key] = option.value
        for found in unknown_options("option", clause.format.text, SINKS if written else SOURCES, [option.key]):
            problems.add(replace(found, span=option.key_span))
    if (misspelt := unknown_format(clause.format.text, written=written)) is not None:
        problems.add(replace(misspelt, span=clause.format.span))
    missing = missing_path(clause.format.text, kept, written=written) if len(problems.said) == before else None
    if missing is not None:
        problems.add(replace(missing, span=clause.format.span))
    return tuple(kept.items())
