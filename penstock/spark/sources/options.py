"""The options that each source knows. Spark ignores a misspelt option; here it is an error."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from penstock.errors import PenstockError, unknown

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
KNOWN: Final[Mapping[str, tuple[str, ...]]] = {
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
"""For each format, Spark's options and ours. A format that is not listed takes any."""


def checked_options(what: str, format: str, given: Iterable[str]) -> None:
    """Refuses options that `format` does not know; what begins with `kafka.` is Kafka's own business."""
    known = KNOWN.get(format)
    if known is None:
        return
    spelt = {k.lower() for k in known}
    mistakes = [
        unknown(f"option of {what}", name, known)
        for name in given
        if name.lower() not in spelt and not (format == "kafka" and name.lower().startswith("kafka."))
    ]
    if mistakes:
        raise PenstockError(*mistakes)
