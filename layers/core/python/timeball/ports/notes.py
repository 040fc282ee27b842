"""The record of users' changes: earlier revisions of jobs, and the announcements of a tenant's changes, by time.

Nothing here ever changes. The current revision of a job is on the job's row alone.

The jobs that depend on each job. An edge only nominates: the child's row says whether it still depends.

When clients' requests took effect, and when events were accepted, so that a repeat has no further effect.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from timeball.domain.model.ids import JobKey
from timeball.domain.model.jobs.revision import Announcement, Revision, RevisionId
from timeball.domain.model.terms.dependency import Edge
from timeball.domain.time.instants import LATEST


@dataclass(frozen=True)
class ChangesQuery:
    """A page of a tenant's announcements, the newest first. Instants are in ms."""

    tenant: str
    """The tenant."""
    limit: int
    """The most announcements on the page."""
    from_at: int = 0
    """The earliest instant, included."""
    to_at: int = LATEST
    """The latest instant, included."""
    job: JobKey | None = None
    """Announcements of other jobs may be left out; None: all jobs."""
    after: Announcement | None = None
    """The last announcement of the previous page, which need not be stored; None: the first page."""


class Changes(Protocol):
    """Revisions and announcements, each stored for a number of days. Stored ones are never overwritten."""

    def note(self, notes: Sequence[Revision | Announcement], now: int) -> None:
        """Store each, unless it is stored: a revision with its work read, before its job's row gets the next one."""

    def read(self, ids: Sequence[RevisionId], *, whole: bool = False) -> list[Revision | None]:
        """Return the outline of each stored revision, else None; with `whole`, also large payloads still stored."""

    def of_job(self, newest: RevisionId, limit: int) -> list[Revision]:
        """Return up to `limit` outlines of a job's stored revisions, from one backwards."""

    def announced(self, query: ChangesQuery) -> list[Announcement]:
        """Return up to `limit` announcements."""


class Edges(Protocol):
    """The edges from jobs to those that depend on them."""

    def note(self, edges: Sequence[Edge], now: int) -> None:
        """Store each edge, even one that is about to be removed. May be repeated. Raises UnavailableError."""

    def children(self, parents: Sequence[JobKey]) -> list[list[JobKey]]:
        """Return the children of each parent, in the order of their ids."""

    def forget(self, edges: Sequence[Edge], noted_before: int, now: int) -> None:
        """Remove each edge whose last note is earlier than an instant. Raises UnavailableError."""


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
