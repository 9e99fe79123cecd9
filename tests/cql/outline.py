"""A plan as lines of text, one a node, inputs below it and indented."""

from __future__ import annotations

from penstock.cql import compile_script
from penstock.plan.node import Node
from tests.cql.corpus import DECLARED


def planned(query: str, declared: str = DECLARED) -> Node:
    """The plan of the last query of a script."""
    return compile_script(declared + query).queries[-1].root


def outline(query: str, declared: str = DECLARED) -> str:
    """The plan of the last query of a script, as text."""
    return "\n".join(_lines(planned(query, declared), 0))


def _lines(node: Node, depth: int) -> list[str]:
    return [f"{'  ' * depth}{node.label}", *(line for i in node.inputs for line in _lines(i, depth + 1))]
