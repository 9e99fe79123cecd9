"""The house (one-way imports, short files, finished text) and the linters, as tests: a run of some tests skips them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests import house

ROOT = Path(__file__).resolve().parents[1]


def test_imports_go_one_way() -> None:
    assert house.wrong_imports(ROOT) == []


def test_files_stay_short() -> None:
    assert house.too_long(ROOT) == []


def test_nothing_unfinished_and_nobodys_machine() -> None:
    assert house.forbidden(ROOT) == []


def test_the_table_has_no_cycle() -> None:
    done: set[str] = set()
    while ready := {r for r, below in house.MAY_IMPORT.items() if r not in done and done.issuperset(below)}:
        done |= ready
    assert done == set(house.MAY_IMPORT)


@pytest.mark.parametrize(
    ("file", "source", "said"),
    [
        ("plan/node.py", "from penstock.operators import base", "plan imports operators"),
        ("plan/node.py", "import penstock.lane.queue as q", "plan imports lane"),
        ("plan/node.py", "from ..lane import queue", "plan imports lane"),
        ("plan/__init__.py", "from ..lane import queue", "plan imports lane"),
        ("plan/a/b.py", "from ...lane import queue", "plan imports lane"),
        ("plan/node.py", "from penstock import lane", "plan imports lane"),
        ("plan/node.py", "from penstock import App", "plan imports api"),
        ("plan/node.py", "def f():\n    from penstock.lane import queue", "plan imports lane"),
        ("plan/node.py", "import importlib\nimportlib.import_module('penstock.lane')", "plan imports lane"),
        ("plan/node.py", "if TYPE_CHECKING:\n    from penstock.lane import queue", "plan imports lane"),
        ("errors.py", "from penstock.settings import Settings", "errors imports settings"),
        ("operators/join.py", "from penstock.cql import parse", "operators imports cql"),
        ("stats/counters.py", "from penstock.lane import queue", "stats imports lane"),
        ("adapt/greedy.py", "from penstock.shed import road_map", "adapt imports shed"),
        ("shed/road_map.py", "from penstock.cluster import lp", "shed imports cluster"),
        ("cluster/lp.py", "from penstock.control import loop", "cluster imports control"),
        ("lane/run.py", "from penstock.adapt import greedy", "lane imports adapt"),
        ("control/loop.py", "from penstock.spark import gate", "control imports spark"),
        ("spark/gate.py", "from penstock.console import live", "spark imports console"),
        ("lane/run.py", "import pyspark.sql", "lane imports pyspark"),
        ("console/cli.py", "def f():\n    import pyspark", "console imports pyspark"),
        ("console/cli.py", "from penstock.spark import run", "console imports spark when it is loaded"),
        ("testing.py", "import penstock.spark", "testing imports spark when it is loaded"),
        ("lane/run.py", "from benchmarks import lane", "lane imports benchmarks"),
        ("lane/run.py", "from tests.law import networks", "lane imports tests"),
        ("attic/old.py", "import os", "penstock/attic is no room"),
    ],
)
def test_a_wrong_import_is_found(tmp_path: Path, file: str, source: str, said: str) -> None:
    _write(tmp_path, file, source)
    (found,) = house.wrong_imports(tmp_path)
    assert found.startswith(f"penstock/{file}:")
    assert said in found


@pytest.mark.parametrize(
    ("file", "source"),
    [
        ("lane/run.py", "from penstock import plan\nfrom penstock.stats.counters import Counter"),
        ("lane/run.py", "from . import queue\nfrom .queue import Queue\nimport penstock.lane.stub"),
        ("control/loop.py", "from penstock.adapt import greedy\nfrom penstock.shed import road_map"),
        ("spark/gate.py", "import pyspark\nfrom penstock.control import loop"),
        ("testing.py", "def evaluate():\n    from penstock.spark import run"),
        ("console/cli.py", "import penstock\nimport rich\ndef bench():\n    import benchmarks.lane"),
        ("__init__.py", "from penstock.app import App"),
    ],
)
def test_a_right_import_passes(tmp_path: Path, file: str, source: str) -> None:
    _write(tmp_path, file, source)
    assert house.wrong_imports(tmp_path) == []


def test_a_long_file_is_found(tmp_path: Path) -> None:
    _write(tmp_path, "plan/long.py", "x = 1\n" * house.MAX_LINES)
    assert house.too_long(tmp_path) == []
    _write(tmp_path, "plan/long.py", "x = 1\n" * (house.MAX_LINES + 1))
    assert house.too_long(tmp_path) == ["penstock/plan/long.py: 401 lines"]


@pytest.mark.parametrize(
    "text",
    ["# TO" + "DO: later", "raise NotImplemented" + "Error", "<" * 7 + " HEAD", "open('/wo" + "rk/x')", "/ro" + "ot/y"],
)
def test_a_forbidden_mark_is_found(tmp_path: Path, text: str) -> None:
    _write(tmp_path, "plan/node.py", f"# fine, and so is https://example.org/work/x\n{text}/\n")
    (found,) = house.forbidden(tmp_path)
    assert found.startswith("penstock/plan/node.py:2: ")


def _write(root: Path, file: str, source: str) -> None:
    path = root / "penstock" / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(source, encoding="utf-8")


@pytest.mark.parametrize("tool", [("ruff", "check"), ("mypy",)], ids=lambda tool: tool[0])
def test_the_linters_are_content(tool: tuple[str, ...]) -> None:
    run = subprocess.run([sys.executable, "-m", *tool], cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
