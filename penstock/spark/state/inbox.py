"""The batch that was taken from Spark and is not committed yet, with its rows: `inbox/` in the checkpoint.

Where the driver has a batch's rows it may let Spark go on before the lanes are through with them, so that Spark
prepares the next batch meanwhile. What Spark then holds for finished it never gives again; so the rows are kept here
first, and a run that starts after a crash works them off before anything else.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from penstock.spark.drops import Counted
from penstock.spark.lanes.container import pack, unpack
from penstock.spark.lanes.wire import from_bytes, to_bytes
from penstock.spark.state.files import Folder
from penstock.spark.state.records import batch_of, file_of

FOLDER = "inbox"


@dataclass(frozen=True, slots=True)
class Letter:
    """What is kept of batch `batch`, which Spark gave as `source`: its rows, how far they take time, what the gate
    dropped of it."""

    batch: int
    source: int
    rows: Sequence[pa.RecordBatch]
    until: Mapping[str, int]
    dropped: Counted | None


class Inbox:
    """The folder of a checkpoint."""

    def __init__(self, checkpoint: Folder) -> None:
        self._folder = checkpoint.sub(FOLDER)

    def put(self, letter: Letter) -> None:
        """Makes a batch durable."""
        dropped = None if letter.dropped is None else [letter.dropped.dropped, letter.dropped.kept]
        head = {"source": letter.source, "until": dict(letter.until), "dropped": dropped}
        rows = to_bytes(pa.Table.from_batches(letter.rows)) if letter.rows else b""
        self._folder.write(file_of(letter.batch), pack({"head": json.dumps(head).encode(), "rows": rows}))

    def get(self, batch: int) -> Letter | None:
        """What is kept of a batch."""
        try:
            pieces = unpack(self._folder.read(file_of(batch)))
        except FileNotFoundError:
            return None
        head = json.loads(pieces["head"])
        rows = from_bytes(pieces["rows"]).to_batches() if pieces["rows"] else []
        dropped = None if head["dropped"] is None else Counted(tuple(head["dropped"][0]), head["dropped"][1])
        return Letter(batch, head["source"], rows, head["until"], dropped)

    def clear(self, committed: int) -> None:
        """Deletes what is committed: all batches up to `committed`."""
        for name in self._folder.names():
            if batch_of(name) <= committed:
                self._folder.remove(name)
