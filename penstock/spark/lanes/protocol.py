"""What a courier and a lane's server say to each other over their socket: a JSON head and a body of bytes, each way."""

from __future__ import annotations

import json
import os
import socket
import struct
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from io import BufferedRWPair
from pathlib import Path
from typing import IO, Any, Final

_HEAD: Final = struct.Struct("<QQ")
_LONGEST_SOCKET_PATH: Final = 100
"""Socket addresses are at most 107 bytes on Linux, 103 on macOS."""


Stream = IO[bytes] | BufferedRWPair


@dataclass(frozen=True, slots=True)
class Request:
    """A stage of a batch for one lane.

    checkpoint   the checkpoint folder
    run          the identity of the checkpoint, by which servers are found
    network      fingerprint of the network, under which its definition lies in the checkpoint
    lane, lanes  which lane, of how many
    batch, stage what is to be run
    before       the attempt that the state must come from; None where there is no batch before
    earlier      the attempts of this lane at the earlier stages of this batch; `before` is then the last of them
    attempt      the name of this attempt
    progress     for each leaf of the stage, the instant before which it is complete
    until        where the batch's own rows take the leaves' time further than `progress`, by which they are judged
    plan         what is left of the batch's plan to the lanes, as `penstock.spark.plans` writes it
    functions    the users' functions of this run, under which the checkpoint has them
    """

    checkpoint: str
    run: str
    network: str
    lane: int
    lanes: int
    batch: int
    stage: int
    before: str | None
    attempt: str
    progress: Mapping[str, int] = field(default_factory=dict)
    earlier: tuple[str, ...] = ()
    until: Mapping[str, int] = field(default_factory=dict)
    plan: str = ""
    functions: str = ""


def send(stream: Stream, head: Mapping[str, Any], body: bytes = b"") -> None:
    """Writes one message."""
    encoded = json.dumps(head).encode()
    stream.write(_HEAD.pack(len(encoded), len(body)))
    stream.write(encoded)
    stream.write(body)
    stream.flush()


def receive(stream: Stream) -> tuple[dict[str, Any], bytes]:
    """Reads one message; EOFError where the other side has gone."""
    head, body = _HEAD.unpack(_exactly(stream, _HEAD.size))
    return json.loads(_exactly(stream, head)), _exactly(stream, body)


def _exactly(stream: Stream, count: int) -> bytes:
    content = stream.read(count)
    if len(content) < count:
        raise EOFError("the other side has gone")
    return content


def request_of(head: Mapping[str, Any]) -> Request:
    """The inverse of `head_of`."""
    return Request(**head)


def head_of(request: Request) -> dict[str, Any]:
    """A request as JSON takes it."""
    return asdict(request)


def socket_path(run: str, lane: int) -> Path:
    """Where the server of `lane` listens on this machine, for this user."""
    base = Path(tempfile.gettempdir()) / f"penstock-{os.getuid()}" / run[:16]
    path = base / f"lane-{lane}.sock"
    if len(str(path)) > _LONGEST_SOCKET_PATH:
        path = Path("/tmp") / f"penstock-{os.getuid()}" / run[:16] / f"lane-{lane}.sock"
    return path


def connect(path: Path, timeout_s: float | None = None) -> socket.socket:
    """A connection to the server that listens at `path`."""
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(timeout_s)
    connection.connect(str(path))
    return connection
