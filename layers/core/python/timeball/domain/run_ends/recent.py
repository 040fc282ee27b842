"""The state of a job as its newest rows show it: its last run, its runs under way, and its recent outcomes.

No row of the job repeats this. Triggers, events and backfills make runs without a write of their job, and so does the
end of a run: only the ledger has all of them, and it is in the order of the fires already.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from timeball.domain.model.ids import RunId
from timeball.domain.model.jobs.job import Job
from timeball.domain.model.runs.run import Run, RunState

OUTCOMES = 8
"""How many outcomes are shown."""
ROWS = 12
"""How many rows of a ledger are read: the outcomes are complete beside four runs that have not ended."""

_LETTERS = {RunState.SUCCEEDED: "s", RunState.FAILED: "f", RunState.SKIPPED: "k", RunState.CANCELLED: "c"}
_BLOCKED = "b"


@dataclass(frozen=True)
class Recent:
    """The state of a job as its newest rows show it."""

    last: Run | None = None
    """The newest row that has begun or ended; None: there is none."""
    running: tuple[RunId, ...] = ()
    """The runs under way, the earliest first."""
    outcomes: str = ""
    """A letter for each of the newest rows with an outcome, the newest last."""
    finished_at: int | None = None
    """When the last of these rows ended (ms); None: none has."""


def is_under_way(run: Run) -> bool:
    """Say whether an attempt of a run has begun, and the run has not ended: it also waits for its next attempt."""
    return not run.is_terminal and run.attempts_spent > 0


def recent_of(rows: Sequence[Run]) -> Recent:
    """Return what rows say, given the newest first. A range of skipped fires counts as one outcome."""
    begun = [row for row in rows if row.is_terminal or is_under_way(row)]
    letters = [letter for row in rows if (letter := _letter(row)) is not None]
    return Recent(
        last=begun[0] if begun else None,
        running=tuple(row.id for row in reversed(rows) if is_under_way(row)),
        outcomes="".join(reversed(letters[:OUTCOMES])),
        finished_at=max((row.finished_at for row in rows if row.finished_at is not None), default=None),
    )


def may_have_moved(job: Job, newest: Run | None, now: int) -> bool:
    """Say whether a job may differ at an instant (ms) from the job that its newest change left, by its newest row.

    A job that is due at once has a run from then on, which no executor has claimed yet. The task, the calendar and the
    parents of a job change how it stands without a change of the job.
    """
    spec, change = job.spec, job.change
    if spec.task is not None or spec.calendar is not None or spec.depends_on or job.status is not change.status:
        return True
    if newest is None:
        return job.next_fire_at != change.next_fire_at
    return newest.revision > 1 or newest.created_at != change.at or change.at < newest.id.fire_at <= now


def _letter(row: Run) -> str | None:
    """Return the letter of a row's outcome; None if it has none yet."""
    return _BLOCKED if row.blocked is not None else _LETTERS.get(row.state)
