"""Rows from files, for relations that are loaded and for streams that are read in process: CSV, JSON lines, Parquet.

Options are those of Spark's sources where these have them: `path` (a file, a folder or a pattern), `header`, `sep`,
`nullValue`.
"""

from __future__ import annotations

import csv
import glob
import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from penstock.errors import Diagnostic, PenstockError, unknown
from penstock.plan.network import Connector
from penstock.plan.schema import Schema

Options = Mapping[str, Any]
Values = dict[str, Any]


def read(connector: Connector, schema: Schema) -> Iterator[Values]:
    """The rows behind `connector`, as {column: value}; in a text an empty value is NULL."""
    reader = READERS.get(connector.format.lower())
    if reader is None:
        raise PenstockError(unknown("file format", connector.format, list(READERS)))
    options = {name.lower(): value for name, value in connector.options}
    if "path" not in options:
        raise PenstockError(Diagnostic(f"FROM {connector.format} needs a path", help="OPTIONS (path = '...')"))
    for path in _paths(str(options["path"])):
        yield from reader(path, schema, options)


def _paths(pattern: str) -> list[Path]:
    """The files that a path means: itself, what lies in the folder, or what matches; hidden ones do not count."""
    path = Path(pattern)
    found = path.iterdir() if path.is_dir() else [path] if path.exists() else map(Path, glob.glob(pattern))
    files = sorted(f for f in found if f.is_file() and not f.name.startswith((".", "_")))
    if not files:
        raise PenstockError(Diagnostic(f"there is no file '{pattern}'", help="a path is taken from where you are"))
    return files


def _csv(path: Path, schema: Schema, options: Options) -> Iterator[Values]:
    null = str(options.get("nullvalue", ""))
    with path.open(newline="", encoding="utf-8") as file:
        lines = csv.reader(file, delimiter=str(options.get("sep", options.get("delimiter", ","))))
        names = next(lines, []) if _true(options.get("header", True)) else list(schema.names)
        columns = [_column(n, schema) for n in names]
        for line in lines:
            if line:
                yield {c: v for c, v in zip(columns, line, strict=False) if c is not None and v not in ("", null)}


def _column(written: str, schema: Schema) -> str | None:
    """The schema's column for one of the file's, None for one that is not wanted."""
    return next((n for n in schema.names if n.lower() == written.strip().lower()), None)


def _json(path: Path, schema: Schema, options: Options) -> Iterator[Values]:
    with path.open(encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            if line.strip():
                yield _picked(_object(line, path, number), schema)


def _object(line: str, path: Path, number: int) -> Values:
    try:
        value = json.loads(line)
    except ValueError as error:
        raise PenstockError(f"{path}:{number}: {error}") from None
    if not isinstance(value, dict):
        raise PenstockError(Diagnostic(f"{path}:{number}: this is no object", help="one JSON object a line"))
    return value


def _parquet(path: Path, schema: Schema, options: Options) -> Iterator[Values]:
    import pyarrow.parquet

    for batch in pyarrow.parquet.ParquetFile(path).iter_batches():
        for row in batch.to_pylist():
            yield _picked(row, schema)


def _picked(row: Values, schema: Schema) -> Values:
    by_name = {name.lower(): value for name, value in row.items()}
    return {n: by_name.get(n.lower()) for n in schema.names}


def _true(value: Any) -> bool:
    return value if isinstance(value, bool) else str(value).lower() in ("true", "1", "yes")


READERS: Final[Mapping[str, Callable[[Path, Schema, Options], Iterator[Values]]]] = {
    "csv": _csv,
    "json": _json,
    "parquet": _parquet,
}
