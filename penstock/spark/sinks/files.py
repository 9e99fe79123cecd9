"""Files that hold exactly the committed rows: Parquet, JSON lines, CSV.

A batch's rows are one file. Its name follows from the query, the checkpoint and the batch; it appears whole, by a
rename. Written again after a crash it replaces itself. So whoever lists the folder sees every committed row once and
needs no manifest. pyarrow writes it on the driver: a Spark job would cost more than most batches' rows.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv, fs, parquet

from penstock.errors import Diagnostic, PenstockError, unknown
from penstock.plan.connectors import SINKS, unknown_options
from penstock.plan.network import Query
from penstock.plan.secrets import redacted
from penstock.spark.sinks.json_text import cells, instants, json_lines
from penstock.spark.sinks.sink import Target, delivered
from penstock.spark.state.files import Folder

NEWLINE: Final = pa.scalar("\n")
COMPRESSIONS: Final = ("snappy", "gzip", "zstd", "lz4", "none")


@dataclass(frozen=True, slots=True)
class FileSink:
    """A folder of files of one format."""

    target: Target
    folder: Folder
    extra: tuple[str, ...]
    guarantee: str = "exactly once"

    def publish(self, batch: int, query: Query, rows: pa.Table) -> None:
        """Writes the batch's file; a batch without rows has none."""
        if not rows.num_rows:
            return
        name = f"{quote(query.name, safe='')}-{self.target.run[:12]}-{batch:012d}.{self.target.format}"
        try:
            self._write(name, delivered(rows, batch, self.extra))
        except OSError as error:
            raise _unwritable(self.target, self.folder, error) from None

    def _write(self, name: str, rows: pa.Table) -> None:
        system, path = self.folder.open()
        draft = f"{path}/.{name}.{uuid.uuid4().hex}"
        try:
            with system.open_output_stream(draft) as stream:
                WRITERS[self.target.format](rows, stream, self.target)
            _sync(system, draft)
            system.move(draft, f"{path}/{name}")
        except BaseException:
            if system.get_file_info(draft).type == fs.FileType.File:
                system.delete_file(draft)
            raise
        _sync(system, path)


def open_files(target: Target) -> FileSink:
    """The sink for a folder, which is made if need be."""
    path = target.needed("path", "path = 'folder'")
    if mistakes := unknown_options(f"option of {target.what}", target.format, SINKS, target.options):
        raise PenstockError(*mistakes)
    if (compression := target.option("compression")) and compression not in COMPRESSIONS:
        raise PenstockError(unknown(f"compression of {target.what}", compression, COMPRESSIONS))
    folder = Folder(path)
    try:
        system, place = folder.open()
        system.create_dir(place, recursive=True)
        if isinstance(system, fs.LocalFileSystem) and not os.access(place, os.W_OK):
            raise PermissionError(13, "permission denied")
    except OSError as error:
        raise _unwritable(target, folder, error) from None
    return FileSink(target, folder, target.extra())


def _unwritable(target: Target, folder: Folder, error: OSError) -> PenstockError:
    full = error.errno == 28
    help = "free some space; the run continues where it stopped" if full else "name a folder that can be written to"
    reason = "the disk is full" if full else error.strerror or str(error)
    return PenstockError(Diagnostic(f"{target.what}: cannot write {redacted(folder.name)}: {reason}", help=help))


def _sync(system: fs.FileSystem, path: str) -> None:
    """Makes a local file or folder durable; other file systems do so when a file is closed."""
    if isinstance(system, fs.LocalFileSystem):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _parquet(rows: pa.Table, stream: pa.NativeFile, target: Target) -> None:
    parquet.write_table(rows, stream, compression=target.option("compression") or "snappy")


def _json(rows: pa.Table, stream: pa.NativeFile, target: Target) -> None:
    for chunk in json_lines(rows).chunks:
        stream.write("\n".join([*chunk.to_pylist(), ""]).encode())


def _csv(rows: pa.Table, stream: pa.NativeFile, target: Target) -> None:
    header = (target.option("header") or "true").lower() == "true"
    options = csv.WriteOptions(include_header=header, delimiter=target.option("sep") or ",", quoting_style="needed")
    csv.write_csv(flat(rows), stream, options)


def flat(rows: pa.Table) -> pa.Table:
    """Rows as CSV can hold them: instants in ISO 8601, arrays as JSON."""
    for i, field in enumerate(rows.schema):
        column = rows.column(i).combine_chunks()
        if pa.types.is_timestamp(field.type) or pa.types.is_date(field.type):
            rows = rows.set_column(i, field.name, instants(column))
        elif pa.types.is_list(field.type):
            rows = rows.set_column(i, field.name, pc.if_else(column.is_null(), None, cells(column)))
    return rows


WRITERS: Final[Mapping[str, Callable[[pa.Table, pa.NativeFile, Target], None]]] = {
    "parquet": _parquet,
    "json": _json,
    "csv": _csv,
}
