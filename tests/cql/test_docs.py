"""docs/cql.md: each example binds, and each keyword, option and aggregate of the code is on the page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from penstock.cql import compile_script
from penstock.cql.binder.options import OPTIONS
from penstock.errors import PenstockError
from penstock.plan import aggregates
from penstock.plan.durations import UNITS

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "cql.md").read_text("utf-8")
EXAMPLES = re.findall(r"^```sql\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)


def test_the_examples_bind_one_after_the_other() -> None:
    network = compile_script(";\n".join(EXAMPLES), "docs/cql.md")
    assert len(EXAMPLES) >= 9
    assert len(network.queries) >= 25


@pytest.mark.parametrize("line", re.findall(r"^(.*;) +-- (\d: stream|\d: relation)", PAGE, re.MULTILINE), ids=str)
def test_stream_or_relation_is_what_the_page_says(line: tuple[str, str]) -> None:
    text = ";\n".join(EXAMPLES)
    end = text.index(line[0]) + len(line[0])
    network = compile_script(text[:end])
    assert network.queries[-1].root.kind.value == line[1].split(": ")[1]


def test_the_mistake_on_the_page_is_what_is_said() -> None:
    with pytest.raises(PenstockError) as caught:
        compile_script(
            "CREATE STREAM orders (a INT); CREATE STREAM bids (a INT);\n\nSELECT * FROM orders2 [Range 5 Minutes]",
            "app.cql",
        )
    assert f"```text\n{caught.value}\n```" in PAGE


@pytest.mark.parametrize("name", [*OPTIONS, *aggregates.RULES])
def test_every_option_and_aggregate_is_on_the_page(name: str) -> None:
    assert f"`{name}" in PAGE


@pytest.mark.parametrize("unit", [u for u in UNITS if u.endswith("s") and len(u) > 4])
def test_every_unit_is_on_the_page(unit: str) -> None:
    assert unit in PAGE
