"""This package on its way to the executors of a cluster, with the kernels that this machine has compiled.

An archive of the package's sources and of Numba's cache goes with the job (`addPyFile`). An executor unpacks it once
into a folder that all lanes on its machine share, so that kernels are loaded where its processor is of the driver's
kind, and compiled once where it is not: Numba's cache knows a kernel by its source and the processor, wherever it lies.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import uuid
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Final

PACKAGE: Final = Path(__file__).resolve().parents[1]
CODE: Final = (".py", ".typed")
KERNELS: Final = (".nbi", ".nbc")
_EPOCH: Final = (1980, 1, 1, 0, 0, 0)
"""The same content is the same archive, whenever it is made."""


def archive(cache: Path, package: Path = PACKAGE) -> Path:
    """A zip file of the package in `cache`, named by its content."""
    files = sorted(f for f in package.rglob("*") if f.suffix in (*CODE, *KERNELS) and f.is_file())
    digest = hashlib.sha256()
    for file in files:
        digest.update(f"{file.relative_to(package)}\0".encode() + file.read_bytes())
    made = cache / f"penstock-{digest.hexdigest()[:16]}.zip"
    if not made.exists():
        cache.mkdir(parents=True, exist_ok=True)
        draft = made.with_suffix(f".{uuid.uuid4().hex}")
        _zip(draft, files, package)
        draft.replace(made)
    return made


def _zip(draft: Path, files: Iterable[Path], package: Path) -> None:
    with zipfile.ZipFile(draft, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as out:
        for file in files:
            out.writestr(zipfile.ZipInfo(f"penstock/{file.relative_to(package)}", _EPOCH), file.read_bytes())


def unpacked(module: str = __file__, folder: Path | None = None) -> str | None:
    """Where this package lies as files, for processes that this one starts: the folder that has it unpacked, if this
    process has it from an archive; None where it lies as files already."""
    before, zipped, _ = module.partition(".zip" + os.sep)
    if not zipped:
        return None
    source = Path(before + ".zip")
    home = (folder or Path(tempfile.gettempdir()) / f"penstock-{os.getuid()}" / "code") / source.stem
    if not home.exists():
        home.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        draft = home.with_name(f".{home.name}.{uuid.uuid4().hex}")
        with zipfile.ZipFile(source) as content:
            content.extractall(draft)
        try:
            draft.rename(home)
        except OSError:
            shutil.rmtree(draft, ignore_errors=True)
    return str(home)
