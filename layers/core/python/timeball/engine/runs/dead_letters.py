"""Dead letters: runs that failed for good. Listed, replayed at a pace, or discarded; by name or by filter.

The index names them; each row decides whether it is one still. A replay writes each run with the due key of its turn
and leaves the sending to the scan, so that a thousand runs start as slowly as was asked for, whoever crashes.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import JobKey, RunId
from timeball.domain.model.job import JobStatus
from timeball.domain.model.reason import Reason
from timeball.domain.model.run import Run
from timeball.domain.model.transitions import discarded, reopened
from timeball.domain.time.instants import LATEST, SECOND_MS
from timeball.engine.context import Context
from timeball.engine.runs.reopen import note_reopened
from timeball.ports.rows import Swap
from timeball.ports.runs import DeadQuery

MAX_EXAMINED = 1_000
"""Rows that one page reads: a filter that nothing matches costs no more than that."""

_READ_AT_ONCE = 100


@dataclass(frozen=True)
class DeadFilter:
    """Which dead letters: of a tenant, that died from `from_at` to `to_at` (ms, both included); None means any.

    `error` is part of what the last attempt's error says, in any case of letters.
    """

    tenant: str
    job: JobKey | None = None
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
            and (self.reason is None or run.reason is self.reason)
            and (self.error is None or self.error.lower() in error.lower())
        )


Position = tuple[int, RunId]
"""Where a page ended: when that run died, and which it was."""


@dataclass(frozen=True)
class DeadPage:
    """Runs, and where to go on, or None at the end. A page may be short where its filter passes over many."""

    runs: tuple[Run, ...]
    next_after: Position | None


@dataclass(frozen=True)
class Dealt:
    """What became of dead letters: those that were replayed or discarded, and those that were none (any more).

    `next_after` is where a filter goes on, None at its end; `next_start_at` when the next one of a replay would start.
    """

    done: tuple[Run, ...]
    refused: tuple[RunId, ...] = ()
    next_after: Position | None = None
    next_start_at: int | None = None


def list_dead(context: Context, asked: DeadFilter, limit: int, after: Position | None = None) -> DeadPage:
    """Return a page of dead letters, the newest first. Raises UnavailableError."""
    return _page(context, asked, limit, after, oldest_first=False)


def replay_named(context: Context, ids: Sequence[RunId], per_second: int) -> Dealt:
    """Try dead letters again, so many a second, each with a fresh budget of retries. Raises UnavailableError."""
    return _replay(context, _named(context, ids), ids, per_second, context.clock.now())


def replay_matching(
    context: Context, asked: DeadFilter, limit: int, per_second: int, after: Position | None, start_at: int | None
) -> Dealt:
    """Replay a page of the dead letters that match, the oldest first; the first starts at `start_at` (None: now)."""
    page = _page(context, asked, limit, after, oldest_first=True)
    first_at = max(start_at or 0, context.clock.now())
    return evolve(_replay(context, page.runs, (), per_second, first_at), next_after=page.next_after)


def discard_named(context: Context, ids: Sequence[RunId]) -> Dealt:
    """Take dead letters off the list; their runs stay failed in the ledger. Raises UnavailableError."""
    return _discard(context, _named(context, ids), ids)


def discard_matching(context: Context, asked: DeadFilter, limit: int, after: Position | None) -> Dealt:
    """Discard a page of the dead letters that match, the oldest first. Raises UnavailableError."""
    page = _page(context, asked, limit, after, oldest_first=True)
    return evolve(_discard(context, page.runs, ()), next_after=page.next_after)


def _page(context: Context, asked: DeadFilter, limit: int, after: Position | None, *, oldest_first: bool) -> DeadPage:
    found: list[Run] = []
    examined = 0
    position = after
    while examined < MAX_EXAMINED:
        query = DeadQuery(asked.tenant, _READ_AT_ONCE, asked.from_at, asked.to_at, position, oldest_first)
        named = context.store.runs.dead_letters(query)
        rows = context.store.runs.read([run for _, run in named]) if named else []
        for where, row in zip(named, rows, strict=True):
            if row is not None and asked.matches(row):
                if len(found) == limit:
                    return DeadPage(tuple(found), position)
                found.append(row)
            position = where
        if len(named) < _READ_AT_ONCE:
            return DeadPage(tuple(found), None)
        examined += len(named)
    return DeadPage(tuple(found), position)


def _named(context: Context, ids: Sequence[RunId]) -> list[Run]:
    distinct = list(dict.fromkeys(ids))
    return [row for row in context.store.runs.read(distinct) if row is not None and row.is_dead_letter]


def _replay(context: Context, runs: Sequence[Run], ids: Sequence[RunId], per_second: int, first_at: int) -> Dealt:
    keys = list(dict.fromkeys(run.id.job for run in runs))
    jobs = dict(zip(keys, context.store.jobs.read(keys) if keys else [], strict=True))
    able = [run for run in runs if (job := jobs[run.id.job]) is not None and job.status is not JobStatus.CANCELLED]
    note_reopened(context, [run.id for run in able])
    turns = [first_at + turn * SECOND_MS // per_second for turn in range(len(able) + 1)]
    after = {run.id: reopened(run, refilled_at) for run, refilled_at in zip(able, turns, strict=False)}
    return evolve(
        _write(context, able, lambda run: after[run.id], ids or [run.id for run in runs]), next_start_at=turns[-1]
    )


def _discard(context: Context, runs: Sequence[Run], ids: Sequence[RunId]) -> Dealt:
    now = context.clock.now()
    return _write(context, runs, lambda run: discarded(run, now), ids or [run.id for run in runs])


def _write(context: Context, runs: Sequence[Run], change: Callable[[Run], Run], asked: Sequence[RunId]) -> Dealt:
    """Write each change; one whose run has moved on meanwhile is refused: it is no dead letter any more."""
    swaps = [Swap(run, change(run)) for run in runs]
    swapped = context.store.runs.swap(swaps, context.clock.now()) if swaps else []
    done = tuple(outcome.row for outcome in swapped if outcome.done and outcome.row is not None)
    names = {run.id for run in done}
    return Dealt(done, tuple(run_id for run_id in dict.fromkeys(asked) if run_id not in names))
