"""What a node demands of a routing, and where the values that rows are routed by can be seen.

A routing sends every row of every leaf (a stream, a relation, the result of another fragment) to the lane that the
value of an expression over the row says. A *carrier* is such a value for all leaves under a node: for each leaf an
expression. A column of a node's result *carries* it where, for every row that can come to be, its value is the value by
which all source rows that the row was made from were routed. An operator with state works on many lanes if the routing
is one of those that it `Demand`s.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import Final

from penstock.plan.aggregates import properties
from penstock.plan.expressions import Call, Column, Expression, columns, conjuncts, substitute, walk
from penstock.plan.functions import can_raise
from penstock.plan.node import Node
from penstock.plan.nodes import (
    Aggregate,
    BSort,
    Delay,
    Distinct,
    DStream,
    Except,
    Filter,
    FilterPipeline,
    Intersect,
    IStream,
    Join,
    Map,
    Read,
    Resample,
    RStream,
    SemiJoin,
    Union,
    Window,
    WindowAggregate,
)
from penstock.plan.windows import Range, Rows, SlideRange, SlideRows, WindowSpec

Carrier = frozenset[tuple[Node, Expression]]
Carriers = Mapping[str, Carrier]
Demand = frozenset[Carrier] | None
"""The routings that will do; None: any; the empty set: none, everything on one lane."""
NONE: Final[frozenset[Carrier]] = frozenset()
_MOST_COMBINATIONS: Final = 16


def leaf_carriers(leaf: Node) -> Carriers:
    """Each column of a leaf carries itself."""
    return {f.name: frozenset({(leaf, Column(f.name, f.type))}) for f in leaf.schema}


def carriers(node: Node, inputs: Sequence[Carriers]) -> Carriers:
    """What the columns of `node` carry, given what those of its inputs do."""
    match node:
        case Map():
            return {n: c for n, e in node.outputs if (c := of_expression(e, inputs[0])) is not None}
        case Aggregate() | WindowAggregate():
            return {k: inputs[0][k] for k in node.keys if k in inputs[0]}
        case Union() | Except() | Intersect():
            return _by_position(node, inputs)
        case Join() | Read():
            return {name: c for c, names in _equated(node, inputs) for name in names}
        case SemiJoin() | FilterPipeline():
            return {name[2:]: c for c, names in _equated(node, inputs) for name in names if name.startswith("0.")}
    return {name: c for name, c in inputs[0].items() if name in node.schema}


def demand(node: Node, inputs: Sequence[Carriers]) -> Demand:
    """Which routings let `node` work on many lanes."""
    match node:
        case Filter() | Map() | Delay() | Union():
            return None
        case Window():
            return _of_window(node.spec, inputs[0])
        case Aggregate():
            return _among(node.keys, inputs[0])
        case WindowAggregate():
            groups, windows = _among(node.keys, inputs[0]), _of_window(node.window, inputs[0])
            return groups if windows is None else groups & windows
        case Distinct() | IStream() | DStream():
            return frozenset(inputs[0].values())
        case Except() | Intersect():
            return frozenset(_by_position(node, inputs).values())
        case Join() | Read() | FilterPipeline():
            return frozenset(c for c, _ in _equated(node, inputs))
        case SemiJoin():
            return NONE if node.null_aware else frozenset(c for c, _ in _equated(node, inputs))
        case RStream() | BSort() | Resample():
            return NONE
    raise TypeError(f"nothing is known of how {type(node).__name__} is spread over lanes")


def needs_order(node: Node) -> bool:
    """True for an aggregate that reads the places of its rows in a stream: routing its input anew would lose them."""
    return isinstance(node, Aggregate) and any(
        properties(a.function, a.distinct).order_sensitive for a in node.aggregates
    )


def of_expression(expression: Expression, seen: Carriers) -> Carrier | None:
    """The carrier that an expression over carrying columns is; None where there is none."""
    names = sorted(columns(expression))
    if not names or any(n not in seen for n in names) or can_raise(expression):
        return None
    by_leaf = [dict(seen[n]) for n in names]
    return frozenset((leaf, substitute(expression, {n: m[leaf] for n, m in zip(names, by_leaf, strict=True)}))
                     for leaf in by_leaf[0])  # fmt: skip


def joined(parts: Iterable[Carrier]) -> Carrier | None:
    """The carrier of all leaves of `parts`; None where a leaf would have to be routed by two values."""
    whole = frozenset(pair for part in parts for pair in part)
    return whole if len({leaf for leaf, _ in whole}) == len(whole) else None


def _of_window(spec: WindowSpec, seen: Carriers) -> Demand:
    match spec:
        case Range() | SlideRange():
            return None if spec.on is None else NONE
        case Rows(count=None):
            return None
        case Rows() | SlideRows():
            return _among(spec.by, seen)


def _among(names: Iterable[str], seen: Carriers) -> frozenset[Carrier]:
    return frozenset(seen[n] for n in names if n in seen)


def _by_position(node: Node, inputs: Sequence[Carriers]) -> Carriers:
    found = {}
    for i, name in enumerate(node.schema.names):
        names = [member.schema.names[i] for member in node.inputs]
        if all(n in seen for n, seen in zip(names, inputs, strict=True)):
            whole = joined(seen[n] for n, seen in zip(names, inputs, strict=True))
            if whole is not None:
                found[name] = whole
    return found


def _equated(
    node: Join | Read | SemiJoin | FilterPipeline, inputs: Sequence[Carriers]
) -> list[tuple[Carrier, list[str]]]:
    """The carriers that the predicate makes of equal expressions, one over each input, and the columns among these."""
    found = []
    for terms in _classes(node.predicate):
        sides = [[e for side, e in terms if side == i] for i in range(len(inputs))]
        for choice in list(product(*sides))[:_MOST_COMBINATIONS]:
            parts = [of_expression(e, seen) for e, seen in zip(choice, inputs, strict=True)]
            whole = joined(p for p in parts if p is not None) if all(parts) else None
            if whole is not None:
                found.append((whole, [f"{i}.{e.name}" for i, e in enumerate(choice) if isinstance(e, Column)]))
    return found


def _classes(predicate: Expression) -> list[list[tuple[int, Expression]]]:
    """The classes of expressions, each over one input, that the predicate makes equal; of one type, so that equal
    values have equal hashes."""
    classes: list[list[tuple[int, Expression]]] = []
    for part in conjuncts(predicate):
        pair = _sides(part)
        if pair is not None:
            touched = [c for c in classes if any(term in c for term in pair)]
            classes = [c for c in classes if c not in touched]
            classes.append(list(dict.fromkeys([t for c in touched for t in c] + pair)))
    return classes


def _sides(part: Expression) -> list[tuple[int, Expression]] | None:
    if not (isinstance(part, Call) and part.function == "=" and part.arguments[0].type == part.arguments[1].type):
        return None
    terms = [_one_sided(a) for a in part.arguments]
    return [t for t in terms if t is not None] if None not in terms else None


def _one_sided(expression: Expression) -> tuple[int, Expression] | None:
    """The input that the expression is over, and the expression as that input names its columns."""
    sides = {name.partition(".")[0] for name in columns(expression)}
    if len(sides) != 1:
        return None
    side = sides.pop()
    plain = {e.name: Column(e.name.partition(".")[2], e.type) for e in walk(expression) if isinstance(e, Column)}
    return int(side), substitute(expression, plain)
