"""What every node of a query network has: inputs, a schema, and whether it is a stream or a relation."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields, replace
from enum import Enum
from typing import Any, Self

from penstock.plan.schema import Schema


class Kind(Enum):
    """Babu 2.1.1: a stream only gains elements, a relation changes by `+` and `-`."""

    STREAM = "stream"
    RELATION = "relation"


@dataclass(frozen=True, slots=True)
class Node:
    """One operator of the network, without its state. `schema` follows from the other fields: `_derive` says how, and
    refuses nonsense."""

    schema: Schema = field(init=False, compare=False, repr=False)
    _hash: int = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "schema", self._derive())
        parts = tuple(getattr(self, f.name) for f in fields(self) if f.compare)
        object.__setattr__(self, "_hash", hash((type(self).__name__, parts)))

    def _derive(self) -> Schema:
        raise TypeError(f"{type(self).__name__} has no schema rule")

    def __init_subclass__(cls) -> None:
        """Keeps the hash that is worked out once: a dataclass would write one that walks the whole plan."""
        cls.__hash__ = Node.__hash__  # type: ignore[method-assign]

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple[Any, ...]:
        """Made anew from its fields where it is read: a hash holds in one process."""
        return _made, (type(self), {f.name: getattr(self, f.name) for f in fields(self) if f.init})

    @property
    def inputs(self) -> tuple[Node, ...]:
        """The nodes this one reads, in order."""
        return ()

    @property
    def kind(self) -> Kind:
        """Stream or relation."""
        return self.inputs[0].kind

    def with_inputs(self, inputs: tuple[Node, ...]) -> Self:
        """This node over other inputs."""
        return self if not inputs else replace(self, **self._named_inputs(inputs))

    def _named_inputs(self, inputs: tuple[Node, ...]) -> dict[str, Any]:
        return {"input": inputs[0]}

    @property
    def label(self) -> str:
        """What the node does, on one line."""
        return type(self).__name__


def _made(kind: type[Node], values: dict[str, Any]) -> Node:
    return kind(**values)


def walk(*roots: Node) -> Iterator[Node]:
    """Every distinct node under `roots`, inputs before their consumers."""
    seen: set[Node] = set()
    stack = [(r, False) for r in reversed(roots)]
    while stack:
        node, expanded = stack.pop()
        if node in seen:
            continue
        if expanded:
            seen.add(node)
            yield node
        else:
            stack.append((node, True))
            stack.extend((i, False) for i in reversed(node.inputs))


def rewrite(root: Node, rule: Callable[[Node], Node]) -> Node:
    """`root` with `rule` applied to every node once, inputs first; shared parts stay shared."""
    done: dict[Node, Node] = {}
    for node in walk(root):
        inputs = tuple(done[i] for i in node.inputs)
        changed = any(a is not b for a, b in zip(inputs, node.inputs, strict=True))
        done[node] = rule(node.with_inputs(inputs) if changed else node)
    return done[root]
