"""A folder with the state of a Timeball that outlives its processes.

The state names the port of its emulator in many addresses, so the folder has the same port for its life. One process at
a time uses a folder.
"""

import contextlib
import fcntl
import json
import os
import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from timeball.dev.emulator import PersistentState, free_port

_NOTE: Final = "timeball.json"
_LOCK: Final = "lock"
_STATE: Final = "aws"

_PATIENCE_SECONDS: Final = 20.0
_PAUSE_SECONDS: Final = 0.2


class DataError(RuntimeError):
    """The folder cannot be used now."""


@dataclass
class Data:
    """An opened folder."""

    folder: Path
    """The folder."""
    port: int
    """The port of its emulator."""
    key: str
    """The key of its tenant; empty before the first deployment is finished."""
    lock: int = -1
    """The descriptor of the lock of the folder."""

    def kept(self) -> PersistentState:
        """Return what the emulator needs."""
        return PersistentState(self.folder / _STATE, self.port, self.lock)

    def finish(self, key: str) -> None:
        """Note the key, and let the emulator save its state from now on."""
        self.key = key
        note = self.folder / _NOTE
        note.touch(mode=0o600)
        note.write_text(json.dumps({"port": self.port, "key": key}) + "\n")
        self.kept().finish()


@contextlib.contextmanager
def opened(folder: Path, patience_seconds: float = _PATIENCE_SECONDS) -> Iterator[Data]:
    """Open a folder, which is made if it does not exist; raise `DataError` if another process uses it or its port.

    The emulator of a process that was killed may still save its state: wait that long for it.
    """
    state = folder / _STATE
    try:
        # Only this user reads the keys in it. The folder itself, if it was there, may hold other things for others.
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        state.mkdir(mode=0o700, exist_ok=True)
        state.chmod(0o700)
        lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as refused:
        raise DataError(f"{folder} cannot hold the data: {refused.strerror}. Name another folder.") from refused
    try:
        _take(lock, folder, time.monotonic() + patience_seconds)
        yield _read(folder, PersistentState(state, 0), lock)
    finally:
        os.close(lock)


def _take(lock: int, folder: Path, until: float) -> None:
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as taken:
            if time.monotonic() > until:
                raise DataError(f"Another Timeball uses {folder}: end it, or name another folder.") from taken
            time.sleep(_PAUSE_SECONDS)
        else:
            return


def _read(folder: Path, state: PersistentState, lock: int) -> Data:
    """Return what an earlier run has left; of an unfinished one nothing is used."""
    note = folder / _NOTE
    if not (state.is_whole and note.exists()):
        return Data(folder, free_port(), "", lock)
    noted = json.loads(note.read_text())
    port = int(noted["port"])
    with socket.socket() as probe:
        # The former emulator's connections may linger, which is no obstacle for the next one either.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as taken:
            raise DataError(
                f"The data in {folder} belong to port {port}, which another program uses: end that program."
            ) from taken
    return Data(folder, port, str(noted["key"]), lock)
