"""A whole life, from the submission to the last effect, is cut off anywhere, whichever process is at work then.

In memory it is cut off a second time, anywhere in the recovery.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import pytest

from tests.crash.promises import assert_all_is_well, assert_each_instant_has_one_row, at_rest
from tests.crash.stage import Memory, Stage
from tests.engine.play import NOW, Play, spec
from tests.engine.service import KEY
from timeball.domain.model.jobs.job import JobSpec, JobStatus
from timeball.domain.model.runs.run import RunState
from timeball.domain.model.terms.policies import Jitter, OverlapPolicy, RetryPolicy
from timeball.domain.time.instants import SECOND_MS
from timeball.domain.time.schedule import At, Every, Schedule
from timeball.engine.scheduling.submit import Submission, submit

SIX_RETRIES = RetryPolicy(max_retries=6, base_seconds=5, jitter=Jitter.NONE)
"""So many that two crashes never use them up."""
ONE_RETRY = RetryPolicy(max_retries=1, base_seconds=5, jitter=Jitter.NONE)
TWICE = Schedule(Every(2, NOW + 1_000), end_at=NOW + 3_000)
THRICE = Schedule(Every(2, NOW + 1_000), end_at=NOW + 5_000)


@dataclass(frozen=True)
class Life:
    """The submission, its last fire, the answers to its first calls, the duration of each; its end; its points."""

    spec: JobSpec
    last_at: int
    statuses: Sequence[int]
    takes_ms: int
    ends: JobStatus
    points: int


LIVES = {
    "two tries": Life(spec("job", At(NOW + 700), SIX_RETRIES), NOW + 700, (500,), 0, JobStatus.COMPLETED, 40),
    "a fire that is parked behind another": Life(
        replace(spec("job", TWICE), overlap=OverlapPolicy.QUEUE_ONE), NOW + 3_000, (), 3_000, JobStatus.COMPLETED, 40
    ),
}
MORE_LIVES = {
    "one try": Life(spec("job", At(NOW + 700)), NOW + 700, (), 0, JobStatus.COMPLETED, 22),
    "two fires, of which one is tried twice": Life(
        spec("job", TWICE, SIX_RETRIES), NOW + 3_000, (500,), 0, JobStatus.COMPLETED, 46
    ),
    "three tries": Life(spec("job", At(NOW), SIX_RETRIES), NOW, (500, 503), 0, JobStatus.COMPLETED, 54),
    "given up": Life(spec("job", At(NOW), ONE_RETRY), NOW, (500,) * 9, 0, JobStatus.FAILED, 40),
    "a fire that is skipped for another": Life(
        replace(spec("job", TWICE), overlap=OverlapPolicy.SKIP), NOW + 3_000, (), 3_000, JobStatus.COMPLETED, 40
    ),
}
"""Lives that are cut off only in memory."""

LONGEST = {
    "a fire that is parked behind another's retry": Life(
        replace(spec("job", THRICE, SIX_RETRIES), overlap=OverlapPolicy.QUEUE_ONE),
        NOW + 5_000,
        (500, 500),
        3_000,
        JobStatus.COMPLETED,
        50,
    ),
}
"""The life that, cut off twice, takes as long as all the others together."""

ALL = LIVES | MORE_LIVES | LONGEST


def _live(life: Life) -> Callable[[Play], None]:
    """Return a function that submits the job, unless it exists, and lets the system work until all is done."""

    def live(play: Play) -> None:
        (submitted,) = submit(play.context(), [life.spec], NOW)
        assert submitted.outcome in (Submission.CREATED, Submission.REPEATED)
        play.run_on(KEY, to_its_end=True)

    return live


def _begin(stage: Stage, life: Life) -> Play:
    play = stage.play(NOW)
    play.caller.statuses, play.caller.takes_ms = [*life.statuses], life.takes_ms
    return play


def _assert_promises(play: Play, life: Life) -> None:
    row = play.job(KEY)
    rest = at_rest(play, replace(row, next_fire_at=NOW))
    assert_each_instant_has_one_row(rest, life.last_at)
    assert_all_is_well(rest)
    assert rest.row.status is life.ends
    ran = [run for run in rest.runs if run.state is not RunState.SKIPPED]
    assert ran
    assert {run.state for run in ran} == {RunState.SUCCEEDED if life.ends is JobStatus.COMPLETED else RunState.FAILED}
    assert {call.run for _, call in rest.calls} <= {run.id for run in ran}


@pytest.mark.parametrize("name", LIVES)
def test_a_life_cut_off_anywhere_goes_on_to_the_same_end(stage: Stage, name: str) -> None:
    life = LIVES[name]
    for left in stage.crashes(_begin(stage, life), _live(life), life.points):
        left.clock.advance(stage.later_ms)
        _live(life)(left)
        _assert_promises(left, life)


@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.more] * (name in LONGEST)) for name in ALL])
def test_a_life_cut_off_anywhere_and_then_once_more_goes_on_to_the_same_end(name: str) -> None:
    life, stage = ALL[name], Stage(Memory(), 0, lambda *_: None)
    for left in stage.crashes(_begin(stage, life), _live(life), life.points):
        for left_again in stage.crashes(left, _live(life), None):
            left_again.clock.advance(20 * SECOND_MS)
            _live(life)(left_again)
            _assert_promises(left_again, life)
