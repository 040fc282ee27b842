"""What is kept of users' changes: the revisions that jobs had, and the announcements of a tenant's changes, by time.

Nothing here is ever changed. A revision that a job still has stands on the job's row alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from timeball.domain.model.ids import JobKey
from timeball.domain.model.jobs.revision import Announcement, Revision, RevisionId
from timeball.domain.time.instants import LATEST


@dataclass(frozen=True)
class ChangesQuery:
    """A page of a tenant's announcements from `from_at` to `to_at` (ms, both included), the newest first.

    `job`: those of other jobs may be left out. `after` is the last one of the page before, announced or not.
    """

    tenant: str
    limit: int
    from_at: int = 0
    to_at: int = LATEST
    job: JobKey | None = None
    after: Announcement | None = None


class Changes(Protocol):
    """Revisions and announcements, each kept so many days after it was written. What is there already stays."""

    def note(self, notes: Sequence[Revision | Announcement], now: int) -> None:
        """Keep each, unless it is kept: a revision with its work read, before its job's row gets the next one."""

    def read(self, ids: Sequence[RevisionId], *, whole: bool = False) -> list[Revision | None]:
        """Return the outline of each revision that is kept, else None; if `whole`, with a large payload still there."""

    def of_job(self, newest: RevisionId, limit: int) -> list[Revision]:
        """Return up to `limit` outlines of revisions of a job that are kept, from one backwards."""

    def announced(self, query: ChangesQuery) -> list[Announcement]:
        """Return up to `limit` announcements."""
