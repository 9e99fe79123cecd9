"""The process that owns a lane on one machine: `python -m penstock.spark.lanes.server SOCKET`.

It answers one request at a time. It ends by itself when nobody has spoken to it for a while or when its socket's file
is gone, so that nothing is left behind whoever was killed.
"""

from __future__ import annotations

import contextlib
import os
import socket
import sys
import traceback
from pathlib import Path
from typing import Final

from penstock.errors import PenstockError
from penstock.spark.lanes.keeper import Keeper
from penstock.spark.lanes.protocol import receive, request_of, send
from penstock.spark.lanes.replies import reply_of

IDLE_S: Final = 600.0
LOOK_S: Final = 5.0
"""How often an idle server looks whether it is still wanted."""


def serve(path: Path) -> None:
    """Listens at `path` until nobody wants the lane any more."""
    draft = path.with_suffix(f".{os.getpid()}")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(draft))
        listener.listen(8)
        listener.settimeout(LOOK_S)
        draft.rename(path)
        mine = path.stat().st_ino
        keeper: Keeper | None = None
        idle_s = 0.0
        while idle_s < IDLE_S and _named(path, mine):
            try:
                connection, _ = listener.accept()
            except TimeoutError:
                idle_s += LOOK_S
                continue
            idle_s = 0.0
            with connection:
                keeper = _converse(connection, keeper)
        if _named(path, mine):
            path.unlink()


def _named(path: Path, inode: int) -> bool:
    """True while the socket's file is ours."""
    try:
        return path.stat().st_ino == inode
    except FileNotFoundError:
        return False


def _converse(connection: socket.socket, keeper: Keeper | None) -> Keeper | None:
    """Answers one courier; a failure goes to the courier, and the state that it may have torn is thrown away."""
    connection.settimeout(None)
    with connection.makefile("rwb") as stream, contextlib.suppress(EOFError, BrokenPipeError, ConnectionResetError):
        head, body = receive(stream)
        request = request_of(head)
        try:
            if keeper is None or not keeper.fits(request):
                keeper = Keeper(request)
            reply, content = reply_of(*keeper.run(request, body), keeper.share.staged)
        except PenstockError as error:
            keeper, reply, content = None, {"error": str(error)}, b""
        except Exception:
            keeper, reply, content = (
                None,
                {"error": f"lane {request.lane} failed", "trace": traceback.format_exc()},
                b"",
            )
        send(stream, reply, content)
    return keeper


if __name__ == "__main__":
    serve(Path(sys.argv[1]))
