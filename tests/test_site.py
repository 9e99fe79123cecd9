"""The documentation builds as a site, and nothing in it points nowhere."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def test_the_site_builds_strictly(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path / "site")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    front = (tmp_path / "site" / "index.html").read_text("utf-8")
    pages = [p.relative_to(ROOT / "docs").with_suffix("") for p in (ROOT / "docs").rglob("*.md")]
    assert [str(p) for p in pages if p.name != "index" and f'href="{p}/"' not in front] == []
    assert "evaluate" in (tmp_path / "site" / "api" / "index.html").read_text("utf-8")

