"""Unpack each archive of a function or a layer once for all processes that the emulator starts.

The emulator unpacks them anew for each process, all within its own process: five cold executors took seven seconds,
most of it for this. On AWS each function starts on a machine of its own with its files mounted.

Invariant: a linked folder is complete, and no process writes to it: a function's folders are read-only in AWS too.

This runs on the emulator's Python, which has none of our code: it imports only the standard library.
"""

import hashlib
import threading
import zipfile
from collections.abc import Iterable
from os import PathLike
from pathlib import Path
from typing import Any

_Path = str | PathLike[str]


def unpacking_once(folder: Path) -> type[zipfile.ZipFile]:
    """Return an archive class that unpacks equal archives once, below a folder, and then links to that."""
    one_at_a_time = threading.Lock()

    class UnpackedOnce(zipfile.ZipFile):
        def extractall(
            self, path: _Path | None = None, members: Iterable[Any] | None = None, pwd: bytes | None = None
        ) -> None:
            target = Path(path or ".")
            if self.filename is None or members is not None or not _is_empty(target):
                super().extractall(path, members, pwd)
                return
            unpacked = folder / hashlib.sha256(Path(self.filename).read_bytes()).hexdigest()
            with one_at_a_time:
                if not unpacked.exists():
                    unfinished = unpacked.with_suffix(".unfinished")
                    super().extractall(unfinished, members, pwd)
                    unfinished.rename(unpacked)
            target.rmdir()
            target.symlink_to(unpacked)

    return UnpackedOnce


def _is_empty(folder: Path) -> bool:
    return folder.is_dir() and not any(folder.iterdir())
