"""Rows that could not be read: set aside with the reason, counted, never lost silently.

A batch's dead letters are one file of JSON lines for each stream, under a name that follows from the stream, the
checkpoint and the batch, so that a batch that is published again replaces it. Counts are by stream and reason; reasons
are few, since they name a column and a type, never a value. Where no folder is given, rows are counted all the same.
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import quote

import pyarrow as pa
import pyarrow.compute as pc

from penstock.errors import Diagnostic, PenstockError
from penstock.plan.secrets import redacted
from penstock.spark.sinks.json_text import json_lines
from penstock.spark.state.files import Folder

COLUMNS: Final = ("_stream", "_reason", "_raw", "_source", "_offset", "_arrival")
"""What is known of a malformed row; in the files the names lack the underscore."""
ROWS_KEPT: Final = 100_000
"""Of each stream, batch and reason at most so many rows are written; all are counted. A stream in another format than
declared is all dead letters, and would fill the disk twice."""


@dataclass(slots=True)
class DeadLetters:
    """The dead letters of a run, in `folder` if there is one; `run` is the checkpoint's identity."""

    run: str
    folder: str | None = None
    counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Rows by (stream, reason) that this process has seen."""

    def add(self, batch: int, rows: pa.Table) -> Mapping[tuple[str, str], int]:
        """Keeps and counts the malformed rows of `batch`, all streams' together, and returns their counts."""
        found = counted(rows)
        self.counts.update(found)
        if self.folder is not None:
            streams = rows.column("_stream")
            for stream in pc.unique(streams).to_pylist():
                self._write(self.folder, stream, batch, rows.filter(pc.equal(streams, stream)))
        return found

    def _write(self, folder: str, stream: str, batch: int, rows: pa.Table) -> None:
        lines = json_lines(_letters(rows, batch)).to_pylist()
        name = f"{quote(stream, safe='')}-{self.run[:12]}-{batch:012d}.json"
        system, path = Folder(folder).open()
        draft = f"{path}/.{name}.{uuid.uuid4().hex}"
        try:
            system.create_dir(path, recursive=True)
            with system.open_output_stream(draft) as out:
                out.write("\n".join([*lines, ""]).encode())
            system.move(draft, f"{path}/{name}")
        except OSError as error:
            help = "name a folder that can be written to, or leave dead letters uncollected"
            message = f"cannot write dead letters to {redacted(folder)}: {error.strerror or error}"
            raise PenstockError(Diagnostic(message, help=help)) from None


def counted(rows: pa.Table) -> dict[tuple[str, str], int]:
    """How many rows of each stream have each reason.

    >>> counted(pa.table({"_stream": ["a", "a", "b"], "_reason": ["x", "x", "y"]}))
    {('a', 'x'): 2, ('b', 'y'): 1}
    """
    groups = rows.group_by(["_stream", "_reason"], use_threads=False).aggregate([([], "count_all")]).to_pylist()
    return {(g["_stream"], g["_reason"]): g["count_all"] for g in groups}


def _letters(rows: pa.Table, batch: int) -> pa.Table:
    """The rows in a fixed order, so that a batch writes the same file twice; of one reason no more than are kept."""
    ordered = rows.select(COLUMNS).sort_by([(c, "ascending") for c in ("_reason", "_source", "_offset")])
    reasons = ordered.column("_reason")
    kept = [ordered.filter(pc.equal(reasons, r)).slice(0, ROWS_KEPT) for r in pc.unique(reasons).to_pylist()]
    whole = pa.concat_tables(kept)
    arrivals = whole.column("_arrival").cast(pa.timestamp("us", tz="UTC"))
    whole = whole.set_column(whole.column_names.index("_arrival"), "_arrival", arrivals)
    named = whole.rename_columns([c.removeprefix("_") for c in whole.column_names])
    return named.add_column(1, "batch", pa.repeat(pa.scalar(batch, pa.int64()), whole.num_rows))
