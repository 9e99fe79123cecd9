"""What was asked for on the command line, checked, as a run takes it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from penstock.console.log import LEVELS
from penstock.errors import Diagnostic, PenstockError, unknown

if TYPE_CHECKING:
    from penstock.spark.run import RunOptions


def run_options(*, conf: Iterable[str], spark_log: str, json_log: bool, trigger_s: float, **asked: Any) -> RunOptions:
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
    if asked["close"] and not asked["until_idle"]:
        mistakes.append(Diagnostic("--close goes with --until-idle", help="say both, or neither"))
    if mistakes:
        raise PenstockError(*mistakes)
    return RunOptions(
        **asked, trigger_s=trigger_s, extra={k: v for k, _, v in extra}, log=JavaLog(spark_log, json_log)
    )


def checked_level(level: str) -> str:
    """A level of our own log."""
    if level not in LEVELS:
        raise PenstockError(unknown("level for --log-level", level, LEVELS))
    return level


def _no_pair(text: str) -> Diagnostic:
    return Diagnostic(f"--conf '{text}' is no setting", help="write KEY=VALUE, such as spark.executor.memory=4g")
