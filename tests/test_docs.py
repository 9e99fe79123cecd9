"""Pages that name files: the files are there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted((ROOT / "docs" / "papers").glob("*.md"))


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.stem)
def test_named_modules_and_tests_exist(page: Path) -> None:
    named = set(re.findall(r"`((?:penstock|tests|benchmarks|examples|docs)/[\w./-]+\.\w+)`", page.read_text("utf-8")))
    missing = sorted(n for n in named if not (ROOT / n).exists())
    assert missing == []
