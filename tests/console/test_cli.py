"""The command line, as a person and a program use it: what it prints, and how it ends."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from penstock.console.cli import app
from penstock.cql import compile_script
from penstock.errors import PenstockError
from penstock.plan.explain import graph, to_json, to_svg, to_text

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = """CREATE STREAM s (a INT, b STRING);
CREATE QUERY q AS SELECT b, count(*) AS n FROM s [Range 1 Minute Slide 10 Seconds] GROUP BY b;
CREATE QUERY r AS SELECT a, b FROM s [Rows 5] WHERE a > 1;
"""


def penstock(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "import sys; from penstock.console.cli import main; sys.exit(main())", *arguments]
    environment = {"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin", "HOME": str(folder)}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120)


@pytest.fixture
def script(tmp_path: Path) -> Path:
    (tmp_path / "app.cql").write_text(SCRIPT, encoding="utf-8")
    return tmp_path


def test_check_names_queries_and_columns(script: Path) -> None:
    done = penstock("check", "app.cql", folder=script)
    assert (done.returncode, done.stderr) == (0, "")
    assert "q: stream (b string, n bigint)" in done.stdout
    assert "r: relation (a int, b string)" in done.stdout


def test_mistakes_have_place_and_help_and_no_traceback(tmp_path: Path) -> None:
    wrong = "CREATE STREAM s (a INT);\nSELECT aa FROM s;\nSELECT a FROM t;\n"
    (tmp_path / "app.cql").write_text(wrong, encoding="utf-8")
    done = penstock("check", "app.cql", folder=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert "app.cql:2:8  unknown column 'aa'" in done.stderr
    assert "app.cql:3:15  unknown stream or relation 't'" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("command", ["check", "explain"])
def test_a_file_that_is_not_there(command: str, script: Path) -> None:
    done = penstock(command, "ap.cql", folder=script)
    assert done.returncode == 2
    assert "unknown file 'ap.cql'" in done.stderr
    assert "did you mean 'app.cql'?" in done.stderr


def test_explain_shows_operators_stores_and_lanes(script: Path) -> None:
    done = penstock("explain", "app.cql", "--svg", "net.svg", folder=script)
    assert done.returncode == 0
    assert "window [Rows 5]" in done.stdout
    assert "fragment 0, on each of 2 lanes: q" in done.stdout
    assert (script / "net.svg").read_text(encoding="utf-8").startswith("<svg")


def test_explain_as_json_has_every_operator_once(script: Path) -> None:
    shown = json.loads(penstock("explain", "app.cql", "--json", folder=script).stdout)
    numbers = [o["number"] for o in shown["operators"]]
    assert sorted(numbers) == sorted(set(numbers))
    assert set(shown["queries"]) == {"q", "r"}
    assert shown["queries"]["q"] in numbers


def test_a_shared_operator_is_shown_once() -> None:
    network = compile_script("CREATE STREAM s (a INT); SELECT a FROM s [Rows 5]; SELECT count(*) FROM s [Rows 5];")
    shown = graph(network)
    windows = [v for v in shown.vertices if "window" in v.label]
    assert [v.queries for v in windows] == [("query1", "query2")]
    assert to_text(shown).count("window [Rows 5]") == 1  # the other tree names it by its number
    assert len(re.findall("<rect", to_svg(shown))) == len(shown.vertices) + len(shown.results) + 1
    assert json.loads(to_json(shown))["stores"] == {"#1 stream s": ["#2 [Rows 5]"]}


def test_unknown_benchmark(tmp_path: Path) -> None:
    done = penstock("bench", "lanes", folder=tmp_path)
    assert done.returncode == 2
    assert "did you mean 'lane'?" in done.stderr


def test_plan_of_a_topology(tmp_path: Path) -> None:
    topology = ROOT / "examples" / "topology" / "two-nodes.yaml"
    done = penstock("plan", str(topology), "--epsilon", "5", "--rates", "1,1", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "optimum" in done.stdout
    assert penstock("explain", str(topology), folder=tmp_path).returncode == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--close"], "--close goes with --until-idle"),
        (["--conf", "nonsense"], "--conf 'nonsense' is no setting"),
        (["--spark-log", "wrn"], "did you mean 'warn'?"),
        (["--log-level", "loud"], "unknown level for --log-level 'loud'"),
        (["--log", "/nowhere/x"], "cannot write the log to /nowhere/x"),
        (["--trigger", "-1"], "at least 0 seconds"),
        (["--shedding", "onn"], "did you mean 'on'?"),
        (["--policy", "windw"], "did you mean 'window'?"),
        (["--controller", "semless"], "did you mean 'seamless'?"),
        (["--set", "train_row=1"], "did you mean 'train_rows'?"),
        (["--set", "train_rows=x"], "takes a whole number, not 'x'"),
        (["--set", "late"], "--set 'late' is no setting"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_what_a_run_is_asked_wrongly(script: Path, arguments: list[str], said: str) -> None:
    done = CliRunner().invoke(app, ["run", str(script / "app.cql"), *arguments])
    assert done.exit_code == 1 and isinstance(done.exception, PenstockError)
    assert said in str(done.exception)


def test_a_metrics_port_that_is_taken_is_said_before_spark_starts(script: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])
        done = penstock("run", "app.cql", "--metrics-port", port, "--metrics-host", "127.0.0.1", folder=script)
    assert done.returncode == 2
    assert f"--metrics-port {port}: the port is taken" in done.stderr and "Traceback" not in done.stderr


def test_version_and_a_script_without_a_query(tmp_path: Path) -> None:
    (tmp_path / "app.cql").write_text("CREATE STREAM s (a INT);", encoding="utf-8")
    assert re.fullmatch(r"penstock \d+\.\d+\.\d+\n", penstock("--version", folder=tmp_path).stdout)
    assert "no query" in penstock("check", "app.cql", folder=tmp_path).stdout
