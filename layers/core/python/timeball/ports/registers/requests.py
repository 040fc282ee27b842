"""When clients' requests took effect, and when events were taken in, so that the repeat of one does nothing more."""

from collections.abc import Sequence
from typing import Protocol

from timeball.domain.model.ids import JobKey


class Requests(Protocol):
    """The requests that a name was given to."""

    def remember(self, job: JobKey, request: str, at: int, now: int) -> int:
        """Note at which instant a request of a client took effect, unless it is noted; return what stands noted."""

    def noted(self, job: JobKey, request: str) -> int | None:
        """Return at which instant a request took effect, as read strongly; None: it is not noted."""

    def take_events(self, tenant: str, names: Sequence[str], now: int) -> list[int]:
        """Note that events of a tenant are taken in, each unless that is noted; return since when.

        A note is kept for a day at least.
        """
