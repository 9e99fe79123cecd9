"""What the sources and sinks that we know are called, and which options each takes. Spark ignores a misspelt option and
looks for a misspelt format until the run has begun; here both are mistakes in the script."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from penstock.errors import Diagnostic, suggestion, unknown

_FILES: Final = (
    "path", "maxFilesPerTrigger", "maxBytesPerTrigger", "maxFileAge", "latestFirst", "fileNameOnly", "cleanSource",
    "sourceArchiveDir", "maxCachedFiles", "discardCachedInputRatio", "pathGlobFilter", "recursiveFileLookup",
    "modifiedAfter", "modifiedBefore", "ignoreMissingFiles", "ignoreCorruptFiles",
)  # fmt: skip
_LINES: Final = ("lineSep", "dateFormat", "timestampFormat", "timestamp_unit", "locale", "multiLine")
_CSV: Final = (
    *_LINES, "header", "sep", "delimiter", "quote", "escape", "comment", "nullValue", "emptyValue", "nanValue",
    "positiveInf", "negativeInf", "ignoreLeadingWhiteSpace", "ignoreTrailingWhiteSpace", "maxColumns",
    "maxCharsPerColumn", "charToEscapeQuoteEscaping", "unescapedQuoteHandling",
)  # fmt: skip
_JSON: Final = (
    *_LINES, "allowComments", "allowUnquotedFieldNames", "allowSingleQuotes", "allowNumericLeadingZeros",
    "allowBackslashEscapingAnyCharacter", "allowUnquotedControlChars", "allowNonNumericNumbers",
)  # fmt: skip
_TEXTS: Final = tuple(dict.fromkeys((*_CSV, *_JSON)))
_KAFKA: Final = (
    "subscribe", "subscribePattern", "assign", "startingOffsets", "startingOffsetsByTimestamp", "startingTimestamp",
    "endingOffsets", "endingTimestamp", "endingOffsetsByTimestamp", "startingOffsetsByTimestampStrategy",
    "failOnDataLoss", "maxOffsetsPerTrigger", "minOffsetsPerTrigger", "maxTriggerDelay", "minPartitions",
    "maxRecordsPerPartition", "groupIdPrefix", "includeHeaders", "kafkaConsumer.pollTimeoutMs",
    "fetchOffset.numRetries", "fetchOffset.retryIntervalMs", "format", "key_column",
)  # fmt: skip
SOURCES: Final[Mapping[str, tuple[str, ...]]] = {
    "csv": (*_FILES, *_CSV),
    "json": (*_FILES, *_JSON),
    "parquet": (*_FILES, "mergeSchema", "datetimeRebaseMode", "int96RebaseMode", "timestamp_unit"),
    "orc": (*_FILES, "mergeSchema", "timestamp_unit"),
    "kafka": (*_KAFKA, *_TEXTS),
    "socket": ("host", "port", "format", *_TEXTS),
    "rate": ("rowsPerSecond", "rampUpTime", "numPartitions"),
    "rate-micro-batch": ("rowsPerBatch", "numPartitions", "startTimestamp", "advanceMillisPerBatch"),
    "replay": ("path", "format", "speed", "arrivals", "pace_by", "maxFilesPerTrigger", *_TEXTS),
}
"""For each format that is read, Spark's options and ours. A format that is not listed takes any."""
SINKS: Final[Mapping[str, tuple[str, ...]]] = {
    "parquet": ("path", "compression", "extra"),
    "json": ("path", "extra"),
    "csv": ("path", "header", "sep", "extra"),
}
"""For each format that we write ourselves, its options."""
_IN_FILES: Final = ("csv", "json", "parquet", "orc", "replay")
"""Formats that are nothing without the option `path`."""
_PAGE: Final = 10
"""How many known names a message lists at most, if some of them begin like the wrong one."""
_OTHERS: Final = ("text", "avro", "xml", "delta", "iceberg", "hudi")
_OTHER_SINKS: Final = (*_OTHERS, "kafka", "console", "memory", "foreach_batch", "orc", "jdbc", "noop")


def unknown_options(
    what: str, format: str, known: Mapping[str, tuple[str, ...]], given: Iterable[str]
) -> list[Diagnostic]:
    """What is to be said of options that `format` does not take; what begins with `kafka.` is Kafka's own business.

    >>> [d.help for d in unknown_options("option", "csv", SOURCES, ["header", "pth"])]
    ["did you mean 'path'?"]
    """
    names = known.get(format.lower())
    if names is None:
        return []
    spelt = {n.lower() for n in names}
    return [
        unknown(what, name, _alike(name, names))
        for name in given
        if name.lower() not in spelt and not (format.lower() == "kafka" and name.lower().startswith("kafka."))
    ]


def _alike(name: str, names: Sequence[str]) -> Sequence[str]:
    """`names`, or where that would be a page, those that begin like `name`."""
    near = [n for n in names if n[0].lower() == name[:1].lower()]
    return near if near and len(names) > _PAGE else names


def missing_path(format: str, given: Iterable[str], *, written: bool) -> Diagnostic | None:
    """What is to be said where a format of files is given no path.

    >>> missing_path("csv", ["header"], written=False).message
    'FROM csv needs a path'
    """
    if format.lower() not in _IN_FILES or "path" in {g.lower() for g in given}:
        return None
    return Diagnostic(f"{'INTO' if written else 'FROM'} {format.lower()} needs a path", help="OPTIONS (path = '...')")


def unknown_format(format: str, *, written: bool) -> Diagnostic | None:
    """What is to be said of a format that looks like a known one misspelt; any other is Spark's to find.

    >>> unknown_format("kafkaa", written=False).help
    "did you mean 'kafka'?"
    >>> unknown_format("mongodb", written=True)
    """
    names = (*SINKS, *_OTHER_SINKS) if written else (*SOURCES, *_OTHERS)
    if format.lower() in names or suggestion(format, names) is None:
        return None
    return unknown("format", format, names)
