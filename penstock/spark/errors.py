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
        "leave files in place until they have been read; the option ignoreMissingFiles = true goes on without it",
    ),
    (
        r"FAILED_READ_FILE\S* .*?(?P<what>\w+:/\S+?)\.? ",
        "the file {what} cannot be read",
        "it may be cut short, or not in the declared format",
    ),
    (r"is not a Parquet file(?P<what>)", "a file is not Parquet", "check the format after FROM"),
    (
        r"Answer from Java side is empty|Error while sending or receiving|trying to connect to the Java server",
        "Spark's Java process has ended",
        "was it killed, for want of memory perhaps? a new run on the same checkpoint continues where this one stopped",
    ),
    (
        r"No space left on device|Disk quota exceeded|File too large",
        "the disk is full",
        "free some space; a new run continues where this one stopped",
    ),
    (r"Permission denied(?P<what>)", "permission denied", "the user who runs Penstock needs access"),
    (r"(?:Address already in use|BindException)(?P<what>)", "the port is taken", "choose another port"),
)


_OURS: Final = re.compile(r"(?:^|: )penstock: (?P<what>.+)(?P<more>(?:\n {4}.+)*)")
"""What a lane or a courier says, on whatever way it came."""


def translated(error: BaseException, what: str, options: Mapping[str, Value] | None = None) -> PenstockError:
    """`error` as one of ours: the sentence that fits it and its own first line, secrets taken out."""
    text = _text(error)
    if ours := _OURS.search(text):
        return _ours(what, ours, text, options)
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
    except (PySparkException, Py4JError, OSError, RuntimeError) as error:
        if isinstance(error, RuntimeError) and not isinstance(error, Py4JError) and not _OURS.search(str(error)):
            raise
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
    if isinstance(error, OSError) and error.strerror:
        return error.strerror + (f": {error.filename}" if error.filename else "")
    described = [str(error)]
    origin = getattr(error, "_stackTrace", None) or getattr(error, "_stacktrace", None)
    return "\n".join([*described, *re.findall(r"(?m)^Caused by: .*$", str(origin or ""))])


def _first_line(text: str) -> str:
    line = next((part.strip() for part in text.splitlines() if part.strip()), "an error without a message")
    return re.sub(r"^(?:[\w.$]+(?:Exception|Error): )+|\s*SQLSTATE: \w+\s*$", "", line)[:500]


def _ours(what: str, said: re.Match[str], text: str, options: Mapping[str, Value] | None) -> PenstockError:
    lines = [scrub(line.strip(), options) for line in said["more"].splitlines() if line.strip()]
    help = next((line.removeprefix("help: ") for line in lines if line.startswith("help: ")), None)
    notes = tuple(line for line in lines if not line.startswith("help: "))
    message = f"{what}: {scrub(said['what'], options)}"
    return PenstockError(Diagnostic(message, None, notes + _origin(text, options), help))


def _origin(text: str, options: Mapping[str, Value] | None) -> tuple[str, ...]:
    """Where the failure of a lane came from: the last place in our code, and what was raised there."""
    trace = text.partition("Traceback (most recent call last):\n")[2]
    places = re.findall(r'(?m)^  File "(.+)", line (\d+), in (\S+)$', trace)
    raised = re.findall(r"(?m)^\w[\w.]*(?:Error|Exception|Warning|Interrupt)?(?:: .*)?$", trace)
    last = [f"in {name} ({file}:{line})" for file, line, name in places[-1:]]
    return tuple(scrub(note, options) for note in [*raised[-1:], *last])


def _notes(text: str, options: Mapping[str, Value] | None) -> tuple[str, ...]:
    return (scrub(f"Spark says: {_first_line(text)}", options),)
