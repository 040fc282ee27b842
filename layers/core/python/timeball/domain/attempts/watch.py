"""Whether a run that was sent some time ago is under way: one pure decision, from its row as it was read lately.

Its message may be lost: its queue was purged, or its retention was over. Or its executor died before it could hide the
message, which then comes back only after the longest time that any executor may take.
"""

from enum import StrEnum

from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.time.instants import SECOND_MS

FIRST_RECHECK_MS = 20 * SECOND_MS
"""How long after its instant a run is checked."""

_PATIENCE_MS = 15 * SECOND_MS
"""How late a message may be before it counts as lost. It is shorter than the first check's delay, because clocks
differ."""

_LONGEST_PAUSE_MS = 900 * SECOND_MS


class Finding(StrEnum):
    """The result of a check of a run."""

    ON_ITS_WAY = "on_its_way"  # check it again later
    LOST = "lost"  # no executor has claimed it in time: send it again
    OVER = "over"  # carry out the effects of its end, once
    IN_LINE = "in_line"  # its limiter is due, or must be made due
    KEPT = "kept"  # the scan or the resume of its paused job will handle it


def find(run: Run, now: int, horizon_at: int, takeover_margin_ms: int) -> Finding:
    """Return the state of a run at `now` (ms) when scans look ahead to `horizon_at` (ms).

    A due key before the horizon may be about to be dropped by a scan that has just sent the run. A lease may be taken
    over once its margin is over, too.
    """
    if run.is_terminal:
        return Finding.OVER if run.due_at is None else Finding.KEPT
    if run.state is RunState.WITHDRAWN:
        return Finding.KEPT
    if run.stands_in_line and run.due_at is None:
        return Finding.IN_LINE
    if run.due_at is not None:
        return Finding.KEPT if run.due_at > horizon_at else Finding.ON_ITS_WAY
    ready_at = run.not_before
    if run.state is RunState.RUNNING:
        ready_at = (run.lease_until or 0) + takeover_margin_ms
    return Finding.LOST if now >= ready_at + _PATIENCE_MS else Finding.ON_ITS_WAY


def pause_ms(round_number: int) -> int:
    """Return the time (ms) from one check of a run to the next: it doubles each time, up to 15 minutes."""
    return min(FIRST_RECHECK_MS << round_number - 1, _LONGEST_PAUSE_MS)
