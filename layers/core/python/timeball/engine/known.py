"""Rows that a process has read lately and that seldom change, such as calendars and freezes."""

from collections.abc import Sequence
from typing import Any

from timeball.domain.model.jobs.freeze import KNOWN_MS
from timeball.domain.sharing.making import Pace
from timeball.ports.collections.rows import Row, Rows

_MAX_KNOWN = 5_000
_NEVER = (0, None)


class Known:
    """Rows by key, each at most KNOWN_MS old; None for a row that is absent.

    Several threads may read. No thread relies on an entry that another thread may drop meanwhile. `paces` holds, by
    tenant, the pace at which this process creates the runs of events.
    """

    def __init__(self) -> None:
        self.paces: dict[str, Pace] = {}
        self._rows: dict[tuple[str, object], tuple[int, Any]] = {}

    def read(self, kind: str, rows: Rows[Any, Row], keys: Sequence[Any], now: int) -> list[Row | None]:
        """Return the rows of a kind. Rows that were not read lately are read strongly. Raises UnavailableError."""
        fresh_from = now - KNOWN_MS
        known = {key: self._rows.get((kind, key), _NEVER) for key in keys}
        lacking = [key for key, (read_at, _) in known.items() if read_at <= fresh_from]
        if lacking:
            read = {key: (now, row) for key, row in zip(lacking, rows.read(lacking), strict=True)}
            known |= read
            if len(self._rows) + len(lacking) > _MAX_KNOWN:
                self._rows.clear()
            self._rows.update(((kind, key), row) for key, row in read.items())
        return [known[key][1] for key in keys]

    def forget(self, kind: str, key: object) -> None:
        """Drop a row that this process has changed, so that the next read fetches it."""
        self._rows.pop((kind, key), None)
