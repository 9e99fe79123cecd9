"""The examples: each generates its data, checks, and says what its comments promise."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from penstock.testing import Result, evaluate, net

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


def generator(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"generate_{name}", EXAMPLES / name / "generate.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def delivered(name: str, folder: Path, engine: str = "lane", **size: int) -> Result:
    """The example's script over data that it generates into `folder`."""
    generator(name).write(folder, **size)
    script = (EXAMPLES / name / "app.cql").read_text("utf-8").replace(f"examples/{name}/", f"{folder}/")
    return evaluate(script, engine=engine)


def test_network_finds_the_scanner_and_the_sender(tmp_path: Path) -> None:
    result, made = delivered("network", tmp_path), generator("network")
    assert {e.values["src"] for e in result["scans"]} == {made.SCANNER}
    assert made.SENDER in {e.values["src"] for e in result["talkers"]}
    assert all(e.values["bytes"] > 15_000 for e in result["leaving"])
    assert result["leaving"]


def test_clickstream_matches_payments_with_carts(tmp_path: Path) -> None:
    result = delivered("clickstream", tmp_path)
    paid = sum(action == "pay" for *_, action, _ in generator("clickstream").clicks())
    assert 0.8 * paid < len(result["bought"]) <= paid * 3
    assert result["popular"]
    assert sum(e.sign for e in result["waiting"]) == 0


def test_sensors_name_the_hot_and_the_silent_machine(tmp_path: Path) -> None:
    result, made = delivered("sensors", tmp_path), generator("sensors")
    assert {e.values["machine"] for e in result["alarms"]} == {made.HOT}
    assert made.SILENT in {e.values["machine"] for e in result["silent"]}
    assert len({e.values["machine"] for e in result["smoothed"]}) == 12


@pytest.mark.parametrize(
    ("name", "size"),
    [("network", {"per_minute": 12}), ("clickstream", {"visitors": 20}), ("sensors", {"machines": 3, "seconds": 90})],
)
def test_the_reference_agrees(name: str, size: dict[str, int], tmp_path: Path) -> None:
    fast, plain = (delivered(name, tmp_path, engine, **size) for engine in ("lane", "reference"))
    for query in fast.queries:
        assert rounded(net(fast[query])) == rounded(net(plain[query]))


def rounded(counts: dict[tuple[int, tuple[object, ...]], int]) -> dict[tuple[int, tuple[object, ...]], int]:
    """Doubles to nine digits."""
    return {
        (ts, tuple(round(v, 9) if isinstance(v, float) else v for v in row)): n for (ts, row), n in counts.items()
    }
