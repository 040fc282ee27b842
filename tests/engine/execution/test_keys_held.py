"""A slot of a limiter belongs to one run until that run's row says otherwise, however long its executor hangs."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from tests.engine.play import NOW, WORK, Play, spec
from timeball.domain.attempts.claim import ClaimAction
from timeball.domain.model.ids import JobKey, RunId
from timeball.domain.model.jobs.job import JobSpec, with_spec
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.runs.values import Accepted
from timeball.domain.model.terms.flow import ConcurrencyLimit, Flow
from timeball.domain.time.instants import SECOND_MS
from timeball.domain.time.schedule import At
from timeball.engine.changes.change import revise
from timeball.engine.execution.claim import Claim, claim
from timeball.engine.execution.finish import Result, finish
from timeball.engine.execution.in_flight import renew
from timeball.ports.rows import Swap, Swapped
from timeball.ports.target import Answer

_LONGER_THAN_A_LEASE_MS = 31 * SECOND_MS


def _keyed(name: str) -> JobSpec:
    return replace(spec(name, At(NOW)), flow=Flow(concurrency=ConcurrencyLimit("db", 1)))


def _two() -> tuple[Play, RunId, RunId]:
    """Return two runs that were sent, under a limiter with one slot."""
    play = Play()
    play.store_jobs([_keyed("a"), _keyed("b")])
    play.scan_all()
    a, b = (play.runs(JobKey("acme", name))[0].id for name in "ab")
    return play, a, b


def _under_way(play: Play) -> list[str]:
    runs = [play.runs(JobKey("acme", name))[0] for name in "ab"]
    return [run.id.job.job_id for run in runs if run.state is RunState.RUNNING]


def _claims(play: Play, run: RunId, owner: str) -> Claim:
    (one,) = claim(play.context(), [run], owner)
    return one


def _accepted(one: Claim, at: int) -> Result:
    assert one.run is not None
    assert one.job is not None
    return Result(one.run, one.job, Answer(Accepted("arn"), at, at, is_down=False))


def test_an_executor_that_hung_past_its_lease_hands_over_in_its_own_slot() -> None:
    play, a, b = _two()
    first = _claims(play, a, "one")
    play.clock.advance(_LONGER_THAN_A_LEASE_MS)
    assert _claims(play, b, "two").decision.action is ClaimAction.LINE_UP
    finish(play.context(), [_accepted(first, play.clock.now())])
    assert _under_way(play) == ["a"]


def test_an_executor_that_hung_past_its_lease_renews_it_in_its_own_slot() -> None:
    play, a, b = _two()
    first = _claims(play, a, "one")
    assert first.run is not None
    play.clock.advance(_LONGER_THAN_A_LEASE_MS)
    _claims(play, b, "two")
    assert renew(play.context(), [first.run]) != [None]
    assert _under_way(play) == ["a"]


def test_a_run_whose_executor_died_is_taken_over_in_its_own_slot() -> None:
    play, a, b = _two()
    _claims(play, a, "one")
    play.clock.advance(_LONGER_THAN_A_LEASE_MS)
    _claims(play, b, "two")
    play.clock.advance(_LONGER_THAN_A_LEASE_MS)
    again = _claims(play, a, "three")
    assert again.run is not None
    assert (again.decision.action, again.run.attempt) == (ClaimAction.CLAIM, 2)
    assert _under_way(play) == ["a"]


def test_a_claim_that_was_decided_before_its_job_left_a_limiter_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise its run would keep the slot of a limiter that its job does not name, until the run ends."""
    play, a, b = _two()
    swap = play.store.runs.swap

    def after_a_change(swaps: Sequence[Swap[Run]], now: int) -> list[Swapped[Run]]:
        monkeypatch.setattr(play.store.runs, "swap", swap)
        job = play.job(a.job)
        revise(play.context(), [(with_spec(job, work=WORK), replace(_keyed("a"), flow=Flow()))])
        return swap(swaps, now)

    monkeypatch.setattr(play.store.runs, "swap", after_a_change)
    assert _claims(play, a, "one").decision.action is ClaimAction.WAIT
    claimed = _claims(play, a, "one")
    assert (claimed.decision.action, claimed.run and claimed.run.slots) == (ClaimAction.CLAIM, ())
    assert _claims(play, b, "two").decision.action is ClaimAction.CLAIM
