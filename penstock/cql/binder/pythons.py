"""CREATE FUNCTION name FROM python OPTIONS (file = 'f.py'): runs the file, which registers the function with its
decorator."""

from __future__ import annotations

import runpy
from pathlib import Path

from penstock.cql.binder.problems import Problems
from penstock.cql.grammar.syntax import CreateFunction, Option
from penstock.errors import PenstockError
from penstock.plan import functions


def load_function(statement: CreateFunction, folder: Path, problems: Problems) -> None:
    """Registers the function or aggregate that `statement` names."""
    if statement.source.format.text.lower() != "python":
        problems.report(
            f"functions come from python, not from {statement.source.format.text}", statement.source.format.span
        )
        return
    option = _file(statement, problems)
    if option is not None and _run(folder / str(option.value), option, problems):
        _check_registered(statement, option, problems)


def _file(statement: CreateFunction, problems: Problems) -> Option | None:
    for option in statement.source.options:
        if option.key.lower() != "file":
            problems.report(f"unknown option '{option.key}'", option.key_span, ("known: file",))
            return None
    if not statement.source.options:
        problems.report(
            "where is this function?", statement.name.span, help="FROM python OPTIONS (file = 'functions.py')"
        )
        return None
    return statement.source.options[0]


def _run(path: Path, option: Option, problems: Problems) -> bool:
    if not path.is_file():
        problems.report(
            f"there is no file {option.value}", option.span, help="its place counts from the script's folder"
        )
        return False
    try:
        runpy.run_path(str(path))
    except PenstockError as error:
        problems.report(f"{option.value}: {error}", option.span)
        return False
    except (Exception, SystemExit) as error:
        problems.report(
            f"{option.value} fails: {type(error).__name__}: {error}",
            option.span,
            help="it is run once, to register what it defines",
        )
        return False
    return True


def _check_registered(statement: CreateFunction, option: Option, problems: Problems) -> None:
    name = statement.name.text.lower()
    registry = functions.user_functions
    if name not in registry.functions and name not in registry.aggregates:
        known = sorted({*registry.functions, *registry.aggregates})
        problems.report(
            f"{option.value} registers no function '{name}'",
            statement.name.span,
            (f"known: {', '.join(known) or 'none'}",),
            "put @penstock.function(returns=...) or @penstock.aggregate on it",
        )
