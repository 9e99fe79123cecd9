"""Several named pieces in one file: an attempt's log and results cost one write, not one each.

Layout: the length of an index, the index (JSON: for each piece its name, place and length), the pieces.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping

_LENGTH = struct.Struct("<Q")


def pack(pieces: Mapping[str, bytes]) -> bytes:
    """All `pieces` as one.

    >>> unpack(pack({"a": b"xy", "b": b""}))
    {'a': b'xy', 'b': b''}
    """
    index, place = [], 0
    for name, content in pieces.items():
        index.append((name, place, len(content)))
        place += len(content)
    head = json.dumps(index).encode()
    return b"".join([_LENGTH.pack(len(head)), head, *pieces.values()])


def unpack(content: bytes) -> dict[str, bytes]:
    """The inverse of `pack`."""
    (length,) = _LENGTH.unpack_from(content)
    start = _LENGTH.size + length
    index = json.loads(content[_LENGTH.size : start])
    return {name: content[start + place : start + place + size] for name, place, size in index}
