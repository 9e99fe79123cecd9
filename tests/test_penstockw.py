"""The bootstrap, in small checkouts of its own with empty locks: an environment without packages, made in seconds."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
CLI = """
import os, sys
def main():
    print(sys.argv, os.getcwd(), os.environ["PYTHONPATH"].split(os.pathsep)[0])
    return 3
"""


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkout in a path with spaces, its environment made by the first test that needs it."""
    return _checkout(tmp_path_factory.mktemp("a path") / "with spaces")


def _checkout(root: Path) -> Path:
    files = {
        "penstock/__init__.py": "WHERE = __file__",
        "penstock/console/cli.py": CLI,
        **{f"locks/{lock}.txt": "# nothing\n" for lock in ("core", "dev", "spark")},
    }
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    shutil.copy(ROOT / "penstockw", root)
    return root


def _environ(**more: str) -> dict[str, str]:
    """No HOME, nothing of the caller's but where Python is."""
    path = os.pathsep.join([str(Path(sys.executable).resolve().parent), os.environ["PATH"]])
    return {"PATH": path, "PENSTOCK_PYTHON": str(Path(sys.executable).resolve()), **more}


def run(script: Path, *args: str, cwd: Path, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [script, *args],
        cwd=cwd,
        env=_environ(**more),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def environments(checkout: Path) -> list[Path]:
    return sorted((checkout / ".penstock").glob("python*"))


def test_arguments_directory_and_exit_status_pass_through(checkout: Path, tmp_path: Path) -> None:
    done = run(checkout / "penstockw", "check", "a b.cql", "", cwd=tmp_path)
    assert done.stdout.strip() == f"['penstock', 'check', 'a b.cql', ''] {tmp_path} {checkout}", done.stderr
    assert done.returncode == 3


def test_the_second_call_says_nothing_and_makes_nothing(checkout: Path, tmp_path: Path) -> None:
    run(checkout / "penstockw", "check", cwd=tmp_path)
    before = environments(checkout)
    done = run(checkout / "penstockw", "check", cwd=tmp_path)
    assert (done.stderr, environments(checkout)) == ("", before)
    assert len(before) == 1


def test_a_symbolic_link_finds_the_checkout(checkout: Path, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "first").symlink_to(checkout / "penstockw")
    (tmp_path / "second").symlink_to("bin/first")
    done = run(tmp_path / "second", "python", "-c", "import penstock; print(penstock.WHERE)", cwd=tmp_path)
    assert done.stdout.strip() == str(checkout / "penstock" / "__init__.py"), done.stderr


def test_the_callers_pythonpath_and_variables_reach_python(checkout: Path, tmp_path: Path) -> None:
    (tmp_path / "lib" / "penstock").mkdir(parents=True)
    (tmp_path / "lib" / "penstock" / "__init__.py").write_text("WHERE = 'not this one'")
    (tmp_path / "lib" / "mine.py").write_text("NAME = 'mine'")
    code = "import os, mine, penstock; print(mine.NAME, os.environ['SEEN'], penstock.WHERE)"
    script = checkout / "penstockw"
    done = run(script, "python", "-c", code, cwd=tmp_path, PYTHONPATH=str(tmp_path / "lib"), SEEN="yes")
    assert done.stdout.strip() == f"mine yes {checkout / 'penstock' / '__init__.py'}", done.stderr


def test_a_file_where_the_caller_stands_hides_no_module(checkout: Path, tmp_path: Path) -> None:
    (tmp_path / "os.py").write_text("raise SystemExit('the wrong os')")
    (tmp_path / "penstock.py").write_text("raise SystemExit('the wrong penstock')")
    assert run(checkout / "penstockw", "check", cwd=tmp_path).returncode == 3


@pytest.mark.parametrize(
    ("args", "at"),
    [((), "checkout"), (("-k", "x"), "checkout"), (("tests/a.py",), "checkout"), (("here.py::test_x",), "caller")],
    ids=str,
)
def test_tests_run_from_the_checkout_unless_a_path_is_the_callers(
    checkout: Path, tmp_path: Path, args: tuple[str, ...], at: str
) -> None:
    (tmp_path / "pytest").mkdir()
    (tmp_path / "pytest" / "__main__.py").write_text("import os, sys; print(os.getcwd(), sys.argv[1:])")
    (tmp_path / "here.py").touch()
    done = run(checkout / "penstockw", "test", *args, cwd=tmp_path, PYTHONPATH=str(tmp_path))
    assert done.stdout.strip() == f"{checkout if at == 'checkout' else tmp_path} {list(args)}", done.stderr


def test_a_half_made_environment_is_made_again(checkout: Path, tmp_path: Path) -> None:
    run(checkout / "penstockw", "check", cwd=tmp_path)
    (place,) = environments(checkout)
    (place / ".core").unlink()
    (place / "left-over").touch()
    done = run(checkout / "penstockw", "check", cwd=tmp_path)
    assert (done.returncode, "ready after" in done.stderr) == (3, True)
    assert not (place / "left-over").exists()


def test_a_layer_cut_short_throws_the_environment_away(checkout: Path, tmp_path: Path) -> None:
    run(checkout / "penstockw", "check", cwd=tmp_path)
    (place,) = environments(checkout)
    (place / ".unfinished").touch()
    (place / "left-over").touch()
    assert run(checkout / "penstockw", "python", "-c", "", cwd=tmp_path).returncode == 0
    assert not (place / "left-over").exists()
    assert not (place / ".unfinished").exists()


def test_two_at_once_make_one_environment(tmp_path: Path) -> None:
    checkout = _checkout(tmp_path / "both")
    both = [
        subprocess.Popen(
            [checkout / "penstockw", "check"],
            env=_environ(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    said = [process.communicate(timeout=120)[1] for process in both]
    assert [process.returncode for process in both] == [3, 3], said
    assert sum("installing" in text for text in said) == 1
    assert len(environments(checkout)) == 1


def test_a_lock_that_cannot_be_installed_stops_and_is_not_used(tmp_path: Path) -> None:
    checkout = _checkout(tmp_path / "broken")
    (checkout / "locks" / "core.txt").write_text("penstock-has-no-such-package==1 --hash=sha256:" + "0" * 64 + "\n")
    done = run(checkout / "penstockw", "check", cwd=tmp_path, PIP_NO_INDEX="1")
    assert (done.returncode, done.stdout) == (1, "")
    assert "that failed; see the lines above" in done.stderr
    (place,) = environments(checkout)
    assert not (place / ".core").exists()


def test_an_old_python_is_refused_with_what_to_do(tmp_path: Path) -> None:
    checkout, old = _checkout(tmp_path / "old"), tmp_path / "bin"
    old.mkdir()
    for name in ("python3", "python"):
        (old / name).write_text("#!/bin/sh\n[ \"$1\" = --version ] && echo 'Python 3.9.1' || exit 1\n")
        (old / name).chmod(0o755)
    for tool in ("bash", "env", "dirname", "readlink"):
        (old / tool).symlink_to(str(shutil.which(tool)))
    done = run(checkout / "penstockw", "check", cwd=tmp_path, PATH=str(old), PENSTOCK_PYTHON="python3")
    assert done.returncode == 1
    assert "no Python from 3.11 to 3.14 found (python3 is Python 3.9.1)" in done.stderr
    assert "apt-get install python3" in done.stderr


def test_the_environment_may_lie_elsewhere(checkout: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "else where"
    done = run(checkout / "penstockw", "check", cwd=tmp_path, PENSTOCK_HOME=str(elsewhere))
    assert done.returncode == 3, done.stderr
    assert len(list(elsewhere.glob("python*/.core"))) == 1
