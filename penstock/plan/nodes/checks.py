"""What nodes refuse, and the schemas that several of them have in common."""

from __future__ import annotations

from penstock.errors import Diagnostic, PenstockError
from penstock.plan.expressions import Expression, columns, format_expression
from penstock.plan.node import Kind, Node
from penstock.plan.schema import Schema
from penstock.plan.types import NULL, TIMESTAMP, Type
from penstock.plan.windows import Range, Rows, SlideRange, Sliding, WindowSpec


def combined(members: tuple[Node, ...]) -> Schema:
    """The columns of several inputs side by side, named `i.x`."""
    return Schema.of((f"{i}.{f.name}", f.type) for i, m in enumerate(members) for f in m.schema)


def bounded(schema: Schema, stream: Node, spec: WindowSpec) -> Schema:
    """`schema` and the bounds of the window."""
    t = stream.schema.type_of(spec.on) if isinstance(spec, SlideRange) and spec.on else TIMESTAMP
    return Schema.of([*((f.name, f.type) for f in schema), ("window_start", t), ("window_end", t)])


def check_window(stream: Node, spec: WindowSpec) -> None:
    """Refuses a window over a relation, over a column that cannot bear one, or with an impossible size."""
    if stream.kind is Kind.RELATION:
        message = f"a window needs a stream, and this is a relation: {stream.label}"
        raise PenstockError(Diagnostic(message, help="take the window away, or put Istream around the relation"))
    if isinstance(spec, Rows) and spec.count is not None and spec.count <= 0:
        raise PenstockError("a window of rows needs at least one row")
    if isinstance(spec, Range) and spec.size is not None and spec.size < 0:
        raise PenstockError("a window's size cannot be negative")
    if isinstance(spec, Sliding) and min(spec.slide, spec.size if isinstance(spec, SlideRange) else spec.count) <= 0:
        raise PenstockError("a sliding window's size and slide must be positive")
    for name in spec.by if not isinstance(spec, Range | SlideRange) else (spec.on,) if spec.on else ():
        t = stream.schema.type_of(name)
        if isinstance(spec, Range | SlideRange) and not t.ordered_numeric:
            raise PenstockError(
                Diagnostic(f"a window cannot run over '{name}', a {t}", help="it needs a number, a timestamp or a date")
            )


def check_expression(expression: Expression, schema: Schema, wanted: Type | None = None) -> None:
    for name in columns(expression):
        schema.index(name)
    if wanted is not None and expression.type not in (wanted, NULL):
        raise PenstockError(f"'{format_expression(expression)}' is {expression.type}, and {wanted} is needed")


def check_stream(node: Node, what: str) -> None:
    if node.kind is not Kind.STREAM:
        raise PenstockError(
            Diagnostic(f"{what} needs a stream, and this is a relation: {node.label}", help="put Istream around it")
        )


def check_relations(nodes: tuple[Node, ...], what: str) -> None:
    for node in nodes:
        if node.kind is not Kind.RELATION:
            raise PenstockError(
                Diagnostic(f"{what} needs a relation, and this is a stream: {node.label}", help="give it a window")
            )


def check_aligned(nodes: tuple[Node, ...], what: str) -> None:
    first = nodes[0]
    for other in nodes[1:]:
        if other.kind is not first.kind:
            raise PenstockError(Diagnostic(f"{what} of a stream and a relation", help="give the stream a window"))
        if other.schema.types != first.schema.types:
            shown = [", ".join(map(str, n.schema.types)) for n in (first, other)]
            raise PenstockError(Diagnostic(f"{what} of rows of different types", notes=tuple(f"({s})" for s in shown)))
