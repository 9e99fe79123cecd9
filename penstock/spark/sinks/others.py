"""Sinks for looking (console), for tests and notebooks (memory), for code (foreach_batch), and Spark's own."""

from __future__ import annotations

import importlib
import json
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa

from penstock.errors import Diagnostic, PenstockError
from penstock.plan.network import Query
from penstock.spark.errors import explained
from penstock.spark.sinks.json_text import json_lines
from penstock.spark.sinks.sink import Target, delivered, frame_of

ForeachBatch = Callable[[Any, int], object]
_MEMORY: Final[dict[str, tuple[str, dict[int, pa.Table]]]] = {}
"""For each name, the run that has filled it, and its batches."""
_LOCK: Final = threading.Lock()


@dataclass(frozen=True, slots=True)
class ConsoleSink:
    """A line for each row, on standard output: the query's name and the row, or with `as_json` one object of both."""

    extra: tuple[str, ...]
    as_json: bool = False
    guarantee: str = "at least once"

    def publish(self, batch: int, query: Query, rows: pa.Table) -> None:
        """Prints the rows."""
        lines = json_lines(delivered(rows, batch, self.extra)).to_pylist()
        start, end = (f'{{"kind": "row", "query": {json.dumps(query.name)}, "row": ', "}") if self.as_json else (
            f"{query.name} ", "")  # fmt: skip
        sys.stdout.write("".join(f"{start}{line}{end}\n" for line in lines))
        sys.stdout.flush()


@dataclass(frozen=True, slots=True)
class MemorySink:
    """A table in this process, which `memory_table` reads."""

    name: str
    run: str
    extra: tuple[str, ...]
    guarantee: str = "exactly once, as long as the process lives"

    def publish(self, batch: int, query: Query, rows: pa.Table) -> None:
        """Keeps the rows of the batch, in the place of those that an earlier call or another run may have left."""
        with _LOCK:
            if _MEMORY.get(self.name, ("", {}))[0] != self.run:
                _MEMORY[self.name] = (self.run, {})
            _MEMORY[self.name][1][batch] = delivered(rows, batch, self.extra)


def memory_table(name: str) -> pa.Table:
    """All that the memory sink `name` holds, batch after batch."""
    with _LOCK:
        batches = dict(_MEMORY.get(name, ("", {}))[1])
    if not batches:
        raise PenstockError(Diagnostic(f"no memory sink has been given rows under the name '{name}'"))
    return pa.concat_tables([batches[b] for b in sorted(batches)])


def forget(name: str) -> None:
    """Empties the memory sink `name`."""
    with _LOCK:
        _MEMORY.pop(name, None)


@dataclass(frozen=True, slots=True)
class FunctionSink:
    """A user's `function(df, batch_id)`."""

    target: Target
    function: ForeachBatch
    extra: tuple[str, ...]
    guarantee: str = "at least once: the function may be called again with the same batch_id"

    def publish(self, batch: int, query: Query, rows: pa.Table) -> None:
        """Calls the function with the rows as a Spark frame; what it raises ends the run with its place."""
        frame = frame_of(self.target.spark, delivered(rows, batch, self.extra))
        try:
            self.function(frame, batch)
        except Exception as error:
            name = getattr(self.function, "__name__", repr(self.function))
            raised = f"{type(error).__name__}: {error}"
            message = f"{self.target.what}: the function '{name}' raised {raised} in batch {batch}"
            raise PenstockError(
                Diagnostic(message, help="the batch is committed; it is given to the function again after a restart")
            ) from error


def open_function(target: Target, given: ForeachBatch | None) -> FunctionSink:
    """The function that Python code has given, or the one that `function = 'module:name'` names."""
    if given is not None:
        return FunctionSink(target, given, target.extra())
    place = target.needed("function", "function = 'module:name'")
    module, _, name = place.partition(":")
    try:
        found = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        help = "write module:name; the module must be importable where the run was started"
        raise PenstockError(Diagnostic(f"{target.what}: there is no function '{place}': {error}", help=help)) from None
    return FunctionSink(target, found, target.extra())


@dataclass(frozen=True, slots=True)
class SparkSink:
    """Any format that Spark writes by name."""

    target: Target
    extra: tuple[str, ...]
    guarantee: str = "at least once"

    def publish(self, batch: int, query: Query, rows: pa.Table) -> None:
        """Appends the batch (or does what the option `mode` says)."""
        if not rows.num_rows:
            return
        with explained(self.target.what, self.target.options):
            frame = frame_of(self.target.spark, delivered(rows, batch, self.extra))
            writer = frame.write.format(self.target.format).mode(self.target.option("mode") or "append")
            writer.options(**self.target.without("mode")).save()
