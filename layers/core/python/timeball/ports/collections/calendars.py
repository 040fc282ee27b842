"""The calendars, and the jobs that may name each."""

from collections.abc import Sequence
from typing import Protocol

from timeball.domain.model.ids import JobKey
from timeball.domain.model.terms.calendar import Calendar, CalendarKey
from timeball.ports.collections.rows import Rows


class Calendars(Rows[CalendarKey, Calendar], Protocol):
    """The calendars. A job notes its use before it names a calendar; the job's row says whether it still does."""

    def of_tenant(self, tenant: str, after: str, limit: int) -> list[Calendar]:
        """Return up to `limit` calendars of a tenant that are not deleted, by name, after the name `after`."""

    def note_uses(self, uses: Sequence[tuple[CalendarKey, JobKey]], now: int) -> list[None]:
        """Note that each job is about to name a calendar; an existing note gets the present time."""

    def uses(self, key: CalendarKey, after: str, limit: int) -> list[tuple[JobKey, int]]:
        """Return up to `limit` jobs that may name a calendar, with the time of their notes; by id, after `after`."""
