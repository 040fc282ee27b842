"""Which runs are notable: all but those that start at once and soon succeed.

A notable run has an entry in an index, by its state. A plain run never has one, so it costs no write for it. The rule
looks at the run's row alone. A row does not change while its run is late or its call lasts. The process that looks at
the run then notes it on the row (`noted`): its watch, or the executor that renews its lease.
"""

from typing import Final

from timeball.domain.model.evolve import evolve
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.time.instants import SECOND_MS

SLOW_MS: Final = 5 * SECOND_MS
"""How long after its start (ms) a run that has not begun is late, and after its call one that still runs is notable."""

PLAIN_MS: Final = 10 * SECOND_MS
"""How long after its fire time (ms) a plain run has succeeded at the latest."""


def is_notable(run: Run) -> bool:
    """Return whether a run has an entry in the index of notable runs."""
    match run.state:
        case RunState.SUCCEEDED:
            return (run.finished_at or 0) > run.id.fire_at + PLAIN_MS
        case RunState.QUEUED:
            return run.noted or _waits(run) or run.created_at >= run.not_before + SLOW_MS
        case RunState.RUNNING:
            is_late = run.claimed_at is not None and run.claimed_at >= run.not_before + SLOW_MS
            return run.noted or is_late or run.attempt > 1 or run.callback is not None or run.fan is not None
        case _:
            return True


def _waits(run: Run) -> bool:
    """Return whether a queued run waits for something, or for another attempt."""
    return run.reason is not None or run.waits or run.stands_in_line or run.attempt > 0 or run.budget_at is not None


def ordered_at(run: Run) -> int:
    """Return the instant (ms) that orders a run: its end; of a live run its start, past or to come.

    A live run never moves back: a list that has passed it does not meet it again.
    """
    if run.is_terminal:
        return run.created_at if run.finished_at is None else run.finished_at
    return max(run.not_before, run.claimed_at or 0) if run.first_started_at is None else run.first_started_at


def is_slow(run: Run, now: int) -> bool:
    """Return whether a run is late, or runs for long, and its row does not yet say so."""
    if run.state not in (RunState.QUEUED, RunState.RUNNING) or is_notable(run):
        return False
    return now >= max(run.not_before, run.claimed_at or 0) + SLOW_MS


def noted(run: Run) -> Run:
    """Return a run that is notable from now on."""
    return evolve(run, noted=True)
