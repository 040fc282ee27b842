"""Archives of functions and layers, each unpacked once for all processes that the emulator starts.

It unpacks them anew for each, all in its own process: five executors that start cold took seven seconds, most of it for
that. An account knows no such thing: there each starts on a machine of its own, and its files are mounted.

Invariant: what is linked is whole, and nobody writes there: a function's folders are read-only in AWS too.
This runs on the emulator's Python, which has nothing of ours: it imports the standard library alone.
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
    """Return an archive class that unpacks what is the same once, below a folder, and links it from then on."""
    one_at_a_time = threading.Lock()

    class UnpackedOnce(zipfile.ZipFile):
        def extractall(
            self, path: _Path | None = None, members: Iterable[Any] | None = None, pwd: bytes | None = None
        ) -> None:
            target = Path(path or ".")
            if self.filename is None or members is not None or not _is_empty(target):
                super().extractall(path, members, pwd)
                return
            place = folder / hashlib.sha256(Path(self.filename).read_bytes()).hexdigest()
            with one_at_a_time:
                if not place.exists():
                    unfinished = place.with_suffix(".unfinished")
                    super().extractall(unfinished, members, pwd)
                    unfinished.rename(place)
            target.rmdir()
            target.symlink_to(place)

    return UnpackedOnce


def _is_empty(folder: Path) -> bool:
    return folder.is_dir() and not any(folder.iterdir())
