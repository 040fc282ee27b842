"""Whether a run that was sent some time ago is on its way: one pure decision, from its row as it was read lately.

Its message may be lost: its queue was purged, its time there was over, or its executor died before it could hide it,
and it comes back only after the longest time that any executor may take.
"""

from enum import StrEnum

from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.time.instants import SECOND_MS

FIRST_LOOK_MS = 20 * SECOND_MS
"""How long after its instant a run is looked at."""

_PATIENCE_MS = 15 * SECOND_MS
"""How late a message may be before it counts as lost; less than the first look's, for no two clocks are the same."""

_LONGEST_PAUSE_MS = 900 * SECOND_MS


class Finding(StrEnum):
    """What a look at a run finds."""

    ON_ITS_WAY = "on_its_way"  # look again later
    LOST = "lost"  # nobody has come for it in time: send it again
    OVER = "over"  # carry out what its end entails, once
    IN_LINE = "in_line"  # its limiter is due for it, or to be made so
    KEPT = "kept"  # the due index has it, or it waits for its paused job: somebody else will


def find(run: Run, now: int, horizon_at: int, takeover_margin_ms: int) -> Finding:
    """Say how a run stands at `now` (ms), when scans look ahead to `horizon_at`.

    A due key before that may be about to be dropped, by a scan that has just sent the run. A lease may be taken over
    once its margin is over, too.
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


def pause_ms(look: int) -> int:
    """Return how long (ms) after its `look`th look a run is looked at again: each time twice as long."""
    return min(FIRST_LOOK_MS << look - 1, _LONGEST_PAUSE_MS)
