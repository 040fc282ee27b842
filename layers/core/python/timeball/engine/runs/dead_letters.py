"""Dead letters: runs that failed for good. List them, replay them at a pace, or discard them; by name or by filter.

The index names them, and each row decides whether it still is a dead letter. A replay writes each run with the due key
of its start and leaves the sending to the scan, so that a thousand runs start at the requested pace despite crashes.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import JobKey, RunId
from timeball.domain.model.jobs.job import JobStatus
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.run import Run
from timeball.domain.model.runs.transitions import discarded, reopened
from timeball.domain.run_ends.fingerprint import error_of, fingerprint_of
from timeball.domain.time.instants import LATEST, SECOND_MS
from timeball.engine.context import Context
from timeball.engine.filtered_pages import MAX_EXAMINED, read_page
from timeball.engine.notices import notify_after_change
from timeball.ports.rows import ListQuery, Swap


@dataclass(frozen=True)
class DeadFilter:
    """Which dead letters: of a tenant, that failed from `from_at` to `to_at` (ms, both included); None means any.

    `error` is part of the last attempt's error, in upper or lower case.
    """

    tenant: str
    job: JobKey | None = None
    task_id: str | None = None
    reason: Reason | None = None
    error: str | None = None
    fingerprint: str | None = None
    from_at: int = 0
    to_at: int = LATEST

    def matches(self, run: Run) -> bool:
        """Return whether a row is a dead letter that matches."""
        fields = ((self.job, run.id.job), (self.task_id, run.task_id), (self.reason, run.reason))
        has_fields = all(asked is None or asked == has for asked, has in fields)
        is_within = self.from_at <= (run.finished_at or 0) <= self.to_at
        error = "" if run.last is None else run.last.error or ""
        is_one = run.is_dead_letter and is_within and has_fields and (self.error or "").lower() in error.lower()
        return is_one and self.fingerprint in (None, fingerprint_of(run))


Position = tuple[int, RunId]
"""Where a page ended: when its last run failed, and its id."""


@dataclass(frozen=True)
class DeadPage:
    """Dead letters, and where a filter continues, or None at the end; `named` are the runs that were asked for by name.

    `positions` are the positions of the runs, in a page of a filter. A page may be short if its filter drops many.
    """

    runs: tuple[Run, ...]
    next_after: Position | None = None
    named: tuple[RunId, ...] = ()
    positions: tuple[Position, ...] = ()


@dataclass(frozen=True)
class DeadGroup:
    """Dead letters of one job that failed in the same way."""

    fingerprint: str
    """The fingerprint that they share."""
    job_id: str
    """Their job."""
    error: str
    """The error of the newest of them."""
    count: int
    """How many were found."""
    first_at: int
    """When the oldest of them died (ms)."""
    last_at: int
    """When the newest of them died (ms)."""


@dataclass(frozen=True)
class Dealt:
    """The result for dead letters: the runs that were replayed or discarded, and the runs that are no dead letters.

    `next_start_at` is when the next run of a replay would start.
    """

    done: tuple[Run, ...]
    refused: tuple[RunId, ...]
    next_start_at: int | None = None


def list_dead(
    context: Context, asked: DeadFilter, limit: int, after: Position | None = None, *, oldest_first: bool = False
) -> DeadPage:
    """Return a page of the dead letters that match, by default the newest first. Raises UnavailableError."""

    def name(at_once: int, behind: Position | None) -> Sequence[Position]:
        query = ListQuery(asked.tenant, at_once, asked.from_at, asked.to_at, behind, oldest_first)
        return context.store.runs.dead_letters(query)

    def read(ids: Sequence[RunId]) -> list[Run | None]:
        return [row if row is not None and asked.matches(row) else None for row in context.store.runs.read(ids)]

    page = read_page(name, read, limit, after)
    return DeadPage(page.items, page.next_after, positions=page.positions)


def group_dead(
    context: Context, asked: DeadFilter, limit: int, after: Position | None = None
) -> tuple[list[DeadGroup], Position | None]:
    """Return up to `limit` groups of the next dead letters that match, the newest first, and where to continue.

    One call examines MAX_EXAMINED dead letters at the most, so a large group may go on in the next call. Raises
    UnavailableError.
    """
    page = list_dead(context, asked, MAX_EXAMINED, after)
    groups, grouped = groups_of(page.runs, limit)
    if grouped < len(page.runs):
        return groups, page.positions[grouped - 1]
    return groups, page.next_after


def groups_of(dead: Sequence[Run], limit: int) -> tuple[list[DeadGroup], int]:
    """Return up to `limit` groups of dead letters, given the newest first, and how many of these were grouped."""
    groups: dict[str, DeadGroup] = {}
    for grouped, run in enumerate(dead):
        fingerprint, died_at = fingerprint_of(run), run.finished_at or 0
        known = groups.get(fingerprint)
        if known is None and len(groups) == limit:
            return [*groups.values()], grouped
        if known is None:
            known = DeadGroup(fingerprint, run.id.job.job_id, error_of(run), 0, died_at, died_at)
        groups[fingerprint] = evolve(known, count=known.count + 1, first_at=died_at)
    return [*groups.values()], len(dead)


def read_dead(context: Context, ids: Sequence[RunId]) -> DeadPage:
    """Return the runs among these that are dead letters. Raises UnavailableError."""
    named = tuple(dict.fromkeys(ids))
    rows = context.store.runs.read(named)
    return DeadPage(tuple(row for row in rows if row is not None and row.is_dead_letter), named=named)


def replay(context: Context, page: DeadPage, per_second: int, start_at: int | None = None) -> Dealt:
    """Retry dead letters, `per_second` of them a second, each with a fresh retry budget. Raises UnavailableError.

    The first starts at `start_at`, or now if that is past.
    """
    keys = list(dict.fromkeys(run.id.job for run in page.runs))
    jobs = dict(zip(keys, context.store.jobs.read(keys), strict=True))
    able = [run for run in page.runs if (job := jobs[run.id.job]) is not None and job.status is not JobStatus.CANCELLED]
    first_at = max(start_at or 0, context.clock.now())
    *starts, next_start_at = [first_at + position * SECOND_MS // per_second for position in range(len(able) + 1)]
    swaps = [Swap(run, reopened(run, start_at)) for run, start_at in zip(able, starts, strict=True)]
    dealt = _write(context, page, swaps)
    notify_after_change(context, [(run, jobs[run.id.job]) for run in able])
    return evolve(dealt, next_start_at=next_start_at)


def discard(context: Context, page: DeadPage) -> Dealt:
    """Remove dead letters from the list; their runs stay failed in the ledger. Raises UnavailableError."""
    now = context.clock.now()
    return _write(context, page, [Swap(run, discarded(run, now)) for run in page.runs])


def _write(context: Context, page: DeadPage, swaps: Sequence[Swap[Run]]) -> Dealt:
    """Write each change. A run that has changed meanwhile is refused: it is no dead letter any more."""
    swapped = context.store.runs.swap(swaps, context.clock.now())
    done = tuple(outcome.row for outcome in swapped if outcome.done and outcome.row is not None)
    names = {run.id for run in done}
    asked = page.named or [run.id for run in page.runs]
    return Dealt(done, tuple(run_id for run_id in asked if run_id not in names))
