"""The runs: rows, each job's ledger of runs, and the list of dead letters."""

from dataclasses import dataclass
from typing import Protocol

from timeball.domain.model.ids import JobKey, LimiterKey, RunId
from timeball.domain.model.runs.run import Permit, Run, RunState
from timeball.domain.usage.estimate import Estimate
from timeball.ports.collections.listing import ListQuery
from timeball.ports.collections.rows import Rows


@dataclass(frozen=True)
class LedgerQuery:
    """A page of a job's runs, the newest first. Instants are in ms."""

    job: JobKey
    """The job."""
    limit: int
    """The most runs on the page."""
    from_at: int | None = None
    """The earliest fire time, included; None: no bound."""
    to_at: int | None = None
    """The latest fire time, included; None: no bound."""
    states: frozenset[RunState] = frozenset()
    """Only runs in these states; empty: all."""
    before: RunId | None = None
    """The last run of the previous page; None: the first page."""


@dataclass(frozen=True)
class LedgerPage:
    """A page of runs."""

    runs: tuple[Run, ...]
    """The runs."""
    next_before: RunId | None
    """The run before which the next page begins; None: this is the last page."""


class Runs(Rows[RunId, Run], Protocol):
    """The runs."""

    def between(self, job: JobKey, first_at: int, last_at: int) -> list[Run]:
        """Return the scheduled runs that cover any instant from `first_at` to `last_at`, earliest first.

        A skipped range is returned if its first instant lies within.
        """

    def ledger(self, query: LedgerQuery) -> LedgerPage:
        """Return a page of a job's runs, read strongly. With a filter, a page may be short or empty before the end."""

    def in_line(self, limiter: LimiterKey, permit: Permit, limit: int) -> list[RunId]:
        """Return the first runs that the listing has in a line: by priority, then fire time. It may lag."""

    def dead_letters(self, query: ListQuery[RunId]) -> list[tuple[int, RunId]]:
        """Return up to `limit` dead letters in the listing, by the time of their failure. It may lag."""

    def count_dead_letters(self, tenant: str) -> Estimate:
        """Return how many dead letters a tenant has: an exact count if they are few, else an estimate. May lag."""
