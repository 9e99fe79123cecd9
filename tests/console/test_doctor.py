"""penstock doctor: what is here, what is wrong, and what mends it."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from penstock.console import doctor
from penstock.console.cli import app
from penstock.console.doctor import Finding, examine, healthy, report


def by_name(findings: list[Finding]) -> dict[str, Finding]:
    return {f.what.split()[0]: f for f in findings}


def test_everything_is_looked_at_and_is_well_here(tmp_path: Path) -> None:
    found = by_name(examine(os.environ, tmp_path))
    assert list(found) == ["Python", "packages", "Java", "Spark", "memory", "cores", "disk", "ports", "Kafka"]
    assert healthy(list(found.values()))
    assert "pyspark" in found["Spark"].found and "GiB" in found["memory"].found


def test_the_command_prints_a_line_each() -> None:
    done = CliRunner().invoke(app, ["doctor"])
    assert done.exit_code == 0, done.output
    assert done.output.splitlines()[-1] == "everything that a run needs is here"


def test_no_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.spark.java._packaged", lambda cache: None)
    java = by_name(examine({"PATH": str(tmp_path)}, tmp_path))["Java"]
    assert java.mark == "wrong" and "Java 17 or later" in str(java.problem) and "openjdk" in str(java.remedy)


def test_a_java_that_is_too_old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.spark.java._packaged", lambda cache: None)
    command = tmp_path / "bin" / "java"
    command.parent.mkdir()
    command.write_text("#!/bin/sh\necho 'openjdk version \"1.8.0_402\"' >&2\n")
    command.chmod(0o755)
    java = by_name(examine({"JAVA_HOME": str(tmp_path), "PATH": "/nowhere"}, tmp_path))["Java"]
    assert java.mark == "wrong" and "is Java 8" in java.found


def test_no_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "_version", lambda name: None if name == "pyspark" else "1")
    found = by_name(examine())
    assert found["Spark"].mark == "wrong" and found["Spark"].remedy == "pip install 'penstock[spark]'"
    assert found["Kafka"].mark == "missing"
    assert not healthy(list(found.values()))


def test_no_maven_and_no_connector_is_no_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.spark.packages.default_cache", lambda: tmp_path)
    kafka = by_name(examine({**os.environ, "PATH": str(tmp_path)}))["Kafka"]
    assert kafka.mark == "missing" and "maven" in str(kafka.remedy)


@pytest.mark.parametrize(("free", "mark"), [(10 << 30, "ok"), (1 << 20, "wrong")])
def test_disk(monkeypatch: pytest.MonkeyPatch, free: int, mark: str) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: type("Usage", (), {"free": free}))
    assert by_name(examine())["disk"].mark == mark


def test_the_report_names_what_is_wrong() -> None:
    lines = report(
        [Finding("a", "x"), Finding("bb", "y", "broken", "mend it"), Finding("c", "-", "absent", None, False)]
    )
    assert lines.splitlines() == [
        "ok       a   x",
        "wrong    bb  y",
        "             broken",
        "             help: mend it",
        "missing  c   -",
        "             absent",
        "wrong: bb",
    ]
