"""Secrets in OPTIONS: shown as stars, given by name, read when a run starts.

A value may be `env:NAME` (an environment variable) or `file:/path` (a file's text). The plan keeps the name; only the
process that opens the connection ever holds the value. Whatever prints options prints `redact(options)`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from penstock.errors import Diagnostic, PenstockError, suggestion

HIDDEN: Final = "***"
Value = str | int | float | bool
_SECRET: Final = re.compile(
    r"(?:^|[^a-z])(?:pass|pwd|keys?|signature|sas|jaas|auth|authorization|bearer|cookie|pem"
    r"|connection[^a-z]?string|user[^a-z]?info)(?:$|[^a-z])"
    r"|(?:passwords?|passwd|passphrase|secrets?|tokens?|credentials?|(?:api|access|secret|private|account)keys?)(?:$|[^a-z])"
)
_PUBLIC: Final = frozenset({"key", "keys", "partition.key", "key.format", "row.key", "primary.key", "key.column"})
_USER_INFO: Final = re.compile(r"(?<!\w)(\w++://)[^\s/]+@")
_NAMES: Final = (
    r"[\w.-]*(?:password|passwd|passphrase|(?<![a-z])pwd|secret|token|credential|signature|authorization|jaas\.config"
    r"|(?:access|api|account|private)[_.-]?key)[\w.-]*+|(?<![\w.-])sig"
)
_VALUE: Final = r"""(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|''|\\.)*'|[^\s,;&'")}\]]+)"""
_IS: Final = r"""["'`]?\s*(?:[-=]>|[=:])\s*"""
_ASSIGNED: Final = re.compile(rf"(?i)(?<![\w.-])((?:{_NAMES}){_IS}(?:(?:bearer|basic)\s+)?)({_VALUE})")
_BESIDE: Final = re.compile(r"""(?i)(?<![\w.-])([\w.-]*(?:password|passwd|passphrase|secret)s?\s+)("[^"]*"|'[^']*')""")
_INSIDE: Final = re.compile(rf"""(?i)((?:"|'|^|\s)[\w.-]*jaas\.config{_IS})(.+;["']?)""")
"""A whole login module stands behind this name."""


def is_secret(name: str) -> bool:
    """True where the value of the option `name` is nobody's business.

    >>> [is_secret(n) for n in ("kafka.sasl.jaas.config", "fs.s3a.secret.key", "accessKeyId", "apiToken", "subscribe")]
    [True, True, True, True, False]
    >>> is_secret("key"), is_secret("monkey"), is_secret("kafka.ssl.keystore.location")
    (False, False, False)
    """
    words = re.sub(r"[^a-z]+", ".", re.sub(r"([a-z0-9])([A-Z])", r"\1.\2", name).lower()).strip(".")
    return words not in _PUBLIC and _SECRET.search(words) is not None


def redact(options: Mapping[str, Value]) -> dict[str, Value]:
    """`options` as they may be shown: secrets hidden, a reference to one kept, user names and passwords taken out of
    URLs.

    >>> redact({"url": "https://me:pw@host/x", "password": "hunter2", "token": "env:TOKEN", "subscribe": "a"})
    {'url': 'https://***@host/x', 'password': '***', 'token': 'env:TOKEN', 'subscribe': 'a'}
    """
    return {name: _shown(name, value) for name, value in options.items()}


def _shown(name: str, value: Value) -> Value:
    if not isinstance(value, str):
        return HIDDEN if is_secret(name) else value
    if is_secret(name):
        return value if _reference(value) else HIDDEN
    return scrub(value)


def scrub(text: str, values: Mapping[str, Value] | None = None) -> str:
    """A message without secrets: without the secret ones of `values`, without anything that is assigned to a name that
    looks like one, and without user names in URLs. For messages that other programs wrote.

    >>> scrub("login failed: password=hunter2; at ftp://me:pw@host/ with T0p", {"token": "T0p"})
    'login failed: password=***; at ftp://***@host/ with ***'
    """
    hidden = [str(v) for n, v in (values or {}).items() if is_secret(n) and len(str(v)) > 2 and not _reference(str(v))]
    for value in sorted(hidden, key=len, reverse=True):
        text = text.replace(value, HIDDEN)
    text = _USER_INFO.sub(rf"\1{HIDDEN}@", text)
    for pattern in (_INSIDE, _ASSIGNED, _BESIDE):
        text = pattern.sub(rf"\1{HIDDEN}", text)
    return text


def veil(text: str) -> str:
    """A script in which secrets are stars, as many as they have letters: for messages that show lines of it.

    >>> veil("OPTIONS (password = 'hunter2', 'kafka.sasl.jaas.config' = 'x', path = 'in')")
    "OPTIONS (password = *********, 'kafka.sasl.jaas.config' = ***, path = 'in')"
    """
    for pattern in (_ASSIGNED, _BESIDE):
        text = pattern.sub(lambda found: found[1] + "*" * len(found[2]), text)
    return _USER_INFO.sub(lambda found: found[1] + "*" * (len(found[0]) - len(found[1]) - 1) + "@", text)


def redacted(place: str) -> str:
    """A path or URI without its credentials.

    >>> redacted("s3://key:secret@bucket/ck"), redacted("out/a@b")
    ('s3://***@bucket/ck', 'out/a@b')
    """
    scheme, separator, rest = place.partition("://")
    user, at, _ = rest.partition("/")[0].rpartition("@")
    return f"{scheme}://{HIDDEN}@{rest[len(user) + 1 :]}" if separator and at else place


def resolve(options: Mapping[str, Value], environ: Mapping[str, str]) -> dict[str, Value]:
    """`options` with every `env:NAME` and `file:/path` of a secret replaced by what it names. All that cannot be found
    is reported at once.

    >>> resolve({"password": "env:DB_PASSWORD", "path": "file:/data"}, {"DB_PASSWORD": "hunter2"})
    {'password': 'hunter2', 'path': 'file:/data'}
    """
    resolved: dict[str, Value] = {}
    mistakes: list[Diagnostic] = []
    for name, value in options.items():
        try:
            resolved[name] = _value(name, value, environ)
        except PenstockError as error:
            mistakes.extend(error.diagnostics)
    if mistakes:
        raise PenstockError(*mistakes)
    return resolved


def _value(name: str, value: Value, environ: Mapping[str, str]) -> Value:
    if not isinstance(value, str):
        return value
    kind, _, place = value.partition(":")
    if kind == "env" and place:
        return _from_environment(name, place, environ)
    if kind == "file" and place and is_secret(name):
        return _from_file(name, place)
    return value


def _from_environment(option: str, name: str, environ: Mapping[str, str]) -> str:
    if name in environ:
        return environ[name]
    help = suggestion(name, environ) or f"export {name}=... before the run"
    raise PenstockError(Diagnostic(f"option '{option}': the environment has no variable '{name}'", help=help))


def _from_file(option: str, place: str) -> str:
    path = Path("/" + place.lstrip("/") if place.startswith("/") else place)
    try:
        return path.read_text(encoding="utf-8").rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not a text in UTF-8"
        raise PenstockError(
            Diagnostic(f"option '{option}': cannot read the file '{path}': {reason}", help="name a file with the value")
        ) from None


def _reference(value: str) -> bool:
    return value.startswith(("env:", "file:"))
