"""The calendars, and which jobs may name one."""

from collections.abc import Sequence
from typing import Protocol

from timeball.domain.model.ids import JobKey
from timeball.domain.model.terms.calendar import Calendar, CalendarKey
from timeball.ports.collections.rows import Rows


class Calendars(Rows[CalendarKey, Calendar], Protocol):
    """The calendars. Who names one notes that before; a note says only that the job's row is to be asked."""

    def of_tenant(self, tenant: str, after: str, limit: int) -> list[Calendar]:
        """Return up to `limit` calendars of a tenant that are not deleted, by name, behind the one called `after`."""

    def note_uses(self, uses: Sequence[tuple[CalendarKey, JobKey]], now: int) -> list[None]:
        """Note that each job is about to name a calendar; a note that stands is of now."""

    def uses(self, key: CalendarKey, after: str, limit: int) -> list[tuple[JobKey, int]]:
        """Return up to `limit` jobs that may name a calendar, and when they noted that; by id, behind `after`."""
