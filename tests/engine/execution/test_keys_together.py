"""Several limiters, quotas, executions and hanging processes: no slot is doubled, and no run waits for ever."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise

import pytest

from tests.engine.play import Play, spec
from tests.engine.service import Service, at
from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import JobKey, LimiterKey, RunId
from timeball.domain.model.jobs.job import JobSpec, Priority
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.run import Permit, Run, RunState, Waiting
from timeball.domain.model.runs.transitions import admitted as admitted_run
from timeball.domain.model.runs.transitions import lined_up
from timeball.domain.model.tenants.tenant import Quotas
from timeball.domain.model.terms.flow import ConcurrencyLimit, Flow, RateLimit
from timeball.domain.model.terms.policies import Work
from timeball.domain.model.terms.target import StepFunctionsTarget
from timeball.domain.sharing.slots_and_tokens import SETTLES_MS, admitted, expected, left_in_line
from timeball.domain.time.instants import SECOND_MS
from timeball.domain.time.schedule import At, Every
from timeball.engine.blackouts.freezes import note_quotas
from timeball.engine.changes.change import cancel
from timeball.engine.context import Context
from timeball.engine.quotas import note_limits, read_limit
from timeball.engine.runs.manual import retry_runs
from timeball.engine.runs.send import send
from timeball.engine.runs.waiting_lines import admit_waiting, expect
from timeball.engine.runs.watch import reconcile_messages
from timeball.ports.errors import UnavailableError
from timeball.ports.rows import Swap
from timeball.testing.faults import Points

SLOT, TOKEN = ConcurrencyLimit("db", 1), RateLimit("crm", 1)
MACHINE = StepFunctionsTarget("arn:aws:states:eu-west-1:123456789012:stateMachine:m", follow=True)


@pytest.fixture
def service() -> Iterator[Service]:
    with Service(Play()) as made:
        yield made


def _spec(name: str, flow: Flow, due_at: int = at(10)) -> JobSpec:
    return replace(spec(name, At(due_at)), flow=flow)


def _begun(service: Service, prefix: str = "") -> list[tuple[float, float]]:
    """Return the begin and the end (s) of each call of jobs whose names begin with the prefix."""
    mine = [one for one in service.target.visits if one.run.job.job_id.startswith(prefix)]
    return sorted(((one.from_at - at(0)) / SECOND_MS, (one.to_at - at(0)) / SECOND_MS) for one in mine)


def test_a_followed_execution_keeps_its_slot_until_it_has_ended(service: Service) -> None:
    service.target.lasts_ms = 100 * SECOND_MS
    jobs = [_spec(f"job-{n}", Flow(concurrency=SLOT), at(10 + 7 * n)) for n in range(4)]
    service.play.store_jobs([replace(one, work=Work(MACHINE, "{}"), timeout_seconds=3600) for one in jobs])
    service.until(at(600))
    ends = sorted(one.ends_at for one in service.play.executions.started.values())
    assert len(ends) == 4
    assert all(later >= earlier + 100 * SECOND_MS for earlier, later in pairwise(ends))


def test_jobs_that_need_a_slot_and_a_token_run_beside_jobs_that_need_only_the_token(service: Service) -> None:
    service.play.store_jobs([_spec(f"both-{n}", Flow(concurrency=SLOT, rate=TOKEN)) for n in range(20)])
    service.play.store_jobs([_spec(f"turn-{n}", Flow(rate=TOKEN)) for n in range(60)])
    service.target.takes = lambda call: 3 * SECOND_MS if call.run.job.job_id.startswith("both") else 0
    service.until(at(150))
    both = _begun(service, "both")
    assert (len(both), len(_begun(service))) == (20, 80)
    assert all(earlier[1] <= later[0] for earlier, later in pairwise(both))
    assert all(later[0] - earlier[0] >= 0.999 for earlier, later in pairwise(_begun(service)))


def test_a_run_keeps_its_limiters_slot_while_it_waits_for_its_tenants_quota(service: Service) -> None:
    note_quotas(service.play.context(), "acme", Quotas(runs_at_once=1))
    service.target.takes = lambda _: 20 * SECOND_MS
    service.play.store_jobs([spec("plain", At(at(9))), *(_spec(f"job-{n}", Flow(concurrency=SLOT)) for n in range(2))])
    service.until(at(15))
    view = read_limit(service.play.context(), LimiterKey("acme", "db"))
    assert view is not None
    assert [(run.reason, run.slots) for run in view.holders] == [(Reason.QUOTA_WAIT, ("db",))]
    assert [run.reason for run in view.waiters] == [Reason.LIMIT_WAIT]
    cancel(service.play.context(), [(view.holders[0].id.job, None)])
    service.until(at(60))
    assert [run.state for run in _rows(service.play) if run.state is not RunState.CANCELLED] == [RunState.SUCCEEDED] * 2


def _rows(play: Play) -> list[Run]:
    names = ("plain", "job-0", "job-1")
    return [run for name in names for run in play.runs(JobKey("acme", name))]


def _forgotten() -> tuple[Play, Run]:
    """Return a run in a line whose limiter was processed before the run joined, and is no longer due."""
    play = Play()
    play.store_jobs([_spec("job", Flow(concurrency=SLOT), at(0))])
    play.scan_all()
    (run,) = play.runs(JobKey("acme", "job"))
    note_limits(play.context(), [_spec("job", Flow(concurrency=SLOT))], play.clock.now())
    waiting = lined_up(run, Waiting("db", Permit.SLOT), Reason.LIMIT_WAIT, None)
    (swapped,) = play.store.runs.swap([Swap(run, waiting)], play.clock.now())
    assert swapped.row is not None
    play.queue.receive("normal")
    play.clock.advance(SETTLES_MS)
    play.scan_all()
    return play, swapped.row


def test_a_run_that_was_missed_in_a_line_is_found_by_the_watch_over_its_message() -> None:
    play, run = _forgotten()
    assert read_limit(play.context(), LimiterKey("acme", "db")).limiter.due_at is None  # type: ignore[union-attr]
    play.clock.advance(30 * SECOND_MS)
    play.watch()
    play.scan_all()
    play.execute_next()
    assert play.runs(run.id.job)[0].state is RunState.SUCCEEDED


def _expecting(play: Play, run: Run, writes: int) -> None:
    """Watch a run in a line, while others write its limiter again and again."""
    left = iter(range(writes))

    class Busy(Points):
        def reach(self) -> None:
            (standing,) = play.store.limiters.read([LimiterKey("acme", "db")])
            if standing is not None and next(left, None) is not None:
                play.store.limiters.swap([Swap(standing, standing)], play.clock.now())

    expect(play.context(Busy()), [run])


def test_a_run_that_was_missed_in_the_line_of_a_busy_limiter_is_found_by_the_watch() -> None:
    play, run = _forgotten()
    _expecting(play, run, writes=3)
    play.scan_all()
    play.execute_next()
    assert play.runs(run.id.job)[0].state is RunState.SUCCEEDED


def test_a_limiter_that_is_already_due_stays_due_long_enough_for_a_run_that_joins_late() -> None:
    """The next check of the line may come before the index shows the run, and find the line empty."""
    play, run = _forgotten()
    (standing,) = play.store.limiters.read([LimiterKey("acme", "db")])
    assert standing is not None
    play.store.limiters.swap([Swap(standing, evolve(standing, due_at=play.clock.now()))], play.clock.now())
    expect(play.context(), [run], are_new=True)
    (after,) = play.store.limiters.read([LimiterKey("acme", "db")])
    assert after is not None
    assert left_in_line(after, (), play.clock.now() + SETTLES_MS - 1, some_admitted=False).due_at is not None


def test_the_watch_over_a_run_in_line_goes_on_if_its_limiter_cannot_be_written() -> None:
    play, run = _forgotten()
    with pytest.raises(UnavailableError):
        _expecting(play, run, writes=100)


def test_a_run_in_a_line_needs_no_message_and_an_admitted_run_gets_another() -> None:
    play, run = _forgotten()
    assert reconcile_messages(play.context(), [run.id]) == [True]
    (standing,) = play.runs(run.id.job)
    assert replace(standing, revision=run.revision) == run
    after = replace(standing, state=RunState.RETRYING, attempt=1, waiting=Waiting("db", Permit.SLOT, admitted=True))
    play.store.runs.swap([Swap(standing, after)], play.clock.now())
    assert reconcile_messages(play.context(), [run.id]) == [True]
    assert play.runs(run.id.job)[0].due_at is not None


def test_an_admission_is_not_recorded_after_its_message_was_given_up() -> None:
    play, run = _forgotten()
    reconcile_messages(play.context(), [run.id])
    (noted,) = play.store.runs.swap([Swap(run, admitted_run(run))], play.clock.now())
    assert not noted.done
    assert play.runs(run.id.job)[0].stands_in_line


def test_runs_with_their_tenants_slot_that_wait_for_a_rate_token_all_run(service: Service) -> None:
    note_quotas(service.play.context(), "acme", Quotas(runs_at_once=4, runs_per_second=1))
    service.play.store_jobs([spec(f"job-{n}", At(at(10))) for n in range(20)])
    service.until(at(40))
    assert len(_begun(service)) == 20


def test_a_run_admitted_by_a_process_that_died_is_admitted_again_although_others_checked_meanwhile() -> None:
    play, run = _forgotten()
    context, key = play.context(), LimiterKey("acme", "db")
    (limiter,) = context.store.limiters.read([key])
    assert limiter is not None
    now = play.clock.now()
    cut_off, instants = admitted(expected(limiter, now), Permit.SLOT, [run], now, play.rules.lease_ms)
    context.store.limiters.swap([Swap(limiter, left_in_line(cut_off, [], now, some_admitted=bool(instants)))], now)
    for _ in range(3):
        play.clock.advance(SETTLES_MS)
        admit_waiting(context, [one for one in context.store.limiters.read([key]) if one is not None])
    play.clock.advance(60 * SECOND_MS)
    play.scan_all()
    play.execute_next()
    assert play.runs(run.id.job)[0].state is RunState.SUCCEEDED


def test_the_slowest_rate_that_a_job_names_holds_for_all_jobs_of_its_limiter(service: Service) -> None:
    slow = replace(spec("slow", Every(10, at(10))), flow=Flow(rate=TOKEN))
    fast = [_spec(f"fast-{n}", Flow(rate=replace(TOKEN, per_second=10)), at(11)) for n in range(20)]
    service.play.store_jobs([slow, *fast])
    service.until(at(45))
    begun = [one[0] for one in _begun(service)]
    assert len(_begun(service, "fast")) == 20
    assert all(later - earlier >= 0.999 for earlier, later in pairwise(begun))


@pytest.mark.parametrize("asks_again", [retry_runs, reconcile_messages])
def test_a_run_in_a_line_for_tokens_overtakes_no_other_when_it_gets_another_message(
    service: Service, asks_again: Callable[[Context, list[RunId]], object]
) -> None:
    service.target.takes = lambda _: 100
    high = [replace(_spec(f"high-{n}", Flow(rate=TOKEN)), priority=Priority.HIGH) for n in range(9)]
    low = replace(_spec("low", Flow(rate=TOKEN)), priority=Priority.LOW)
    service.play.store_jobs([*high, low])
    service.until(at(14))
    (waiting,) = service.play.runs(low.key)
    assert waiting.stands_in_line
    asks_again(service.play.context(), [waiting.id])
    send(service.play.context(), [waiting], service.play.clock.now())
    service.until(at(40))
    order = [one.run.job.job_id for one in service.target.visits]
    assert order[-1] == "low"


def test_supersede_lets_only_the_newest_run_that_waits_for_a_slot_start(service: Service) -> None:
    service.target.takes = lambda call: (200 if call.run.job.job_id == "holder" else 0) * SECOND_MS
    every = replace(spec("job", Every(2, at(10))), flow=Flow(concurrency=SLOT, supersede=True))
    service.play.store_jobs([_spec("holder", Flow(concurrency=SLOT), at(5)), every])
    service.until(at(204))
    waiting = [run for run in service.play.runs(JobKey("acme", "job")) if run.waiting is not None]
    assert [run.id.fire_at for run in waiting] == [at(204)]
    service.until(at(207))
    assert _begun(service, "job")[0][0] <= 206
