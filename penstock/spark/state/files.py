"""Immutable, checksummed files.

A file is its content followed by a trailer: a magic word, the format's version, the content's length and its CRC. It is
written under a name that no other attempt uses and then renamed, so that a reader sees all of it or none, and a torn or
rotten one is recognised.
"""

from __future__ import annotations

import contextlib
import os
import struct
import uuid
import zlib
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote, urlparse

import pyarrow as pa
from pyarrow import fs

from penstock.errors import Diagnostic, PenstockError
from penstock.plan.secrets import redacted

MAGIC: Final = b"PNST"
VERSION: Final = 1
RESTORE: Final = "restore the folder from a backup, or start over with a new checkpoint folder"
TRAILER: Final = struct.Struct("<4sIQI")


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder on some file system, named by a path or a URI (`ck`, `file:///data/ck`, `hdfs://...`, `s3://...`)."""

    name: str

    @property
    def absolute(self) -> Folder:
        """The same folder, whatever folder a process stands in."""
        return self if urlparse(self.name).scheme else Folder(os.path.abspath(self.name))

    def open(self) -> tuple[fs.FileSystem, str]:
        """The file system and the folder's path on it."""
        try:
            if urlparse(self.name).scheme in ("", "file"):
                path = self.name.removeprefix("file://")
                return fs.LocalFileSystem(), os.path.abspath(path)
            return fs.FileSystem.from_uri(self.name)  # type: ignore[no-any-return]
        except (OSError, pa.ArrowException) as error:
            raise PenstockError(
                Diagnostic(f"cannot reach {redacted(self.name)}: {error}", help="name a folder that can be written to")
            ) from None

    def sub(self, *names: str) -> Folder:
        """A folder below this one."""
        return Folder("/".join([self.name.rstrip("/"), *(quote(n, safe="-_.=") for n in names)]))

    def write(self, name: str, content: bytes | memoryview, durable: bool = True) -> None:
        """Writes the file `name`, whole or not at all; `durable` has it reach the disk before this returns."""
        system, path = self.open()
        draft = f"{path}/.{name}.{uuid.uuid4().hex}"
        trailer = TRAILER.pack(MAGIC, VERSION, len(content), zlib.crc32(content))
        try:
            system.create_dir(path, recursive=True)
            if isinstance(system, fs.LocalFileSystem):
                _write_local(draft, content, trailer, durable)
            else:
                with system.open_output_stream(draft) as stream:
                    stream.write(content)
                    stream.write(trailer)
            system.move(draft, f"{path}/{name}")
        except OSError as error:
            raise PenstockError(f"cannot write {redacted(self.name)}/{name}: {error}") from None
        if durable and isinstance(system, fs.LocalFileSystem):
            _sync_folder(path)

    def read(self, name: str) -> bytes:
        """The content of `name`; FileNotFoundError where there is none, `Damaged` where the trailer does not fit."""
        system, path = self.open()
        with system.open_input_stream(f"{path}/{name}") as stream:
            whole = stream.read()
        if len(whole) < TRAILER.size:
            raise Damaged(f"{path}/{name} is cut short")
        magic, version, length, checksum = TRAILER.unpack(whole[-TRAILER.size :])
        content = whole[: -TRAILER.size]
        if magic != MAGIC or length != len(content) or checksum != zlib.crc32(content):
            raise Damaged(f"{path}/{name} does not match its checksum")
        if version != VERSION:
            raise PenstockError(f"{path}/{name} has format {version}; this Penstock reads format {VERSION}")
        return bytes(content)

    def names(self) -> list[str]:
        """The names of the files in the folder, drafts left out; none where there is no folder."""
        system, path = self.open()
        found = system.get_file_info(fs.FileSelector(path, allow_not_found=True))
        return sorted(i.base_name for i in found if i.type == fs.FileType.File and not i.base_name.startswith("."))

    def folders(self) -> list[str]:
        """The names of the folders in the folder."""
        system, path = self.open()
        found = system.get_file_info(fs.FileSelector(path, allow_not_found=True))
        return sorted(i.base_name for i in found if i.type == fs.FileType.Directory)

    def remove(self, name: str) -> None:
        """Deletes the file `name` if it is there."""
        system, path = self.open()
        with contextlib.suppress(FileNotFoundError):
            system.delete_file(f"{path}/{name}")

    def clear(self) -> None:
        """Deletes the folder with all that is in it."""
        system, path = self.open()
        if system.get_file_info(path).type == fs.FileType.Directory:
            system.delete_dir(path)


class Damaged(PenstockError):
    """A file that is not what was written."""

    def __init__(self, what: str) -> None:
        super().__init__(Diagnostic(what, help=RESTORE))


def _write_local(path: str, content: bytes | memoryview, trailer: bytes, durable: bool) -> None:
    with open(path, "wb") as stream:
        stream.write(content)
        stream.write(trailer)
        if durable:
            stream.flush()
            os.fsync(stream.fileno())


def _sync_folder(path: str) -> None:
    """A rename is durable only when the folder that names the file is."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
