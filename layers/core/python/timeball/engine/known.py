"""What a process has read lately of rows that seldom change, such as calendars and freezes."""

from collections.abc import Sequence
from typing import Any

from timeball.domain.model.jobs.freeze import KNOWN_MS
from timeball.ports.collections.rows import Row, Rows

_MAX_KNOWN = 5_000


class Known:
    """Rows by their keys, None for one that is absent, each as it was read at most KNOWN_MS ago."""

    def __init__(self) -> None:
        self._rows: dict[tuple[str, object], tuple[int, Any]] = {}

    def read(self, kind: str, rows: Rows[Any, Row], keys: Sequence[Any], now: int) -> list[Row | None]:
        """Return the rows of a kind; strongly read, if not lately. Raises UnavailableError."""
        fresh_from = now - KNOWN_MS
        lacking = [key for key in dict.fromkeys(keys) if self._read_at((kind, key)) <= fresh_from]
        if len(self._rows) + len(lacking) > _MAX_KNOWN:
            self._rows.clear()
            lacking = list(dict.fromkeys(keys))
        if lacking:
            self._rows.update(((kind, key), (now, row)) for key, row in zip(lacking, rows.read(lacking), strict=True))
        return [self._rows[kind, key][1] for key in keys]

    def forget(self, kind: str, key: object) -> None:
        """Ask for a row the next time: this process has changed it."""
        self._rows.pop((kind, key), None)

    def _read_at(self, name: tuple[str, object]) -> int:
        return self._rows[name][0] if name in self._rows else 0
