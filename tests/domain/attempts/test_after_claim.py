"""The row of a run after a decision about it. Other files test the decision itself."""

from timeball.domain.attempts.after_claim import decided
from timeball.domain.attempts.claim import ClaimAction, ClaimRules, Decision
from timeball.domain.model.ids import JobKey, Origin, RunId
from timeball.domain.model.runs.run import Permit, Run, RunState, Waiting
from timeball.domain.time.instants import parse_instant

NOW = parse_instant("2026-11-21T09:30:00Z")
RULES = ClaimRules(early_ms=10_000, misfire_ms=60_000, takeover_margin_ms=5_000, lease_ms=30_000, lookahead_ms=5_000)
IN_LINE = Run(
    RunId(JobKey("acme", "job"), NOW, Origin.SCHEDULE),
    RunState.QUEUED,
    1,
    "normal",
    0,
    NOW,
    NOW,
    waiting=Waiting("db", Permit.SLOT),
)


def test_a_run_that_leaves_a_limiters_line_to_wait_for_a_lock_is_due() -> None:
    """Another executor may have put it into the line since, and removed the message that would have brought it back."""
    after = decided(IN_LINE, None, Decision(ClaimAction.WAIT, wait_until=NOW + 5_000), "executor", NOW, RULES)
    assert (after.waiting, after.due_at) == (None, NOW + 5_000)


def test_a_run_that_leaves_a_limiters_line_as_next_holder_is_not_due() -> None:
    """The end of the lock's holder sends it again."""
    after = decided(IN_LINE, None, Decision(ClaimAction.STAY), "executor", NOW, RULES)
    assert (after.waiting, after.due_at) == (None, None)
