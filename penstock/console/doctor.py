"""What is here to run Penstock with, what is wrong, and the one line that mends it."""

from __future__ import annotations

import os
import platform
import shutil
import socket
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final

from penstock.errors import PenstockError

GIB: Final = 1 << 30
OLDEST_PYTHON: Final = (3, 11)
LEAST_MEMORY: Final = 2 * GIB
LEAST_DISK: Final = GIB
PACKAGES: Final = ("numpy", "numba", "pyarrow", "scipy", "sqlglot")
SPARK_PACKAGES: Final = ("pyspark", "pandas", "protobuf")


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at: `problem` is None where it is well, `needed` says whether Penstock stops without
    it."""

    what: str
    found: str
    problem: str | None = None
    remedy: str | None = None
    needed: bool = True

    @property
    def mark(self) -> str:
        """`ok`, `wrong`, or `missing` for what one may do without."""
        if self.problem is None:
            return "ok"
        return "wrong" if self.needed else "missing"


def examine(environment: Mapping[str, str] | None = None, cache: Path | None = None) -> list[Finding]:
    """Everything that a run needs, looked at one by one; a look that fails is itself a finding."""
    environ = os.environ if environment is None else environment
    place = cache or Path(tempfile.gettempdir()) / f"penstock-{os.getuid()}"
    looks: list[Callable[[], Finding]] = [
        _python, _packages, lambda: _java(environ, place), _spark, _memory, _cores, lambda: _disk(Path.cwd()),
        lambda: _disk(Path(tempfile.gettempdir())), _loopback, lambda: _kafka(environ),
    ]  # fmt: skip
    return [look() for look in looks]


def report(findings: list[Finding]) -> str:
    """The findings as lines; below each that is not well, what to do."""
    width = max(len(f.what) for f in findings)
    lines = []
    for finding in findings:
        lines.append(f"{finding.mark:7}  {finding.what:{width}}  {finding.found}")
        lines += [f"{'':{width + 11}}{finding.problem}"] if finding.problem else []
        lines += [f"{'':{width + 11}}help: {finding.remedy}"] if finding.remedy else []
    wrong = [f.what for f in findings if f.mark == "wrong"]
    lines.append(f"wrong: {', '.join(wrong)}" if wrong else "everything that a run needs is here")
    return "\n".join(lines)


def healthy(findings: list[Finding]) -> bool:
    """True where nothing that is needed is wrong."""
    return all(f.mark != "wrong" for f in findings)


def _python() -> Finding:
    found = f"{platform.python_version()} at {sys.executable}"
    if sys.version_info[:2] >= OLDEST_PYTHON:
        return Finding("Python", found)
    return Finding("Python", found, "Penstock needs Python 3.11 or later", "install one: 'apt-get install python3.11'")


def _packages() -> Finding:
    versions = {name: _version(name) for name in PACKAGES}
    missing = [name for name, found in versions.items() if found is None]
    listed = ", ".join(f"{name} {found}" for name, found in versions.items() if found)
    problem = f"not installed: {', '.join(missing)}" if missing else None
    return Finding("packages", listed, problem, "pip install penstock" if missing else None)


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _java(environment: Mapping[str, str], cache: Path) -> Finding:
    from penstock.spark.java import find_java

    try:
        java = find_java(environment, cache)
    except PenstockError as error:
        diagnostic = error.diagnostics[0]
        return Finding("Java", "; ".join(diagnostic.notes), diagnostic.message, diagnostic.help)
    return Finding("Java", f"{java.version} at {java.home} (from {java.origin})")


def _spark() -> Finding:
    versions = {name: _version(name) for name in SPARK_PACKAGES}
    missing = [name for name, found in versions.items() if found is None]
    listed = ", ".join(f"{name} {found}" for name, found in versions.items() if found) or "none"
    if missing:
        return Finding("Spark", listed, f"not installed: {', '.join(missing)}", "pip install 'penstock[spark]'")
    home = os.environ.get("SPARK_HOME")
    if home and not (Path(home) / "jars").is_dir():
        return Finding("Spark", listed, f"SPARK_HOME is {home}, where no Spark is", "unset SPARK_HOME")
    return Finding("Spark", listed + (f", SPARK_HOME={home}" if home else ""))


def _memory() -> Finding:
    try:
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError):
        return Finding("memory", "this system does not say")
    total = min(total, _container_limit() or total)
    problem = "Spark and its workers want 2 GiB" if total < LEAST_MEMORY else None
    return Finding(
        "memory", f"{total / GIB:.1f} GiB", problem, "give the machine or container more" if problem else None
    )


def _container_limit() -> int | None:
    """The memory that the control group allows, where there is one."""
    for file in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        try:
            text = Path(file).read_text(encoding="ascii").strip()
        except OSError:
            continue
        if text.isdigit():
            return int(text)
    return None


def _cores() -> Finding:
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return Finding("cores", f"{count}: a local run gets {count} lane{'s' if count > 1 else ''}")


def _disk(folder: Path) -> Finding:
    what = f"disk {folder}"
    try:
        free = shutil.disk_usage(folder).free
    except OSError as error:
        return Finding(what, "unknown", str(error), "run in a folder that exists")
    if not os.access(folder, os.W_OK):
        return Finding(what, f"{free / GIB:.1f} GiB free", "it cannot be written to", "run in a folder of your own")
    problem = "checkpoints and Spark's own files want 1 GiB" if free < LEAST_DISK else None
    return Finding(what, f"{free / GIB:.1f} GiB free", problem, "free some space" if problem else None)


def _loopback() -> Finding:
    """Spark's Java and Python talk through a port of this machine."""
    try:
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            port = listener.getsockname()[1]
    except OSError as error:
        return Finding("ports", "none on 127.0.0.1", str(error), "let this user open ports on the loopback interface")
    return Finding("ports", f"127.0.0.1 gives some ({port})")


def _kafka(environment: Mapping[str, str]) -> Finding:
    if _version("pyspark") is None:
        return Finding("Kafka", "none without Spark", "the connector belongs to Spark", needed=False)
    from penstock.spark.packages import bundled_connector, cached_connector

    if found := bundled_connector() or cached_connector():
        return Finding("Kafka", f"connector at {found}")
    maven = shutil.which("mvn", path=environment.get("PATH", os.defpath))
    if maven:
        return Finding("Kafka", f"connector not here; the first run that needs it fetches it with {maven}")
    return Finding("Kafka", "no connector", "Spark will ask Maven Central itself; behind a mirror that fails",
                   "install Maven ('apt-get install maven') with the mirror in its settings", needed=False)  # fmt: skip
