"""Unpack each archive of a function or a layer once for all processes that the emulator starts.

The emulator unpacks them anew for each process, all within its own process: five cold executors took seven seconds,
most of it for this. On AWS each function starts on a machine of its own with its files mounted. A layer of thousands of
files is not even read again: the emulator gets an empty archive in its place, whose comment names the folder.

Invariant: a linked folder is complete, and no process writes to it: a function's folders are read-only in AWS too.

This runs on the emulator's Python, which has none of our code: it imports only the standard library.
"""

import hashlib
import io
import threading
import zipfile
from collections.abc import Callable, Iterable
from os import PathLike
from pathlib import Path
from typing import Any

_Path = str | PathLike[str]

_REFERENCE = b"unpacked "
"""How the comment of an archive begins that stands for a folder."""


class Unpacked:
    """The unpacked archives, each in a folder that is named by the hash of the archive."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._one_at_a_time = threading.Lock()
        self._references: dict[int, tuple[bytes, bytes]] = {}

    def by_reference(self, read: Callable[[Any], bytes | None]) -> Callable[[Any], bytes | None]:
        """Return a function that reads archives as `read` does, unpacks them, and returns a reference to the folder."""

        def read_once(what: Any) -> bytes | None:  # noqa: ANN401 -- the emulator's own description of a layer
            archive = read(what)
            return self._reference(archive) if archive else archive

        return read_once

    def archive_class(self) -> type[zipfile.ZipFile]:
        """Return an archive class that unpacks equal archives once, and then links to their folder."""
        unpacked = self

        class UnpackedOnce(zipfile.ZipFile):
            def extractall(
                self, path: _Path | None = None, members: Iterable[Any] | None = None, pwd: bytes | None = None
            ) -> None:
                target = Path(path or ".")
                if self.filename is None or members is not None or not _is_empty(target):
                    super().extractall(path, members, pwd)
                elif self.comment.startswith(_REFERENCE):
                    _link(target, unpacked.folder_of(self.comment.removeprefix(_REFERENCE).decode()))
                else:
                    _link(target, unpacked.unpack(Path(self.filename).read_bytes()))

        return UnpackedOnce

    def folder_of(self, digest: str) -> Path:
        """Return the folder of an archive with this hash."""
        return self._folder / digest

    def unpack(self, archive: bytes) -> Path:
        """Return the folder with the contents of an archive, which is unpacked only the first time."""
        folder = self.folder_of(hashlib.sha256(archive).hexdigest())
        with self._one_at_a_time:
            if not folder.exists():
                unfinished = folder.with_suffix(".unfinished")
                with zipfile.ZipFile(io.BytesIO(archive)) as opened:
                    opened.extractall(unfinished)
                unfinished.rename(folder)
        return folder

    def _reference(self, archive: bytes) -> bytes:
        """Return an empty archive that stands for this one; keep this one, so that its id stays its own."""
        known = self._references.get(id(archive))
        if known is None:
            empty = io.BytesIO()
            with zipfile.ZipFile(empty, "w") as written:
                written.comment = _REFERENCE + self.unpack(archive).name.encode()
            known = self._references[id(archive)] = archive, empty.getvalue()
        return known[1]


def _link(target: Path, folder: Path) -> None:
    target.rmdir()
    target.symlink_to(folder)


def _is_empty(folder: Path) -> bool:
    return folder.is_dir() and not any(folder.iterdir())
