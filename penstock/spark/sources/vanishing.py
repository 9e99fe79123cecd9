"""Files that go before they are read. Spark takes a folder that is gone for one in which nothing arrives, and a file
that went between its listing and its batch for an empty one; here both are mistakes with a name."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlparse

from pyspark.sql import SparkSession

from penstock.errors import Diagnostic, PenstockError
from penstock.plan.network import StreamDefinition
from penstock.spark.sources.files import COLUMNAR, TEXT

FORMATS: Final = (*TEXT, *COLUMNAR, "text")
BACK: Final = "put it back and run again: the run continues where it stopped"
KEEP: Final = "leave files in place until they are read; the option ignoreMissingFiles = true goes on without them"


class Vanishing:
    """Looks after the files of `streams`; `checkpoint` is the folder of the run's."""

    def __init__(self, spark: SparkSession, streams: Sequence[StreamDefinition], checkpoint: str) -> None:
        self._spark = spark
        self._streams = [s for s in streams if s.source is not None and s.source.format.lower() in FORMATS]
        asked = [_option(s, "ignoreMissingFiles") for s in self._streams]
        self._lenient = not self._streams or any((a or "").lower() == "true" for a in asked)
        self._log = Path(checkpoint) / "spark" / "sources"
        self._read: dict[str, int] = {}

    def folders(self) -> None:
        """Raises where the folder or file of a stream is there no more."""
        gone = [s.name for s in self._streams if not self._there(_option(s, "path"))]
        if gone:
            raise PenstockError(*(Diagnostic(f"stream '{n}': what it reads has vanished", help=BACK) for n in gone))

    def _there(self, place: str | None) -> bool:
        if place is None or place.startswith("env:") or any(c in place for c in "*?[{") or self._spark._jvm is None:
            return True
        path = self._spark._jvm.org.apache.hadoop.fs.Path(place)
        return bool(path.getFileSystem(self._spark._jsc.hadoopConfiguration()).exists(path))

    def files(self) -> None:
        """Raises where a file of the batch that begins, as Spark has listed it, is there no more."""
        gone = [] if self._lenient else [file for file in self._listed() if not Path(file).exists()]
        if gone:
            what = ", ".join(gone[:3]) + (f" and {len(gone) - 3} more" if len(gone) > 3 else "")
            raise PenstockError(Diagnostic(f"the run: a file vanished before it was read: {what}", help=KEEP))

    def _listed(self) -> Iterator[str]:
        """The local files that Spark has listed since this was asked the last time; at first, those of its last
        listing."""
        for source in sorted(self._log.glob("*")):
            found = {int(m[1]): f for f in source.glob("*") if (m := re.fullmatch(r"(\d+)(?:\.compact)?", f.name))}
            newest = max(found, default=-1)
            for number in range(self._read.get(source.name, newest - 1) + 1, newest + 1):
                yield from _paths(found[number], number) if number in found else ()
            self._read[source.name] = newest


def _paths(listing: Path, number: int) -> Iterator[str]:
    for line in listing.read_text(encoding="utf-8").splitlines()[1:]:
        entry = json.loads(line)
        place = urlparse(entry["path"])
        if entry["batchId"] == number and place.scheme in ("", "file"):
            yield unquote(place.path)


def _option(stream: StreamDefinition, name: str) -> str | None:
    options = () if stream.source is None else stream.source.options
    return next((str(v) for k, v in options if k.lower() == name.lower()), None)
