"""A target's report, the end of its lease, or a manual change is stopped at every point, and still ends well."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import pytest

from tests.crash.promises import assert_all_is_well, at_rest
from tests.crash.stage import Stage
from tests.engine.play import NOW, PLAIN_RETRY, Play, spec
from timeball.domain.attempts.circuit_breaker import Circuit, CircuitKey
from timeball.domain.model.ids import RunId
from timeball.domain.model.jobs.job import Completion, JobStatus
from timeball.domain.model.runs.run import RunState
from timeball.domain.time.instants import SECOND_MS
from timeball.domain.time.schedule import At, Every, Schedule
from timeball.engine.execution.claim import claim
from timeball.engine.runs.callback import Report, heartbeat, report
from timeball.engine.runs.dead_letters import DeadFilter, discard, list_dead, replay
from timeball.engine.runs.manual import cancel_runs, retry_runs

JOB = spec("job", At(NOW), PLAIN_RETRY, timeout_seconds=120)
HEARTBEAT_SECONDS = 40
"""Longer than the lease of an executor; `SHORT_SECONDS` is shorter."""
SHORT_SECONDS = 20
ALL = DeadFilter("acme")

Verb = Callable[[Play], object]


def _run_id(play: Play) -> RunId:
    return play.runs(JOB.key)[0].id


def _sent(play: Play, heartbeat_seconds: int | None = HEARTBEAT_SECONDS) -> None:
    play.store_jobs([replace(JOB, completion=Completion.CALLBACK, heartbeat_seconds=heartbeat_seconds)])
    play.scan_all()


def _executed(play: Play) -> None:
    play.caller.statuses = [202]
    play.execute(play.queue.receive("normal"))


def _handed_over(play: Play) -> None:
    _sent(play)
    _executed(play)


def _at_work(play: Play) -> None:
    _handed_over(play)
    play.clock.advance(SHORT_SECONDS * SECOND_MS)


def _not_heard_of(play: Play, heartbeat_seconds: int | None = HEARTBEAT_SECONDS) -> None:
    _sent(play, heartbeat_seconds)
    _executed(play)
    play.clock.advance((heartbeat_seconds or JOB.timeout_seconds) * SECOND_MS + play.rules.margin_ms)


def _failed(play: Play) -> None:
    play.store_jobs([replace(JOB, retry=replace(PLAIN_RETRY, max_retries=0))])
    play.scan_all()
    play.caller.statuses = [500]
    play.drain()


def _retrying(play: Play) -> None:
    play.store_jobs([JOB])
    play.scan_all()
    play.caller.statuses = [500]
    play.drain()


def _queued(play: Play) -> None:
    play.store_jobs([JOB])
    play.scan_all()


def _forgotten(play: Play) -> None:
    _queued(play)
    play.queue.inbox("normal").delete(play.queue.receive("normal"))


def _hourly_failed(play: Play) -> None:
    play.store_jobs([replace(JOB, schedule=Schedule(Every(3600, NOW)), retry=replace(PLAIN_RETRY, max_retries=0))])
    play.scan_all()
    play.caller.statuses = [500]
    play.drain()


def _lost(play: Play) -> None:
    _queued(play)
    claim(play.context(), [_run_id(play)], "vanished")


def _host_rests(play: Play) -> None:
    _queued(play)
    host = Circuit(CircuitKey("acme", "https://target.example"), failures=5, openings=1, open_until=NOW + 20_000)
    play.store.circuits.insert([host], NOW)


def _complete(play: Play) -> None:
    report(play.context(), [Report(_run_id(play), 1, body="b" * 500)])


def _fail(play: Play) -> None:
    report(play.context(), [Report(_run_id(play), 1, error="It broke." + "!" * 500)])


def _fail_for_good(play: Play) -> None:
    report(play.context(), [Report(_run_id(play), 1, error="It is of no use.", may_retry=False)])


def _beat(play: Play) -> None:
    heartbeat(play.context(), [(_run_id(play), 1)])


def _retry(play: Play) -> None:
    retry_runs(play.context(), [_run_id(play)])


def _cancel(play: Play) -> None:
    cancel_runs(play.context(), [_run_id(play)])


def _replay(play: Play) -> None:
    replay(play.context(), list_dead(play.context(), ALL, 100, oldest_first=True), 1)


def _discard(play: Play) -> None:
    discard(play.context(), list_dead(play.context(), ALL, 100, oldest_first=True))


def _execute(play: Play) -> None:
    play.execute(play.queue.receive("normal"))


@dataclass(frozen=True)
class Case:
    """The preparation, the verb that is stopped, its points; the run's end, and its least and largest number of calls.

    `repeats`: the caller got no answer and repeats its request. `apart_seconds`: the least time between the two calls.
    """

    prepare: Callable[[Play], None]
    act: Verb
    points: int
    state: RunState
    status: JobStatus
    calls: tuple[int, int]
    repeats: bool = True
    apart_seconds: int = 0


DONE = (RunState.SUCCEEDED, JobStatus.COMPLETED)
FAILED = (RunState.FAILED, JobStatus.FAILED)
GOES_ON = (RunState.SUCCEEDED, JobStatus.PENDING)
CASES = {
    # Hidden, claimed, handed over, removed. If it is stopped before the hand-over, its target is called again.
    "a hand-over": Case(_sent, _executed, 8, *DONE, (1, 2), repeats=False),
    # The run, its attempt, its job, its due key.
    "a success": Case(_handed_over, _complete, 6, *DONE, (1, 1)),
    "a success of a target that dies": Case(_handed_over, _complete, 6, *DONE, (1, 2), repeats=False),
    "a failure": Case(_handed_over, _fail, 4, *DONE, (2, 2)),
    "a failure of a target that dies": Case(_handed_over, _fail, 4, *DONE, (2, 2), repeats=False),
    "a failure for good": Case(_handed_over, _fail_for_good, 6, *FAILED, (1, 1)),
    # The second call comes after the last heartbeat's lease, its margin, and the retry's wait.
    "a heartbeat, then nothing more": Case(_at_work, _beat, 2, *DONE, (2, 2), apart_seconds=SHORT_SECONDS + 50),
    "the end of a lease": Case(_not_heard_of, Play.scan, 4, *DONE, (2, 2), repeats=False, apart_seconds=50),
    "the end of a lease that is shorter than an executor's": Case(
        partial(_not_heard_of, heartbeat_seconds=SHORT_SECONDS),
        Play.scan,
        4,
        *DONE,
        (2, 2),
        repeats=False,
        apart_seconds=SHORT_SECONDS + 10,
    ),
    "the end of an attempt's time": Case(
        partial(_not_heard_of, heartbeat_seconds=None), Play.scan, 4, *DONE, (2, 2), repeats=False, apart_seconds=130
    ),
    # The run, its message, its due key.
    "a retry by hand": Case(_failed, _retry, 6, *DONE, (2, 2)),
    "a retry by hand, before its time": Case(_retrying, _retry, 6, *DONE, (2, 2)),
    "a retry by hand of a run whose message was lost": Case(_forgotten, _retry, 6, *DONE, (1, 1)),
    "a retry by hand, and the job goes on": Case(_hourly_failed, _retry, 8, *GOES_ON, (2, 2)),
    "a replay, and the job goes on": Case(_hourly_failed, _replay, 2, *GOES_ON, (2, 2)),
    "a cancel of a run": Case(_queued, _cancel, 4, RunState.CANCELLED, JobStatus.CANCELLED, (0, 0)),
    "a cancel between attempts": Case(_retrying, _cancel, 4, RunState.CANCELLED, JobStatus.CANCELLED, (1, 1)),
    "a cancel of a run whose executor vanished": Case(
        _lost, _cancel, 2, RunState.CANCELLED, JobStatus.CANCELLED, (0, 0)
    ),
    "a replay": Case(_failed, _replay, 2, *DONE, (2, 2)),
    "a discard": Case(_failed, _discard, 2, *FAILED, (1, 1)),
    # Hidden, deferred, removed.
    "a run that is held back": Case(_host_rests, _execute, 6, *DONE, (1, 1), repeats=False),
}


@pytest.mark.on_moto(
    "a hand-over",
    "a success",
    "a failure",
    "a heartbeat, then nothing more",
    "the end of a lease",
    "a retry by hand",
    "a cancel of a run",
    "a replay",
    "a discard",
    "a run that is held back",
)
@pytest.mark.parametrize("name", CASES)
def test_a_verb_stopped_anywhere_ends_as_if_it_had_not_been_stopped(stage: Stage, name: str) -> None:
    case, play = CASES[name], stage.play(NOW)
    case.prepare(play)
    for left in stage.crashes(play, case.act, case.points):
        if case.repeats:
            case.act(left)
        left.clock.advance(stage.later_ms)
        left.scan_all()
        if case.prepare is _sent and left.runs(JOB.key)[0].callback is not None:
            _complete(left)
        left.run_on(JOB.key)
        _assert_promises(left, case)


def _assert_promises(play: Play, case: Case) -> None:
    rest = at_rest(play, play.job(JOB.key))
    (run,) = rest.runs
    assert (run.state, rest.row.status) == (case.state, case.status)
    least, most = case.calls
    assert least <= len(rest.calls) <= most
    assert [at for at, _ in rest.calls[1:] if at < rest.calls[0][0] + case.apart_seconds * SECOND_MS] == []
    assert_all_is_well(rest)
    assert [one.number for one in rest.attempts.get(run.id, [])] == list(range(1, run.attempt)) or run.attempt <= 1
    assert [one.id for one in list_dead(play.context(), ALL, 10).runs] == [run.id] * run.is_dead_letter
    assert run.is_dead_letter == (case.act is _fail_for_good)
