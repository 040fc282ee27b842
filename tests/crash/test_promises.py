"""The promises by which crashes are judged can be broken: a wrong ledger fails them."""

from dataclasses import replace

import pytest

from tests.crash.promises import Rest, assert_nothing_is_called_that_is_over, assert_nothing_was_early, at_rest
from tests.engine.play import NOW, PLAIN_RETRY, Play, spec
from timeball.domain.model.jobs.job import Completion
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.run import RunState
from timeball.domain.time.instants import SECOND_MS
from timeball.domain.time.schedule import At
from timeball.engine.runs.callback import Report, report

JOB = spec("job", At(NOW), PLAIN_RETRY, timeout_seconds=120)


def _tried_twice(heartbeat_seconds: int | None, says_after_seconds: int | None = None) -> Rest:
    """Return a run whose first attempt was handed over to its target and failed, and whose second one succeeded."""
    play = Play()
    (job,) = play.store_jobs([replace(JOB, completion=Completion.CALLBACK, heartbeat_seconds=heartbeat_seconds)])
    play.scan_all()
    play.caller.statuses = [202]
    play.execute_next()
    if says_after_seconds is not None:
        play.clock.advance(says_after_seconds * SECOND_MS)
        report(play.context(), [Report(play.runs(JOB.key)[0].id, 1, error="It broke.")])
    play.run_on(JOB.key)
    rest = at_rest(play, job)
    assert [call.attempt for _, call in rest.calls] == [1, 2]
    return rest


def _called_again_after(rest: Rest, seconds: float) -> Rest:
    first, (_, second) = rest.calls
    return replace(rest, calls=[first, (NOW + int(seconds * SECOND_MS), second)])


@pytest.mark.parametrize(
    ("heartbeat_seconds", "says_after_seconds", "may_come_after_seconds"),
    [
        # The lease of its target, its margin, and the retry's wait; an executor would have had 30 s.
        (40, None, 40 + 5 + 5),
        (20, None, 20 + 5 + 5),
        (None, None, 120 + 5 + 5),
        (180, None, 120 + 5 + 5),
        # The time of its report, and the retry's wait.
        (40, 3, 3 + 5),
        (60, 50, 50 + 5),
    ],
)
def test_an_attempt_that_was_handed_over_is_followed_by_none_before_its_time(
    heartbeat_seconds: int | None, says_after_seconds: int | None, may_come_after_seconds: int
) -> None:
    rest = _tried_twice(heartbeat_seconds, says_after_seconds)
    assert_nothing_was_early(rest)
    assert_nothing_was_early(_called_again_after(rest, may_come_after_seconds))
    with pytest.raises(AssertionError):
        assert_nothing_was_early(_called_again_after(rest, may_come_after_seconds - 0.001))


@pytest.mark.parametrize(
    ("state", "ended_at", "is_well"),
    [
        (RunState.SKIPPED, NOW + 60_000, False),
        (RunState.CANCELLED, NOW + 60_000, True),
        (RunState.CANCELLED, NOW + 59_999, False),
        (RunState.SUCCEEDED, NOW + 59_999, False),
    ],
)
def test_a_call_of_a_skipped_or_ended_run_breaks_a_promise(state: RunState, ended_at: int, *, is_well: bool) -> None:
    rest = _called_again_after(_tried_twice(40), 60)
    row = replace(rest.runs[0], state=state, reason=Reason.RUN_CANCELLED, finished_at=ended_at)
    try:
        assert_nothing_is_called_that_is_over(replace(rest, runs=[row]))
    except AssertionError:
        assert not is_well
    else:
        assert is_well
