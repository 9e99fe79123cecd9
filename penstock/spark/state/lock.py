"""Who runs on a checkpoint: one process at a time, named to whoever else comes.

On a local file system the process holds a lock of the system's, which goes with the process however it ends. On any
other the file is all there is: it is written anew while the run goes, and one that has not been for a minute, or whose
process has gone from this host, is nobody's.
"""

from __future__ import annotations

import fcntl
import json
import os
import socket
import time
from pathlib import Path
from typing import Any, Final

from pyarrow import fs

from penstock.errors import Diagnostic, PenstockError
from penstock.plan.secrets import redacted
from penstock.spark.state.files import Folder

NAME: Final = "lock"
HELD: Final = ".held"
BEAT_S: Final = 15.0
GONE_S: Final = 60.0
"""An owner on another host that has not been heard of for so long is gone."""


class Lock:
    """The lock of the checkpoint `folder`, taken."""

    def __init__(self, folder: Folder) -> None:
        self.folder = folder
        self._descriptor: int | None = None
        self._beaten_s: float | None = None
        system, path = folder.open()
        if isinstance(system, fs.LocalFileSystem):
            self._descriptor = _held(Path(path))
            if self._descriptor is None:
                raise _taken(folder, self._owner())
        elif _lives(owner := self._owner(), folder):
            raise _taken(folder, owner)
        self.beat()

    def _owner(self) -> dict[str, Any]:
        try:
            owner: dict[str, Any] = json.loads(self.folder.read(NAME))
        except FileNotFoundError:
            return {}
        return owner

    def beat(self) -> None:
        """Says that the run goes on, now and then."""
        now, before = time.monotonic(), self._beaten_s
        if before is not None and (self._descriptor is not None or now - before < BEAT_S):
            return
        self._beaten_s = now
        mine = {"host": socket.gethostname(), "process": os.getpid(), "started": started(os.getpid()),
                "since": time.strftime("%Y-%m-%d %H:%M:%S")}  # fmt: skip
        self.folder.write(NAME, json.dumps(mine).encode())

    def release(self) -> None:
        """Lets others in."""
        self.folder.remove(NAME)
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)


def _held(folder: Path) -> int | None:
    """A descriptor that holds the system's lock; None where another process does."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(folder / HELD, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        help = "name a folder that can be written to in --checkpoint"
        raise PenstockError(Diagnostic(f"cannot use the checkpoint {folder}: {error.strerror}", help=help)) from None
    try:
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        os.close(descriptor)
        return None
    return descriptor


def _lives(owner: dict[str, Any], folder: Folder) -> bool:
    """True while the process that wrote a lock runs: on this host the same number and the same start, on another one
    that was heard of of late."""
    if not owner:
        return False
    if owner["host"] == socket.gethostname():
        return bool(owner["process"] != os.getpid() and started(owner["process"]) == owner["started"])
    system, path = folder.open()
    written = system.get_file_info(f"{path}/{NAME}").mtime_ns
    return written is not None and time.time() - written / 1e9 < GONE_S


def _taken(folder: Folder, owner: dict[str, Any]) -> PenstockError:
    who = f"process {owner['process']} on {owner['host']}" if owner else "another process"
    notes = (f"since {owner['since']}",) if owner else ()
    what = f"the checkpoint {redacted(folder.name)} is in use by {who}"
    return PenstockError(Diagnostic(what, notes=notes, help="stop that run, or choose another checkpoint folder"))


def started(process: int) -> str | None:
    """When a process started, as its system counts; None where it is gone."""
    try:
        with open(f"/proc/{process}/stat", encoding="utf-8") as stat:
            return stat.read().rpartition(")")[2].split()[19]
    except OSError:
        pass
    try:
        os.kill(process, 0)
    except OSError:
        return None
    return "unknown"
