"""The knobs: named, typed, documented; a wrong one is refused with what was meant."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from penstock.errors import PenstockError
from penstock.settings import KNOBS, Settings, markdown

ROOT = Path(__file__).resolve().parents[1]


def test_the_page_lists_every_knob_as_it_is() -> None:
    page = (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")
    assert page == markdown(), "run ./penstockw python -m penstock.settings > docs/settings.md"
    assert all(f"| `{name}` |" in page for name in KNOBS)


@pytest.mark.parametrize("name", KNOBS)
def test_every_knob_says_its_unit_and_why(name: str) -> None:
    about = KNOBS[name].metadata
    assert about["unit"]
    assert len(about["why"].split()) >= 10


@pytest.mark.parametrize("name", KNOBS)
def test_every_default_is_a_value_that_is_taken(name: str) -> None:
    default = KNOBS[name].default
    assert Settings().changed({name: default}) == Settings()


def test_settings_cannot_be_changed_in_place() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        Settings().train_rows = 1  # type: ignore[misc]


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"train_row": 5}, "unknown setting 'train_row'"),
        ({"train_rows": 0}, "setting 'train_rows' is at least 1 rows, not 0"),
        ({"train_rows": 2.5}, "setting 'train_rows' takes a whole number, not 2.5"),
        ({"train_rows": True}, "setting 'train_rows' takes a whole number, not True"),
        ({"train_rows": "5"}, "setting 'train_rows' takes a whole number, not '5'"),
        ({"skew_us": -1}, "setting 'skew_us' is at least 0 microseconds, not -1"),
        ({"late": "kep"}, "unknown value of setting 'late' 'kep'"),
    ],
)
def test_a_mistake_is_named(values: dict[str, bool | int | float | str], said: str) -> None:
    with pytest.raises(PenstockError) as caught:
        Settings().changed(values)
    assert [d.message for d in caught.value.diagnostics] == [said]


def test_a_near_name_is_suggested_and_all_mistakes_come_at_once() -> None:
    with pytest.raises(PenstockError) as caught:
        Settings().changed({"train_row": 5, "late": "kep", "key_groups": 64})
    assert [d.help for d in caught.value.diagnostics] == ["did you mean 'train_rows'?", "did you mean 'keep'?"]
