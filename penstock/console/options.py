"""What was asked for on the command line, checked, as a run takes it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from penstock.console.log import LEVELS
from penstock.control.controllers import CONTROLLERS
from penstock.control.loop import MODES
from penstock.errors import Diagnostic, PenstockError, unknown
from penstock.settings import KNOBS, Settings
from penstock.shed import POLICIES

if TYPE_CHECKING:
    from penstock.spark.run import RunOptions


def run_options(
    *, conf: Iterable[str], settings: Iterable[str], spark_log: str, json_log: bool, trigger_s: float, **asked: Any
) -> RunOptions:
    """The options of a run; all mistakes in them are reported at once."""
    try:
        from penstock.spark.run import RunOptions
        from penstock.spark.session import LEVELS as SPARK_LEVELS
        from penstock.spark.session import JavaLog
    except ModuleNotFoundError as error:
        message = f"a run needs the package '{error.name}', which is not installed"
        help = "pip install 'penstock[spark]', or run it with ./penstockw"
        raise PenstockError(Diagnostic(message, help=help)) from None

    extra = [pair.partition("=") for pair in conf]
    mistakes = [_no_pair(name) for name, equals, _ in extra if not equals or not name]
    if spark_log not in SPARK_LEVELS:
        mistakes.append(unknown("level for --spark-log", spark_log, SPARK_LEVELS))
    if not 0 <= trigger_s < float("inf"):
        mistakes.append(Diagnostic(f"--trigger {trigger_s}: a time is at least 0 seconds"))
    if asked["mode"] not in MODES:
        mistakes.append(unknown("mode for --shedding", asked["mode"], MODES))
    if asked["controller"] is not None and asked["controller"] not in CONTROLLERS:
        mistakes.append(unknown("controller", asked["controller"], list(CONTROLLERS)))
    if asked["shed"]["policy"] not in dict(POLICIES):
        mistakes.append(unknown("policy", asked["shed"]["policy"], [name for name, _ in POLICIES]))
    if asked["close"] and not asked["until_idle"]:
        mistakes.append(Diagnostic("--close goes with --until-idle", help="say both, or neither"))
    if mistakes:
        raise PenstockError(*mistakes)
    return RunOptions(
        **asked, trigger_s=trigger_s, extra={k: v for k, _, v in extra}, log=JavaLog(spark_log, json_log),
        settings=Settings().changed(dict(map(_set, settings))),
    )  # fmt: skip


def _set(pair: str) -> tuple[str, bool | int | float | str]:
    """A setting by its name, its value as the type that it takes; what is no such value stays a word, and is refused.

    >>> _set("train_rows=2000"), _set("late = drop"), _set("headroom=0.5")
    (('train_rows', 2000), ('late', 'drop'), ('headroom', 0.5))
    """
    name, equals, value = (part.strip() for part in pair.partition("="))
    if not equals:
        help = "write NAME=VALUE, such as train_rows=2000"
        raise PenstockError(Diagnostic(f"--set '{pair}' is no setting", help=help))
    wanted: Any = type(KNOBS[name].default) if name in KNOBS else str
    if wanted is bool:
        return name, {"true": True, "false": False}.get(value.lower(), value)
    try:
        return name, wanted(value)
    except ValueError:
        return name, value


def checked_level(level: str) -> str:
    """A level of our own log."""
    if level not in LEVELS:
        raise PenstockError(unknown("level for --log-level", level, LEVELS))
    return level


def _no_pair(text: str) -> Diagnostic:
    return Diagnostic(f"--conf '{text}' is no setting", help="write KEY=VALUE, such as spark.executor.memory=4g")
