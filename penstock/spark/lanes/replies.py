"""What a lane answers: its attempt, and the rows that it hands on to the lanes of the next stage."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from penstock.spark.lanes.container import pack, unpack
from penstock.spark.lanes.share import Made
from penstock.spark.lanes.wire import to_bytes
from penstock.spark.stages import Staged
from penstock.spark.state.records import Attempt


def reply_of(attempt: Attempt, made: Made, staged: Staged) -> tuple[dict[str, Any], bytes]:
    """The reply's head and body; in the body, a piece for every lane and entry that rows go to."""
    head = {"attempt": asdict(attempt), "progress": made.progress, "stages": staged.stages}
    handed = {f"{lane}.{entry}": to_bytes(table) for (lane, entry), table in made.handed.items()}
    return head, pack(handed) if handed else b""


def handed_of(body: bytes) -> list[tuple[int, bytes]]:
    """The lanes that rows go to, and the rows, as Arrow streams."""
    return [(int(name.partition(".")[0]), content) for name, content in unpack(body).items()] if body else []
