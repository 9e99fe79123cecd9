"""What is shipped: the wheel, the locks, the notices. Nothing here needs a network."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
LOCKS = ("core", "dev", "spark")


def wanted(lock: str) -> list[Requirement]:
    """What pyproject.toml asks the lock to hold."""
    project, groups = PROJECT["project"], PROJECT["dependency-groups"]
    listed = {
        "core": project["dependencies"] + groups["build"],
        "dev": groups["dev"],
        "spark": project["optional-dependencies"]["spark"],
    }
    return [Requirement(line) for line in listed[lock]]


def locked(lock: str) -> dict[str, str]:
    """Package to version."""
    return dict(re.findall(r"^([a-z0-9-]+)==([^\s;]+)", _text(lock), re.MULTILINE))


def _text(lock: str) -> str:
    return (ROOT / "locks" / f"{lock}.txt").read_text("utf-8")


@pytest.mark.parametrize("lock", LOCKS)
def test_the_lock_holds_what_the_project_asks_for(lock: str) -> None:
    have = locked(lock)
    for requirement in wanted(lock):
        version = have.get(canonicalize_name(requirement.name))
        assert version is not None, f"{requirement.name}: run locks/update"
        assert requirement.specifier.contains(version), f"{requirement} is locked at {version}: run locks/update"


@pytest.mark.parametrize("lock", LOCKS)
def test_the_lock_pins_by_hash_and_names_no_place(lock: str) -> None:
    entries = re.split(r"\n(?=[a-z0-9])", _text(lock).split("\n#", 1)[0].strip())
    assert len(entries) == len(locked(lock)) > 0
    for entry in entries:
        assert re.search(r"--hash=sha256:[0-9a-f]{64}\b", entry), entry
    assert not re.search(r"://|@ |--(?:extra-)?index|--find-links|(?:^|\s)/|\.\./", _text(lock))


def test_the_locks_agree() -> None:
    core, dev, spark = (locked(lock) for lock in LOCKS)
    assert not core.keys() & (dev.keys() | spark.keys())
    assert {name: dev[name] for name in dev.keys() & spark.keys()} == {
        name: spark[name] for name in dev.keys() & spark.keys()
    }


@pytest.mark.parametrize("lock", LOCKS)
def test_the_notices_name_every_dependency(lock: str) -> None:
    notices = (ROOT / "THIRD_PARTY_NOTICES.md").read_text("utf-8")
    assert [r.name for r in wanted(lock) if f"| {r.name} |" not in notices] == []


def test_the_changelog_has_this_version() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text("utf-8")
    assert f"## {PROJECT['project']['version']}" in changelog


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from a copy: a build leaves nothing in the checkout."""
    source, target = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    for name in ("pyproject.toml", "README.md", "LICENSE", "THIRD_PARTY_NOTICES.md"):
        shutil.copy(ROOT / name, source)
    for folder in ("penstock", "tests"):
        shutil.copytree(ROOT / folder, source / folder, ignore=shutil.ignore_patterns("__pycache__"))
    build = "import sys; from hatchling.build import build_wheel; print(build_wheel(sys.argv[1]))"
    run = subprocess.run([sys.executable, "-c", build, target], cwd=source, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return target / run.stdout.splitlines()[-1]


def test_the_wheel_holds_the_package_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        inside = set(archive.namelist())
    modules = {str(p.relative_to(ROOT)) for p in (ROOT / "penstock").rglob("*.py")}
    assert modules | {"penstock/py.typed"} <= inside
    assert {name.split("/")[0] for name in inside} == {"penstock", wheel.name.rsplit("-", 3)[0] + ".dist-info"}


def test_the_wheel_says_what_it_is(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        folder = wheel.name.rsplit("-", 3)[0] + ".dist-info"
        metadata = Parser().parsestr(archive.read(f"{folder}/METADATA").decode())
        scripts = archive.read(f"{folder}/entry_points.txt").decode()
        assert {f"{folder}/licenses/LICENSE", f"{folder}/licenses/THIRD_PARTY_NOTICES.md"} <= set(archive.namelist())
    assert (metadata["Name"], metadata["License-Expression"]) == ("penstock", "Apache-2.0")
    assert metadata["Requires-Python"] == ">=3.11"
    assert "spark" in metadata.get_all("Provides-Extra", [])
    assert "penstock = penstock.console.cli:main" in scripts


@pytest.mark.parametrize(
    ("args", "status", "said"),
    [(["--help"], 0, "explain"), (["bench", "lane"], 2, "part of the source checkout")],
    ids=lambda value: "-".join(value) if isinstance(value, list) else "",
)
def test_the_wheel_runs_without_the_checkout(
    wheel: Path, tmp_path: Path, args: list[str], status: int, said: str
) -> None:
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path)
    code = "import sys; from penstock.console.cli import main; sys.exit(main())"
    run = subprocess.run(
        [sys.executable, "-P", "-c", code, *args],
        cwd=tmp_path,
        env={"PYTHONPATH": str(tmp_path), "PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (run.returncode, said in run.stdout + run.stderr) == (status, True), run.stdout + run.stderr
