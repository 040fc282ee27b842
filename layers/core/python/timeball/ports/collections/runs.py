"""The runs: rows, a job's ledger of them, and the list of those that failed for good."""

from dataclasses import dataclass
from typing import Protocol

from timeball.domain.model.ids import JobKey, LimiterKey, RunId
from timeball.domain.model.runs.run import Part, Run, RunState
from timeball.domain.usage.estimate import Estimate
from timeball.ports.collections.listing import ListQuery
from timeball.ports.collections.rows import Rows


@dataclass(frozen=True)
class LedgerQuery:
    """A page of a job's runs with fire times from `from_at` to `to_at` (both included), newest first.

    `before` is the last run of the page before (None: the first page); `states` empty means all.
    """

    job: JobKey
    limit: int
    from_at: int | None = None
    to_at: int | None = None
    states: frozenset[RunState] = frozenset()
    before: RunId | None = None


@dataclass(frozen=True)
class LedgerPage:
    """Runs, and the run to continue before, or None at the end."""

    runs: tuple[Run, ...]
    next_before: RunId | None


class Runs(Rows[RunId, Run], Protocol):
    """The runs."""

    def between(self, job: JobKey, first_at: int, last_at: int) -> list[Run]:
        """Return the runs of origin schedule that cover any instant from `first_at` to `last_at`, earliest first.

        A skipped range is returned if its first instant lies within.
        """

    def ledger(self, query: LedgerQuery) -> LedgerPage:
        """Return a page of a job's runs, read strongly. Under a filter it may be short, or empty, before the end."""

    def in_line(self, limiter: LimiterKey, part: Part, limit: int) -> list[RunId]:
        """Return the first runs that the listing names as in a line: by priority, then fire time. It may lag."""

    def dead_letters(self, query: ListQuery[RunId]) -> list[tuple[int, RunId]]:
        """Return up to `limit` runs that the listing names as dead letters, by when each died. It may lag."""

    def count_dead_letters(self, tenant: str) -> Estimate:
        """Return how many dead letters a tenant has: all counted if they are few, else an estimate. May lag."""
