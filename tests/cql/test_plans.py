"""Queries and their plans, from plans.txt: a query after `>`, then its kind and columns, then the plan's nodes,
inputs below and indented.

`python -m tests.cql.test_plans` writes the file anew; whoever runs it reads the difference.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cql.outline import outline, planned

FILE = Path(__file__).with_name("plans.txt")


def _blocks() -> list[tuple[str, str]]:
    blocks = [b.strip().split("\n", 1) for b in FILE.read_text("utf-8").split("\n\n") if b.strip()]
    return [(b[0].removeprefix("> "), b[1] if len(b) > 1 else "") for b in blocks]


def _shown(query: str) -> str:
    node = planned(query)
    columns = ", ".join(f"{f.name} {f.type}" for f in node.schema)
    return f"{node.kind.value} ({columns})\n{outline(query)}"


@pytest.mark.parametrize(("query", "plan"), _blocks(), ids=lambda part: part.split("\n")[0])
def test_plan(query: str, plan: str) -> None:
    assert _shown(query) == plan


if __name__ == "__main__":
    FILE.write_text("\n\n".join(f"> {q}\n{_shown(q)}" for q, _ in _blocks()) + "\n", "utf-8")
