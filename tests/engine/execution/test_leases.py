"""How long an executor keeps a run: renewals that hang, finishes that fail, and an invocation that runs out of time."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import ParamSpec, TypeVar

import pytest

from tests.engine.play import NOW, PLAIN_RETRY, NotingCaller, Play, spec
from timeball.domain.model.ids import JobKey
from timeball.domain.model.jobs.job import Job, JobStatus
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.runs.values import Outcome
from timeball.domain.model.terms.policies import RetryPolicy
from timeball.domain.time.instants import SECOND_MS
from timeball.domain.time.schedule import At
from timeball.engine.changes.change import cancel
from timeball.engine.execution.execute import execute
from timeball.engine.execution.invocation import Offload, Term
from timeball.ports.errors import UnavailableError
from timeball.ports.queue import Delivery, Inbox
from timeball.ports.rows import Swap
from timeball.ports.target import Answer, Call
from timeball.testing.at_work import inline
from timeball.testing.faults import with_outages
from timeball.testing.memory_queue import handed_out

_P = ParamSpec("_P")
_T = TypeVar("_T")

ONCE = RetryPolicy(max_retries=0)
LET_GO_MS = 25_000
"""A lease minus its margin."""


def _sent(*names: str, retry: RetryPolicy = ONCE) -> tuple[Play, list[Job]]:
    play = Play()
    jobs = play.store_jobs(spec(name, At(NOW), retry) for name in names)
    play.scan_all()
    return play, jobs


def _execute(
    play: Play,
    deliveries: Sequence[Delivery],
    offload: Offload = inline,
    deadline_at: int | None = None,
    inbox: Inbox | None = None,
) -> list[Delivery]:
    at = inbox or play.queue.inbox("normal")
    work = execute(play.context(), at, play.caller, deliveries, "one", offload, Term(deadline_at))
    return play.clock.run(handed_out(play.queue.inbox("normal"), deliveries, work))


def _fails_until(play: Play, until: int, which: Callable[[Run], bool], method: str = "runs.swap") -> None:
    """Make a method of the store fail for some runs until an instant."""

    def fails(name: str, item: object) -> bool:
        if name != method or play.clock.now() >= until:
            return False
        return not isinstance(item, Swap) or which(item.after)

    play.store = with_outages(play.store, fails)


def _ends(run: Run) -> bool:
    return run.is_terminal


@dataclass
class SpanCaller(NotingCaller):
    """Notes from when to when each call was in flight, in ms since the beginning, however the call ended."""

    spans: list[tuple[int, int, int]] = field(default_factory=list)

    async def call(self, call: Call) -> Answer:
        called_at = self.clock.now()
        try:
            return await super().call(call)
        finally:
            self.spans.append((call.attempt, called_at - NOW, self.clock.now() - NOW))


class ByName(NotingCaller):
    """A target that refuses the jobs whose names begin with `bad`."""

    async def call(self, call: Call) -> Answer:
        self.statuses = [500 if call.run.job.job_id.startswith("bad") else 200]
        return await super().call(call)


def test_an_answered_call_is_not_repeated_because_another_write_of_its_batch_was_unknown() -> None:
    play, _ = _sent("ok", "bad")
    play.caller = ByName(play.clock)
    failures = iter([True])
    play.store = with_outages(play.store, lambda name, _: name == "attempts.insert" and next(failures, False))
    play.drain()
    assert sorted((call.run.job.job_id, call.attempt) for _, call in play.caller.calls) == [("bad", 1), ("ok", 1)]
    ends = {job_id: play.runs(JobKey("acme", job_id))[0].state for job_id in ("ok", "bad")}
    assert ends == {"ok": RunState.SUCCEEDED, "bad": RunState.FAILED}


def test_a_partly_written_finish_is_repeated_until_it_is_complete() -> None:
    play, jobs = _sent("a", "b")
    failures = iter([True, False, True, True])
    play.store = with_outages(play.store, lambda name, _: name == "jobs.swap" and next(failures, False))
    play.drain()
    assert play.caller.attempts() == [(NOW, 1)] * 2
    assert [play.job(job.key).status for job in jobs] == [JobStatus.COMPLETED] * 2


@pytest.mark.parametrize("seconds", [4, 24, 60, 300])
def test_a_run_whose_finish_cannot_be_written_keeps_its_lease_and_its_answer(seconds: int) -> None:
    play, (job,) = _sent("job")
    play.caller.takes_ms = 3_000
    _fails_until(play, NOW + seconds * SECOND_MS, _ends)
    assert _execute(play, play.queue.receive("normal")) == []
    assert play.caller.attempts() == [(NOW, 1)]
    (run,) = play.runs(job.key)
    assert (run.state, run.attempt) == (RunState.SUCCEEDED, 1)
    assert run.last is not None
    assert run.last.finished_at == NOW + 3_000
    assert run.finished_at is not None
    assert NOW + seconds * SECOND_MS <= run.finished_at <= NOW + (seconds + 2) * SECOND_MS


def test_an_answer_is_given_up_only_at_the_end_of_its_lease() -> None:
    play, (job,) = _sent("job", retry=PLAIN_RETRY)
    deliveries = play.queue.receive("normal")
    _fails_until(play, NOW + LET_GO_MS + 1, lambda _: bool(play.caller.calls))
    assert _execute(play, deliveries) == deliveries
    assert play.clock.now() == NOW + LET_GO_MS
    play.drain()
    assert play.caller.attempts() == [(NOW, 1), (NOW, 2)]
    assert play.runs(job.key)[0].state is RunState.SUCCEEDED


def test_a_finish_that_cannot_be_written_delays_no_other() -> None:
    play, (stuck, _, _) = _sent("stuck", "b", "c")
    _fails_until(play, NOW + 20_000, lambda run: run.is_terminal and run.id.job == stuck.key)
    play.drain()
    assert play.caller.attempts() == [(NOW, 1)] * 3
    ends = {job: play.runs(JobKey("acme", job))[0].finished_at for job in ("stuck", "b", "c")}
    assert ends["stuck"] is not None
    assert ends["stuck"] >= NOW + 20_000
    assert {ends["b"], ends["c"]} <= {NOW, NOW + 200}


def test_a_fault_in_one_finish_returns_only_that_runs_message() -> None:
    play, (odd, other) = _sent("odd", "other")

    class Odd(NotingCaller):
        async def call(self, call: Call) -> Answer:
            answer = await super().call(call)
            return replace(answer, verdict="odd") if call.run.job == odd.key else answer  # type: ignore[arg-type]

    play.caller = Odd(play.clock)
    deliveries = play.queue.receive("normal")
    assert _execute(play, deliveries) == [delivery for delivery in deliveries if delivery.run.job == odd.key]
    assert play.runs(other.key)[0].state is RunState.SUCCEEDED


def _hanging(play: Play, name: str, hangs_ms: int) -> Offload:
    """Return an offload in which a named operation hangs for a while, and then fails as unavailable."""

    async def offload(work: Callable[_P, _T], /, *args: _P.args, **kwargs: _P.kwargs) -> _T:
        if work.__name__ == name:
            await play.clock.sleep_until(play.clock.now() + hangs_ms)
            raise UnavailableError("timed out")
        return await inline(work, *args, **kwargs)

    return offload


def test_two_calls_of_a_run_never_overlap_although_a_renewal_hangs() -> None:
    play, (job,) = _sent("job", retry=PLAIN_RETRY)
    play.caller = caller = SpanCaller(play.clock, takes_ms=120_000)
    inbox, first = play.queue.inbox("normal"), play.queue.receive("normal")
    taken_over_at = NOW + play.rules.lease_ms + play.rules.margin_ms

    async def second() -> list[Delivery]:
        await play.clock.sleep_until(taken_over_at)
        return await execute(play.context(), inbox, caller, play.queue.receive("normal"), "two", inline)

    async def both() -> tuple[list[Delivery], list[Delivery]]:
        hanging = execute(play.context(), inbox, caller, first, "one", _hanging(play, "renew", 28_000))
        one, two = await asyncio.gather(hanging, second())
        return one, two

    assert play.clock.run(both()) == (first, [])
    assert caller.spans == [(1, 0, LET_GO_MS), (2, taken_over_at - NOW, taken_over_at - NOW + 120_000)]
    assert play.runs(job.key)[0].state is RunState.SUCCEEDED


def test_a_call_goes_on_when_a_renewal_comes_late_but_in_time() -> None:
    play, (job,) = _sent("job")
    play.caller.takes_ms = 60_000
    _fails_until(play, NOW + 20_000, lambda run: run.state is RunState.RUNNING and play.clock.now() > NOW)
    play.drain()
    assert play.caller.attempts() == [(NOW, 1)]
    assert play.runs(job.key)[0].state is RunState.SUCCEEDED


def test_a_row_that_cannot_be_renewed_costs_no_other_run_its_lease() -> None:
    play, (stuck, b, c) = _sent("stuck", "b", "c")
    play.caller = caller = SpanCaller(play.clock, takes_ms=60_000)
    _fails_until(play, NOW + 60_000, lambda run: run.id.job == stuck.key and play.clock.now() > NOW)
    _execute(play, play.queue.receive("normal"))
    assert sorted(span[2] for span in caller.spans) == [LET_GO_MS, 60_000, 60_000]
    assert {play.runs(job.key)[0].state for job in (b, c)} == {RunState.SUCCEEDED}


def test_no_call_follows_a_claim_that_took_longer_than_its_lease() -> None:
    play, (job,) = _sent("job", retry=PLAIN_RETRY)
    deliveries = play.queue.receive("normal")

    assert _execute(play, deliveries, _slow_claim(play, LET_GO_MS)) == deliveries
    assert play.caller.calls == []
    play.drain()
    assert [attempt for _, attempt in play.caller.attempts()] == [2]
    assert play.runs(job.key)[0].state is RunState.SUCCEEDED


def test_leases_are_renewed_while_the_deletion_of_messages_hangs() -> None:
    play, jobs = _sent("fast", "slow")
    play.caller = caller = SpanCaller(play.clock)

    async def call(call: Call) -> Answer:
        caller.takes_ms = 60_000 if call.run.job.job_id == "slow" else 0
        return await SpanCaller.call(caller, call)

    caller.call = call  # type: ignore[method-assign]
    assert _execute(play, play.queue.receive("normal"), _hanging(play, "delete", 28_000)) == []
    assert sorted(caller.spans) == [(1, 0, 0), (1, 0, 60_000)]
    assert {play.runs(job.key)[0].state for job in jobs} == {RunState.SUCCEEDED}


def test_a_call_that_was_cut_still_records_when_it_left() -> None:
    play, (job,) = _sent("job")
    play.caller.takes_ms = 60_000
    play.caller.meanwhile = lambda: cancel(play.context(), [(job.key, None)])
    play.drain()
    (run,) = play.runs(job.key)
    assert (run.state, run.first_started_at) == (RunState.CANCELLED, NOW)
    assert run.last is not None
    assert run.last.error == "It was asked to stop while it ran."


def _slow_claim(play: Play, takes_ms: int) -> Offload:
    async def offload(work: Callable[_P, _T], /, *args: _P.args, **kwargs: _P.kwargs) -> _T:
        done = work(*args, **kwargs)
        if work.__name__ == "claim_runs":
            await play.clock.sleep_until(play.clock.now() + takes_ms)
        return done

    return offload


def test_a_call_that_no_longer_fits_is_cut_and_recorded_as_timed_out() -> None:
    play, (job,) = _sent("job", retry=PLAIN_RETRY)
    play.caller = caller = SpanCaller(play.clock, takes_ms=400_000)
    deadline_at = NOW + 320_000
    assert _execute(play, play.queue.receive("normal"), _slow_claim(play, 10_000), deadline_at=deadline_at) == []
    assert play.clock.now() < deadline_at
    assert caller.spans == [(1, 10_000, 300_000)]
    (run,) = play.runs(job.key)
    assert (run.state, run.first_started_at) == (RunState.RETRYING, NOW + 10_000)
    (attempt,) = play.store.attempts.of_run(run.id)
    assert (attempt.outcome, attempt.started_at) == (Outcome.TIMED_OUT, NOW + 10_000)
    assert attempt.error == "Its executor's own time was up before the target had answered."


@pytest.mark.parametrize("ahead_ms", [0, 5_000])
def test_a_run_that_might_not_fit_into_its_executors_time_is_returned_unchanged(ahead_ms: int) -> None:
    play = Play()
    (job,) = play.store_jobs([spec("job", At(NOW + ahead_ms), timeout_seconds=60)])
    play.scan_all()
    before = play.runs(job.key)
    play.clock.advance(ahead_ms - ahead_ms % 4_000)
    deliveries = play.queue.receive("normal")
    reserve_ms = 20_000
    assert _execute(play, deliveries, deadline_at=NOW + ahead_ms + 60_000 + reserve_ms - 1) == []
    assert (play.runs(job.key), play.caller.calls) == (before, [])
    ((run, comes_at),) = play.messages()  # a new message: the old one did not use up a delivery
    assert (run, comes_at) == (before[0].id, play.clock.now())
    assert _execute(play, deliveries, deadline_at=NOW + ahead_ms + 60_000 + reserve_ms) == []
    assert play.runs(job.key)[0].state is RunState.SUCCEEDED


def test_an_answer_that_cannot_be_written_is_dropped_before_its_executor_is_ended() -> None:
    play, (job,) = _sent("job", retry=PLAIN_RETRY)
    deliveries, deadline_at = play.queue.receive("normal"), NOW + 330_000
    _fails_until(play, NOW + 600_000, _ends)
    assert _execute(play, deliveries, deadline_at=deadline_at) == deliveries
    assert NOW + 310_000 < play.clock.now() < deadline_at
    assert play.runs(job.key)[0].state is RunState.RUNNING
