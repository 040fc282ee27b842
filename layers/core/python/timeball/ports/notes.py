"""Rows that are stored once and not changed: notes, links between jobs, former rows, and the record of users' changes.

The first note of a name stands. The last note of a link counts: links lead to jobs from their parents, and from the
calendars that they name.

The record of changes has earlier revisions of jobs, and the announcements of a tenant's changes, by time. The current
revision of a job is on the job's row alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from timeball.domain.model.ids import JobKey
from timeball.domain.model.jobs.revision import Announcement, Revision, RevisionId
from timeball.domain.time.instants import LATEST
from timeball.ports.rows import Owner_contra

Name_contra = TypeVar("Name_contra", contravariant=True)
Noted = TypeVar("Noted")


class Ordered(Protocol):
    """A value with a position among those of its owner."""

    @property
    def order(self) -> tuple[int, str]:
        """Its position: a number, and a text for values of one number. No two values of an owner have the same."""


Former = TypeVar("Former", bound=Ordered)


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


class Notes(Protocol[Name_contra, Noted]):
    """Notes by name. The first note of a name stands, and is kept for at least a day."""

    def note(self, notes: Sequence[tuple[Name_contra, Noted]], now: int) -> list[Noted]:
        """Store each note whose name has none; return the note that stands for each."""

    def read(self, names: Sequence[Name_contra]) -> list[Noted | None]:
        """Return the note of each name, read strongly; None: there is none."""


class FormerRows(Protocol[Owner_contra, Former]):
    """Former rows of owners. Each is stored once, before the change that replaces it; the first one stands."""

    def note(self, rows: Sequence[tuple[Owner_contra, Former]], now: int) -> None:
        """Store each, unless it is stored. Raises UnavailableError."""

    def of_owner(self, owner: Owner_contra, limit: int, before: tuple[int, str] | None = None) -> list[Former]:
        """Return up to `limit` of an owner's, in descending order, from the last one before a position."""


class Links(Protocol[Owner_contra]):
    """Links from an owner to jobs, each with the time of its last note.

    A link only nominates: the job's row says whether it still names the owner.
    """

    def note(self, links: Sequence[tuple[Owner_contra, JobKey]], now: int) -> None:
        """Store each link, before the job names the owner. May be repeated. Raises UnavailableError."""

    def of_owner(self, owner: Owner_contra, after: str = "", limit: int | None = None) -> list[tuple[JobKey, int]]:
        """Return up to `limit` links of an owner, with the time of their last note; by job id, after `after`."""

    def children(self, owners: Sequence[Owner_contra]) -> list[list[JobKey]]:
        """Return the jobs that each owner has links to, in the order of their ids."""

    def forget(self, links: Sequence[tuple[Owner_contra, JobKey]], noted_before: int, now: int) -> None:
        """Remove each link whose last note is earlier than an instant. Raises UnavailableError."""
