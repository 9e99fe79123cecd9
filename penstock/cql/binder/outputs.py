"""The select list: which columns come out, what they are called, and the projection that makes them."""

from __future__ import annotations

from penstock.cql.binder.expressions import ExpressionBinder
from penstock.cql.binder.problems import Problems
from penstock.cql.binder.scopes import Entry, Scope
from penstock.cql.grammar.syntax import Output, Star
from penstock.errors import Span, suggestion
from penstock.plan.expressions import Column, Expression
from penstock.plan.node import Node
from penstock.plan.nodes import Map

Columns = list[tuple[str, Expression]]


def bind_outputs(outputs: tuple[Output, ...], expressions: ExpressionBinder) -> Columns | None:
    """Names and expressions of the select list; None where one of them is wrong."""
    found: list[tuple[str, Expression | None, Span]] = []
    for output in outputs:
        if isinstance(output.value, Star):
            found += _starred(output.value, expressions.scope)
        else:
            found.append((output_name(output), expressions.bind(output.value), output.span))
    unique = _check_unique(found, expressions.problems)
    columns = [(name, e) for name, e, _ in found if e is not None]
    broken = any(entry.fields is None for entry in expressions.scope.entries)
    return columns if unique and len(columns) == len(found) and not broken else None


def output_name(output: Output) -> str:
    """The alias, else the last part of a column's name, else the text of the expression."""
    return output.alias.text if output.alias else output.label


def project(node: Node, columns: Columns) -> Node:
    """`node` with exactly these columns; `node` itself where it has them already."""
    same = len(columns) == len(node.schema) and all(
        isinstance(e, Column) and (name, e.name) == (f.name, f.name)
        for (name, e), f in zip(columns, node.schema, strict=False)
    )
    return node if same else Map(node, tuple(columns))


def _starred(star: Star, scope: Scope) -> list[tuple[str, Expression | None, Span]]:
    """All columns, of one entry or of all; a name that several entries have is qualified: `S.a`, `T.a`."""
    entries = _asked(star, scope)
    if entries is None:
        return [("*", None, star.span)]
    names = [name.lower() for entry in scope.entries for name, _ in entry.columns()]
    return [
        (
            f"{entry.alias}.{name}"
            if star.qualifier is None and entry.alias and names.count(name.lower()) > 1
            else name,
            column,
            star.span,
        )
        for entry in entries
        for name, column in entry.columns()
    ]


def _asked(star: Star, scope: Scope) -> list[Entry] | None:
    if star.qualifier is None:
        return scope.entries
    entry = scope.entry(star.qualifier.text)
    if entry is None:
        known = [e.alias for e in scope.entries if e.alias]
        notes = (f"known: {', '.join(known) or 'none'}",)
        scope.problems.report(
            f"unknown name '{star.qualifier.text}'", star.qualifier.span, notes, suggestion(star.qualifier.text, known)
        )
        return None
    return [entry]


def _check_unique(found: list[tuple[str, Expression | None, Span]], problems: Problems) -> bool:
    seen: set[str] = set()
    before = len(problems.said)
    for name, _, span in found:
        if name.lower() in seen and name != "*":
            problems.report(f"column name '{name}' occurs twice", span, help="rename one with AS")
        seen.add(name.lower())
    return len(problems.said) == before
