"""Every knob: its name, its default, its unit, and why the default is what it is.

A knob is one field of `Settings`; code gets a `Settings` as an argument and reads its attributes. `docs/settings.md`
is this module's output (`python -m penstock.settings`), and a test keeps the two equal.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import Field, dataclass, field, fields, replace
from typing import TypeAlias, TypeVar, cast

from penstock.errors import Diagnostic, PenstockError, unknown

Value: TypeAlias = bool | int | float | str
_T = TypeVar("_T", bool, int, float, str)


def knob(default: _T, unit: str, why: str, *, least: float | None = None, one_of: tuple[str, ...] = ()) -> _T:
    """A field of `Settings`; `least` is the smallest value taken, `one_of` the words taken."""
    about = {"unit": unit, "why": why, "least": least, "one_of": one_of}
    made: _T = field(default=default, metadata=about)
    return made


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """All knobs, at their defaults unless said otherwise.

    >>> Settings(train_rows=2000).train_rows
    2000
    """

    train_rows: int = knob(
        500,
        "rows",
        "the most rows an operator takes in one call: long enough that a call's fixed cost is small beside the work, "
        "short enough that a train stays in the processor's cache and a result does not wait for its neighbours",
        least=1,
    )
    queue_rows: int = knob(
        100_000,
        "rows",
        "where a queue between two operators counts as full and its consumer runs next, whatever the scheduler "
        "prefers: a bound on memory that an orderly schedule never meets",
        least=1,
    )
    key_groups: int = knob(
        128,
        "groups",
        "keys hash to this many groups and groups map to lanes, so that a restart on another number of cores "
        "continues; more than any machine has lanes, few enough to count per group. Fixed for the life of a checkpoint",
        least=1,
    )
    skew_us: int = knob(
        0,
        "microseconds",
        "how far out of order a stream's tuples may arrive where its declaration says nothing (no WITHIN): waiting "
        "costs delay, so it is asked for",
        least=0,
    )
    pane_rows: int = knob(
        50_000,
        "rows",
        "from how many rows a batch the gate aggregates them per pane where it may, judged by the batch before; for "
        "fewer, the second stage of tasks costs more than their way to the lanes. 0: always",
        least=0,
    )
    late: str = knob(
        "keep",
        "policy",
        "what happens to a tuple that arrives past its stream's bound, where its declaration says nothing: kept "
        "(stamped anew, with the current time) because data that somebody sent is not lost unasked; counted either way",
        one_of=("keep", "drop"),
    )
    filters: str = knob(
        "a-greedy",
        "algorithm",
        "what orders filters in a run: A-Greedy is never behind the others by more than its profiling, is back at the "
        "greedy order within one profile window after a change, and knows correlations (docs/decisions/filters.md)",
        one_of=("a-greedy", "sweep", "independent", "local-swaps", "static-greedy", "optimal", "off"),
    )
    drop_profiling: float = knob(
        0.01,
        "share of rows",
        "how many rows are profiled for the order of filters: the verdict of every filter on them, though one has "
        "dropped them (the paper's p). Its cost grows with it in proportion, and so does the speed of adaptation; "
        "Independent, which needs less, takes half",
        least=0,
    )
    profile_tuples: int = knob(
        1000,
        "profile tuples",
        "the window that filter orders are chosen by: large enough that selectivities are known to a few percent, "
        "small enough that the past is forgotten; a stage of Sweep takes half of it",
        least=1,
    )
    thrashing_avoidance: float = knob(
        0.9,
        "factor",
        "how clearly a filter must be better than one before it for their order to count as wrong (the paper's alpha): "
        "1 would change places of equals to and fro",
        least=0,
    )
    min_relative_gain: float = knob(
        1.02,
        "factor",
        "by how much a change must make its part of the plan cheaper to be made: what is expected of less is within "
        "the error of what a profile window can say",
        least=1,
    )
    min_absolute_gain: float = knob(
        0.0001,
        "processor seconds a second",
        "what a change must save to be made: below this its own cost, a plan record and code made anew, is more",
        least=0,
    )
    cool_down_s: float = knob(
        0.0,
        "seconds",
        "how long a part of the plan is left alone after a change: nothing, since a change of order moves no state and "
        "the first correction after a change of the data may rest on half a window",
        least=0,
    )
    headroom: float = knob(
        0.8,
        "processor-seconds a second and processor",
        "how much of each processor is believed to be there for queries before anything was measured; the controllers "
        "that learn it soon know better, Aurora and CTRL stay with it",
        least=0.01,
    )
    control_period_us: int = knob(
        500_000,
        "microseconds",
        "how often a controller decides where tuples wait in queues; the paper's T (it finds 250 to 1000 ms best for a "
        "target of 2 s). Where a micro-batch is the control period this says nothing",
        least=1000,
    )
    backlog: str = knob(
        "newest",
        "policy",
        "what a batch that has waited too long gives up: `newest` skips the rows that can no longer be answered in "
        "time, so that the others are; `uniform` thins all of it evenly, and its results are late",
        one_of=("newest", "uniform"),
    )

    def changed(self, values: Mapping[str, Value]) -> Settings:
        """These settings with `values`, by name; all mistakes in them are reported at once.

        >>> Settings().changed({"late": "drop"}).late
        'drop'
        >>> Settings().changed({"train_row": 10})  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        penstock.errors.PenstockError: unknown setting 'train_row'
            known: backlog, ..., train_rows
            help: did you mean 'train_rows'?
        """
        mistakes = [m for name, value in values.items() if (m := _mistake(name, value))]
        if mistakes:
            raise PenstockError(*mistakes)
        return replace(self, **values)  # type: ignore[arg-type]


KNOBS: Mapping[str, Field[Value]] = {f.name: f for f in fields(Settings)}


def _mistake(name: str, value: Value) -> Diagnostic | None:
    """What is wrong with `name = value`, if anything is."""
    if name not in KNOBS:
        return unknown("setting", name, list(KNOBS))
    about, wanted = KNOBS[name].metadata, type(KNOBS[name].default)
    if type(value) is not wanted and not (wanted is float and type(value) is int):
        return Diagnostic(f"setting '{name}' takes {_KINDS[wanted]}, not {value!r}", notes=(about["why"],))
    if about["one_of"] and value not in about["one_of"]:
        return unknown(f"value of setting '{name}'", str(value), about["one_of"])
    if about["least"] is not None and not cast(float, value) >= about["least"]:
        return Diagnostic(f"setting '{name}' is at least {about['least']} {about['unit']}, not {value!r}")
    return None


_KINDS: Mapping[type, str] = {bool: "true or false", int: "a whole number", float: "a number", str: "a word"}


def markdown() -> str:
    """The page `docs/settings.md`."""
    return "\n".join([_HEADER, *map(_row, KNOBS.values())]) + "\n"


def _row(knob: Field[Value]) -> str:
    about = knob.metadata
    return f"| `{knob.name}` | {_shown(knob.default)} | {about['unit']} | {about['why']} |"


def _shown(default: object) -> str:
    return f"`{default}`" if isinstance(default, str) else f"{default:,}"


_HEADER = """\
# Settings

Every knob, from `penstock/settings.py`. Written by `./penstockw python -m penstock.settings > docs/settings.md`.

| name | default | unit | why |
|---|---|---|---|"""


if __name__ == "__main__":
    print(markdown(), end="")
