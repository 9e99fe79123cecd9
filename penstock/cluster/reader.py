"""A topology from a YAML file, with every mistake placed in its text.

nodes:
  A: {capacity: 1.0}
inputs:
  r1: {node: A}                # or nothing: it arrives where its first reader runs
operators:
  f: {node: A, cost: 0.002, selectivity: 0.5, from: r1}
  u: {node: A, cost: 0.001, from: [f, r1]}
queries:                       # optional: operators that nobody reads are query ends of weight 1
  heavy: {from: u, weight: 2.0, loss: "100: 1.0, 50: 0.7, 0: 0"}
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import yaml

from penstock.cluster.checks import Path as Route
from penstock.cluster.checks import checked
from penstock.cluster.loss import LossFunction
from penstock.cluster.topology import Input, Node, Operator, Query, Topology
from penstock.errors import Diagnostic, PenstockError, Span, unknown

SECTIONS = ("nodes", "inputs", "operators", "queries")
T = TypeVar("T")


def read_topology(path: str | Path) -> Topology:
    """The topology described in a file."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        raise PenstockError(Diagnostic(f"cannot read {path}: {problem}")) from None
    return parse_topology(text, str(path))


def parse_topology(text: str, source: str = "<topology>") -> Topology:
    """The topology described by `text`.

    >>> parse_topology("nodes: {A: 1.0}\\ninputs: {r: }\\noperators: {f: {node: A, cost: 2, from: r}}").operators
    (Operator(name='f', node='A', cost=2.0, selectivity=1.0, inputs=('r',)),)
    """
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
        parts = _sections(root)
        topology = Topology(
            tuple(_node(e) for e in _entries(parts.get("nodes"), "nodes")),
            tuple(_input(e) for e in _entries(parts.get("inputs"), "inputs")),
            tuple(_operator(e) for e in _entries(parts.get("operators"), "operators")),
            tuple(_query(e) for e in _entries(parts.get("queries"), "queries")),
        )
    except (yaml.YAMLError, RecursionError) as problem:
        raise PenstockError(_not_yaml(problem), text=text, source=source) from None
    except PenstockError as problem:
        raise problem.located(text, source) from None
    return checked(topology, lambda route: _place(root, route), text, source)


def _not_yaml(problem: Exception) -> Diagnostic:
    """What the parser said, and where."""
    if isinstance(problem, yaml.MarkedYAMLError):
        mark = problem.problem_mark
        return Diagnostic(f"not YAML: {problem.problem}", None if mark is None else Span(mark.index, mark.index + 1))
    if isinstance(problem, yaml.reader.ReaderError):
        span = Span(problem.position, problem.position + 1)
        return Diagnostic(f"not YAML: the character U+{problem.character:04X}", span)
    return Diagnostic("not YAML that can be read: it is nested too deeply")


@dataclass(frozen=True, slots=True)
class _Entry:
    """One named thing: where its name stands, and its fields with their values."""

    name: str
    at: yaml.Node
    value: yaml.Node
    fields: dict[str, yaml.Node]


def _sections(root: yaml.Node | None) -> dict[str, yaml.Node]:
    if root is None:
        raise PenstockError(Diagnostic("the description is empty", help="it needs nodes, inputs and operators"))
    return _mapping(root, "the description", SECTIONS, "section")


def _mapping(node: yaml.Node, what: str, known: Sequence[str] | None, kind: str) -> dict[str, yaml.Node]:
    """The keys and values of a mapping; a key that is unknown or comes twice is refused."""
    if not isinstance(node, yaml.MappingNode):
        raise _wrong(f"{what} must be a mapping of names", node, "write it as `name: value` lines")
    found: dict[str, yaml.Node] = {}
    for key, value in node.value:
        if not isinstance(key, yaml.ScalarNode):
            raise _wrong(f"a name in {what} must be plain text", key)
        if known is not None and key.value not in known:
            raise PenstockError(unknown(kind, key.value, known, _span(key)))
        if key.value in found:
            raise _wrong(f"'{key.value}' comes twice in {what}", key, "merge the two, or rename one")
        found[key.value] = value
    return found


def _entries(section: yaml.Node | None, name: str) -> list[_Entry]:
    """The named things of a section; a missing or empty section has none."""
    if section is None or _empty(section):
        return []
    _mapping(section, f"`{name}`", None, "name")
    fields = {"nodes": ("capacity",), "inputs": ("node",), "operators": ("node", "cost", "selectivity", "from"),
              "queries": ("from", "weight", "loss")}[name]  # fmt: skip
    kind = f"field of {name}"
    return [
        _Entry(key.value, key, value, _mapping(value, f"'{key.value}'", fields, kind) if _nested(value) else {})
        for key, value in section.value
    ]


def _nested(value: yaml.Node) -> bool:
    return not isinstance(value, yaml.ScalarNode)


def _empty(value: yaml.Node) -> bool:
    return isinstance(value, yaml.ScalarNode) and value.tag == "tag:yaml.org,2002:null"


def _node(entry: _Entry) -> Node:
    value = entry.fields.get("capacity") if _nested(entry.value) else entry.value
    if value is None or _empty(value):
        raise _wrong(f"node '{entry.name}' has no capacity", entry.at, f"write `{entry.name}: {{capacity: 1.0}}`")
    return Node(entry.name, _number(value, f"capacity of node '{entry.name}'"))


def _input(entry: _Entry) -> Input:
    node = entry.fields.get("node") if _nested(entry.value) else None if _empty(entry.value) else entry.value
    return Input(entry.name, None if node is None else _text(node, f"node of input '{entry.name}'"))


def _operator(entry: _Entry) -> Operator:
    what = f"operator '{entry.name}'"
    node, cost, reads = (_field(entry, name, what) for name in ("node", "cost", "from"))
    selectivity = entry.fields.get("selectivity")
    return Operator(
        entry.name,
        _text(node, f"node of {what}"),
        _number(cost, f"cost of {what}"),
        1.0 if selectivity is None else _number(selectivity, f"selectivity of {what}"),
        _texts(reads, f"`from` of {what}"),
    )


def _query(entry: _Entry) -> Query:
    what = f"query '{entry.name}'"
    source = _field(entry, "from", what) if _nested(entry.value) else entry.value
    weight, loss = entry.fields.get("weight"), entry.fields.get("loss")
    return Query(
        entry.name,
        _text(source, f"`from` of {what}"),
        1.0 if weight is None else _number(weight, f"weight of {what}"),
        None if loss is None else _loss(loss, what),
    )


def _loss(node: yaml.Node, what: str) -> LossFunction:
    try:
        return LossFunction.parse(_text(node, f"loss of {what}"))
    except PenstockError as problem:
        found = problem.diagnostics[0]
        raise PenstockError(Diagnostic(f"{what}: {found.message}", _span(node), help=found.help)) from None


def _field(entry: _Entry, name: str, what: str) -> yaml.Node:
    if name not in entry.fields:
        raise _wrong(f"{what} has no `{name}`", entry.at, f"add `{name}:` to it")
    return entry.fields[name]


def _number(node: yaml.Node, what: str) -> float:
    try:
        return float(_text(node, what))
    except ValueError:
        raise _wrong(f"{what} is not a number", node) from None


def _text(node: yaml.Node, what: str) -> str:
    if not isinstance(node, yaml.ScalarNode) or _empty(node):
        raise _wrong(f"{what} must be a single value", node)
    return str(node.value)


def _texts(node: yaml.Node, what: str) -> tuple[str, ...]:
    if isinstance(node, yaml.SequenceNode):
        return tuple(_text(item, what) for item in node.value)
    return (_text(node, what),)


def _span(node: yaml.Node) -> Span:
    return Span(node.start_mark.index, max(node.end_mark.index, node.start_mark.index + 1))


def _wrong(message: str, node: yaml.Node, help: str | None = None) -> PenstockError:
    return PenstockError(Diagnostic(message, _span(node), help=help))


def _place(root: yaml.Node | None, route: Route) -> Span | None:
    """Where the part of the description at `route` stands; the nearest part above it where it has no text of its
    own.
    """
    place = None
    for step in route:
        if isinstance(root, yaml.MappingNode):
            pair = next(((k, v) for k, v in reversed(root.value) if k.value == step), None)
            if pair is None:
                break
            place, root = _span(pair[0]), pair[1]
        elif isinstance(root, yaml.SequenceNode) and isinstance(step, int):
            root = root.value[step]
            place = _span(root)
    return _span(root) if isinstance(root, yaml.ScalarNode) and len(route) > 2 and not _empty(root) else place
