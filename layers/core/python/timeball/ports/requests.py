"""When clients' requests took effect, so that the repeat of one does nothing more."""

from typing import Protocol

from timeball.domain.model.ids import JobKey


class Requests(Protocol):
    """The requests that a name was given to."""

    def remember(self, job: JobKey, request: str, at: int, now: int) -> int:
        """Note at which instant a request of a client took effect, unless it is noted; return what stands noted."""
