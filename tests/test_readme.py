"""The README's Python runs as printed, and its CQL is what the example says."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_python_runs_as_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    failed, tried = doctest.testfile(str(ROOT / "README.md"), module_relative=False)
    assert tried > 5
    assert failed == 0


def test_the_first_query_is_the_example() -> None:
    example = (ROOT / "examples" / "first" / "packets.cql").read_text(encoding="utf-8")
    printed = README.split("```sql\n")[1].split("```")[0].strip()
    assert printed in example


def test_files_that_it_names_are_there() -> None:
    named = [part.split(")")[0] for part in README.split("](")[1:]]
    missing = [n for n in named if not n.startswith(("http", "#")) and not (ROOT / n).exists()]
    assert missing == []
