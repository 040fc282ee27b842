"""When clients' requests took effect, and when events were accepted, so that a repeat has no further effect."""

from collections.abc import Sequence
from typing import Protocol

from timeball.domain.model.ids import JobKey


class Requests(Protocol):
    """The requests that have a name."""

    def remember(self, job: JobKey, request: str, at: int, now: int) -> int:
        """Note when a client's request took effect, unless that is noted; return the noted instant (ms)."""

    def noted(self, job: JobKey, request: str) -> int | None:
        """Return when a request took effect (ms), as read strongly; None: it is not noted."""

    def take_events(self, tenant: str, names: Sequence[str], now: int) -> list[int]:
        """Note that events of a tenant are accepted, unless that is noted; return the noted instant of each (ms).

        A note is stored for at least a day.
        """
