"""Dead letters: runs that failed for good. Listed, replayed at a pace, or discarded; by name or by filter.

The index names them; each row decides whether it is one still. A replay writes each run with the due key of its turn
and leaves the sending to the scan, so that a thousand runs start as slowly as was asked for, whoever crashes.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import JobKey, RunId
from timeball.domain.model.jobs.job import JobStatus
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.run import Run
from timeball.domain.model.runs.transitions import discarded, reopened
from timeball.domain.time.instants import LATEST, SECOND_MS
from timeball.engine.context import Context
from timeball.engine.listed import read_page
from timeball.engine.notices.ends import tell_after_change
from timeball.ports.collections.listing import ListQuery
from timeball.ports.collections.rows import Swap


@dataclass(frozen=True)
class DeadFilter:
    """Which dead letters: of a tenant, that died from `from_at` to `to_at` (ms, both included); None means any.

    `error` is part of what the last attempt's error says, in any case of letters.
    """

    tenant: str
    job: JobKey | None = None
    task_id: str | None = None
    reason: Reason | None = None
    error: str | None = None
    from_at: int = 0
    to_at: int = LATEST

    def matches(self, run: Run) -> bool:
        """Say whether a row is a dead letter that was asked for."""
        error = (run.last.error or "") if run.last is not None else ""
        return (
            run.is_dead_letter
            and self.from_at <= (run.finished_at or 0) <= self.to_at
            and (self.job is None or run.id.job == self.job)
            and (self.task_id is None or run.task_id == self.task_id)
            and (self.reason is None or run.reason is self.reason)
            and (self.error is None or self.error.lower() in error.lower())
        )


Position = tuple[int, RunId]
"""Where a page ended: when that run died, and which it was."""


@dataclass(frozen=True)
class DeadPage:
    """Dead letters, and where a filter goes on, or None at the end; `named` are the runs that were asked for by name.

    `positions` are those of the runs, in a page of a filter. A page may be short where its filter passes over many.
    """

    runs: tuple[Run, ...]
    next_after: Position | None = None
    named: tuple[RunId, ...] = ()
    positions: tuple[Position, ...] = ()


@dataclass(frozen=True)
class Dealt:
    """What became of dead letters: those that were replayed or discarded, and those that were none (any more).

    `next_start_at` is when the next one of a replay would start.
    """

    done: tuple[Run, ...]
    refused: tuple[RunId, ...]
    next_start_at: int | None = None


def list_dead(
    context: Context, asked: DeadFilter, limit: int, after: Position | None = None, *, oldest_first: bool = False
) -> DeadPage:
    """Return a page of the dead letters that match, the newest first unless said otherwise. Raises UnavailableError."""

    def name(at_once: int, behind: Position | None) -> Sequence[Position]:
        query = ListQuery(asked.tenant, at_once, asked.from_at, asked.to_at, behind, oldest_first)
        return context.store.runs.dead_letters(query)

    def read(ids: Sequence[RunId]) -> list[Run | None]:
        return [row if row is not None and asked.matches(row) else None for row in context.store.runs.read(ids)]

    page = read_page(name, read, limit, after)
    return DeadPage(page.items, page.next_after, positions=page.positions)


def read_dead(context: Context, ids: Sequence[RunId]) -> DeadPage:
    """Return those of some runs that are dead letters. Raises UnavailableError."""
    named = tuple(dict.fromkeys(ids))
    rows = context.store.runs.read(named)
    return DeadPage(tuple(row for row in rows if row is not None and row.is_dead_letter), named=named)


def replay(context: Context, page: DeadPage, per_second: int, start_at: int | None = None) -> Dealt:
    """Try dead letters again, so many a second, each with a fresh budget of retries. Raises UnavailableError.

    The first starts at `start_at`, or now if that is past.
    """
    keys = list(dict.fromkeys(run.id.job for run in page.runs))
    jobs = dict(zip(keys, context.store.jobs.read(keys), strict=True))
    able = [run for run in page.runs if (job := jobs[run.id.job]) is not None and job.status is not JobStatus.CANCELLED]
    first_at = max(start_at or 0, context.clock.now())
    *turns, next_start_at = [first_at + turn * SECOND_MS // per_second for turn in range(len(able) + 1)]
    swaps = [Swap(run, reopened(run, turn)) for run, turn in zip(able, turns, strict=True)]
    dealt = _write(context, page, swaps)
    tell_after_change(context, [(run, jobs[run.id.job]) for run in able])
    return evolve(dealt, next_start_at=next_start_at)


def discard(context: Context, page: DeadPage) -> Dealt:
    """Take dead letters off the list; their runs stay failed in the ledger. Raises UnavailableError."""
    now = context.clock.now()
    return _write(context, page, [Swap(run, discarded(run, now)) for run in page.runs])


def _write(context: Context, page: DeadPage, swaps: Sequence[Swap[Run]]) -> Dealt:
    """Write each change; one whose run has moved on meanwhile is refused: it is no dead letter any more."""
    swapped = context.store.runs.swap(swaps, context.clock.now())
    done = tuple(outcome.row for outcome in swapped if outcome.done and outcome.row is not None)
    names = {run.id for run in done}
    asked = page.named or [run.id for run in page.runs]
    return Dealt(done, tuple(run_id for run_id in asked if run_id not in names))
