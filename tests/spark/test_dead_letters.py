"""Malformed rows on their way into files."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest

from penstock.errors import PenstockError
from penstock.spark import dead_letters
from penstock.spark.dead_letters import DeadLetters

ROWS = pa.table(
    {
        "_stream": ["a/b", "s", "s"],
        "_reason": ["not a JSON object", "n is not an int", "n is not an int"],
        "_raw": ["{", "2,x", '"1,y'],
        "_source": [0, 7, 7],
        "_offset": [0, 2, 1],
        "_arrival": [0, 0, 1],
    }
)


def lines(file: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in file.read_text().splitlines()]


def test_each_stream_has_a_file_a_batch_in_a_fixed_order(tmp_path: Path) -> None:
    letters = DeadLetters("run1", str(tmp_path / "dead"))
    letters.add(3, ROWS)
    files = sorted(p.name for p in (tmp_path / "dead").iterdir())
    assert files == ["a%2Fb-run1-000000000003.json", "s-run1-000000000003.json"]
    assert lines(tmp_path / "dead" / files[1]) == [
        {"stream": "s", "batch": 3, "reason": "n is not an int", "raw": '"1,y', "source": 7, "offset": 1,
         "arrival": "1970-01-01T00:00:00.000001Z"},
        {"stream": "s", "batch": 3, "reason": "n is not an int", "raw": "2,x", "source": 7, "offset": 2,
         "arrival": "1970-01-01T00:00:00.000000Z"},
    ]  # fmt: skip


def test_a_batch_that_comes_again_replaces_itself(tmp_path: Path) -> None:
    DeadLetters("run1", str(tmp_path)).add(3, ROWS)
    before = {p.name: p.read_bytes() for p in tmp_path.iterdir()}
    DeadLetters("run1", str(tmp_path)).add(3, ROWS.take([2, 1, 0]))
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == before


def test_counts_are_by_stream_and_reason() -> None:
    letters = DeadLetters("run1")
    assert letters.add(0, ROWS) == {("a/b", "not a JSON object"): 1, ("s", "n is not an int"): 2}
    letters.add(1, ROWS)
    assert letters.counts == {("a/b", "not a JSON object"): 2, ("s", "n is not an int"): 4}


def test_a_stream_that_is_all_dead_letters_is_counted_in_full_and_kept_in_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dead_letters, "ROWS_KEPT", 1)
    letters = DeadLetters("run1", str(tmp_path))
    letters.add(0, ROWS)
    assert letters.counts["s", "n is not an int"] == 2
    assert [r["offset"] for r in lines(tmp_path / "s-run1-000000000000.json")] == [1]


def test_a_folder_that_cannot_be_written_to(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(PenstockError, match="cannot write dead letters to"):
        DeadLetters("run1", str(tmp_path / "file" / "dead")).add(0, ROWS)
