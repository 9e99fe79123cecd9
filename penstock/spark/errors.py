"""Spark's and Java's errors as what a person can act on: what was wrong, and what to try."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import PySparkException

from penstock.errors import Diagnostic, PenstockError
from penstock.plan.secrets import Value, scrub

_PATTERNS: Final[tuple[tuple[str, str, str | None], ...]] = (
    (
        r"(?s)PATH_NOT_FOUND.*?Path does not exist: (?P<what>\S+?)\.? ",
        "there is no file or folder {what}",
        "check the option 'path'; a relative path starts at the folder that the run was started in",
    ),
    (
        r"Failed to find (?:the )?data source: (?P<what>kafka)\b",
        "Spark has no Kafka connector",
        "'penstock doctor' says how it is found; give Maven (mvn) on the PATH, or --packages",
    ),
    (
        r"Failed to find (?:the )?data source: `?(?P<what>[\w-]+(?:\.[\w-]+)*)`?",
        "Spark has no data source '{what}'",
        "check the spelling; a source of others comes with --packages group:artifact:version",
    ),
    (
        r"No resolvable bootstrap urls",
        "the name of the Kafka broker cannot be resolved",
        "check the option 'kafka.bootstrap.servers'",
    ),
    (
        r"Invalid url in bootstrap\.servers: (?P<what>\S+)",
        "'{what}' is no address of a Kafka broker",
        "write host:port",
    ),
    (
        r"UnknownTopicOrPartition|does not host this topic|Topic .{0,80} not present",
        "Kafka has no such topic",
        "check the options 'subscribe' and 'topic', or create the topic",
    ),
    (
        r"Timed out waiting for a node assignment|TimeoutException|Timeout of \d+ms expired|Bootstrap broker .*disconn",
        "the Kafka broker does not answer",
        "is it running, and does 'kafka.bootstrap.servers' name it?",
    ),
    (
        r"SaslAuthenticationException|SslAuthenticationException|Authentication failed",
        "Kafka refused the credentials",
        "check the options kafka.security.protocol and kafka.sasl.*",
    ),
    (
        r"some data may have been lost|Some data may have been lost|failOnDataLoss",
        "Kafka no longer has the records that come next",
        "they were deleted before they were read; failOnDataLoss = false goes on without them",
    ),
    (
        r"Connection refused",
        "nothing listens at the address",
        "start the server, or check the host and the port",
    ),
    (r"UnknownHostException:? (?P<what>\S+)", "there is no host '{what}'", "check the spelling of the host"),
    (
        r"(?s)(?:SchemaColumnConvertNotSupportedException|FAILED_READ_FILE\.PARQUET_COLUMN_DATA_TYPE_MISMATCH).*?"
        r"[Cc]olumn: \[(?P<what>[^\]]+)\]",
        "column {what} has another type in the file than in the declaration",
        "declare the type that the file has",
    ),
    (
        r"FAILED_READ_FILE.FILE_NOT_EXIST|FileNotFoundException: (?:File )?(?P<what>\S+)",
        "a file vanished while it was read: {what}",
        "leave files in place until they have been read",
    ),
    (
        r"FAILED_READ_FILE\S* .*?(?P<what>\w+:/\S+?)\.? ",
        "the file {what} cannot be read",
        "it may be cut short, or not in the declared format",
    ),
    (r"is not a Parquet file(?P<what>)", "a file is not Parquet", "check the format after FROM"),
    (r"No space left on device(?P<what>)", "the disk is full", "free some space; the run continues where it stopped"),
    (r"Permission denied(?P<what>)", "permission denied", "the user who runs Penstock needs access"),
    (r"(?:Address already in use|BindException)(?P<what>)", "the port is taken", "choose another port"),
)


def translated(error: BaseException, what: str, options: Mapping[str, Value] | None = None) -> PenstockError:
    """`error` as one of ours: the sentence that fits it and its own first line, secrets taken out."""
    text = _text(error)
    for pattern, message, help in _PATTERNS:
        if match := re.search(pattern, text):
            found = {k: v or "" for k, v in match.groupdict().items()}
            said = scrub(message.format(**{"what": "", **found}).strip(": "), options)
            return PenstockError(Diagnostic(f"{what}: {said}", notes=_notes(text, options), help=help))
    return PenstockError(Diagnostic(f"{what}: {scrub(_first_line(text), options)}"))


@contextmanager
def explained(what: str, options: Mapping[str, Value] | None = None) -> Iterator[None]:
    """Whatever Spark raises inside leaves as a PenstockError about `what` ("stream 'packets'")."""
    try:
        yield
    except (PySparkException, Py4JError) as error:
        raise translated(error, what, options) from None


def _text(error: BaseException) -> str:
    """All that an error says, its causes in Java included."""
    if isinstance(error, Py4JJavaError):
        causes: list[str] = []
        java = error.java_exception
        while java is not None and len(causes) < 12:
            causes.append(str(java.toString()))
            java = java.getCause()
        return "\n".join(causes)
    described = [str(error)]
    origin = getattr(error, "_stackTrace", None) or getattr(error, "_stacktrace", None)
    return "\n".join([*described, *re.findall(r"(?m)^Caused by: .*$", str(origin or ""))])


def _first_line(text: str) -> str:
    line = next((part.strip() for part in text.splitlines() if part.strip()), "an error without a message")
    return re.sub(r"^(?:[\w.$]+(?:Exception|Error): )+|\s*SQLSTATE: \w+\s*$", "", line)[:500]


def _notes(text: str, options: Mapping[str, Value] | None) -> tuple[str, ...]:
    return (scrub(f"Spark says: {_first_line(text)}", options),)
