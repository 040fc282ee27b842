"""Promises about a job that is at rest again, whatever crashed or came twice before."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from tests.engine.play import Play
from timeball.domain.backfill import Backfill, BackfillStatus
from timeball.domain.model.ids import Origin, RunId
from timeball.domain.model.jobs.job import Completion, Job, JobStatus
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.runs.values import Attempt, Outcome
from timeball.domain.model.terms.policies import Jitter, OverlapPolicy
from timeball.domain.time.instants import SECOND_MS
from timeball.domain.time.schedule import fires
from timeball.engine.context import Rules
from timeball.engine.runs.overlap_lock import LOCKED
from timeball.ports.target import Call


@dataclass(frozen=True)
class Rest:
    """A job at rest: as it was submitted and as it stands, its ledger, its messages, its calls and when they left.

    `attempts` are those that ended, for the runs with more than one attempt.
    """

    job: Job
    row: Job
    runs: list[Run]
    backfills: list[Backfill]
    attempts: dict[RunId, list[Attempt]]
    messages: list[RunId]
    calls: list[tuple[int, Call]]
    rules: Rules


def at_rest(play: Play, job: Job) -> Rest:
    """Read everything about a job."""
    runs = play.runs(job.key)
    return Rest(
        job,
        play.job(job.key),
        runs,
        play.store.backfills.of_owner(job.key),
        {run.id: play.store.attempts.of_run(run.id) for run in runs if run.attempt > 1},
        [run for run, _ in play.messages() if run.job == job.key],
        [(called_at, call) for called_at, call in play.caller.calls if call.run.job == job.key],
        play.rules,
    )


def assert_all_is_well(rest: Rest) -> None:
    """Assert every promise about a job for which nothing is left to do."""
    assert_nothing_is_called_that_is_over(rest)
    assert_nothing_is_stuck(rest)
    assert_nobody_holds_the_guard(rest)
    assert_attempts_rise(rest)
    assert_nothing_was_early(rest)
    assert_guarded_runs_do_not_overlap(rest)


def assert_each_instant_has_one_row(rest: Rest, through_at: int) -> None:
    """Promises 2 and 6: the ledger has each due instant once, as run or as skipped."""
    first_at = rest.job.next_fire_at
    assert first_at is not None
    instants = list(fires(rest.job.spec.schedule, first_at, through_at))
    assert instants, "a check of no instants proves nothing"
    for fire_at in instants:
        covering = [row for row in rest.runs if row.covers(fire_at)]
        assert len(covering) == 1, f"{fire_at - first_at} ms after the first fire: {covering}"
    assert sum(row.count for row in rest.runs if row.id.fire_at <= through_at) >= len(instants)


def assert_nothing_is_called_that_is_over(rest: Rest) -> None:
    """Promise 6: a run whose row says skipped was never called, and no call left after its row had ended."""
    skipped = [row for row in rest.runs if row.state is RunState.SKIPPED]
    ended_ats = {row.id: row.finished_at for row in rest.runs}
    for called_at, call in rest.calls:
        of_schedule = call.run.origin is Origin.SCHEDULE  # any other run may cover an instant that was skipped
        assert not [row for row in skipped if row.id == call.run or (of_schedule and row.covers(call.run.fire_at))], (
            call.run
        )
        ended_at = ended_ats[call.run]
        assert ended_at is None or called_at <= ended_at, call.run


def assert_nothing_is_stuck(rest: Rest) -> None:
    """Promise 6: once the queue is drained, no row waits for a process that never comes."""
    assert rest.messages == []
    assert [row for row in rest.runs if not row.is_terminal] == []
    assert [row for row in rest.runs if row.due_at is not None] == []
    assert rest.row.intent is None
    for backfill in rest.backfills:
        assert backfill.status is not BackfillStatus.RUNNING
        assert backfill.due_at is None


def assert_nobody_holds_the_guard(rest: Rest) -> None:
    """Once all runs are over, the overlap lock is free; a cancelled job may keep it, because it never runs again."""
    if rest.row.status is not JobStatus.CANCELLED:
        assert (rest.row.holder, rest.row.next_holder) == (None, None)


def assert_attempts_rise(rest: Rest) -> None:
    """Promises 3 and 4: a run is called again only by a newer attempt; an attempt without a recorded call was lost."""
    for run_id in {call.run for _, call in rest.calls}:
        numbers = [call.attempt for _, call in rest.calls if call.run == run_id]
        assert numbers == sorted(set(numbers)), run_id
    for row in rest.runs:
        if row.state is RunState.SUCCEEDED:
            assert row.attempt in [call.attempt for _, call in rest.calls if call.run == row.id]


def assert_nothing_was_early(rest: Rest) -> None:
    """Promises 3 and 5: no call left before its fire time, before its retry was due, or in another attempt's lease."""
    rows = {row.id: row for row in rest.runs}
    for called_at, call in rest.calls:
        assert called_at >= call.run.fire_at, call.run
        for attempt in rest.attempts.get(call.run, []):
            if attempt.number < call.attempt:
                assert called_at >= _free_at(rest, rows[call.run], attempt), (call.run, attempt)


def _free_at(rest: Rest, run: Run, attempt: Attempt) -> int:
    """Return the earliest time of the next attempt: its retry's time, or the end of the lease that it had at least.

    An executor that died between the row of an attempt and the row of its run has lost the attempt, whatever its
    outcome. A manual retry may start at once.
    """
    backoff_ms = rest.row.spec.retry.backoff_ms(
        attempt.number - (run.budget_from if attempt.number > run.budget_from else 0)
    )
    ended_at = _ended_at_target(rest, attempt)
    if ended_at is not None:
        free_at = ended_at + backoff_ms
    else:
        free_at = attempt.claimed_at + rest.rules.lease_ms + rest.rules.margin_ms
        if attempt.outcome is not Outcome.LOST and attempt.finished_at is not None:
            assert rest.row.spec.retry.jitter is Jitter.NONE, "only without jitter is the time of a retry known"
            free_at = min(free_at, attempt.finished_at + backoff_ms)
    by_hand = run.budget_at is not None and attempt.number <= run.budget_from
    return min(free_at, run.budget_at or 0) if by_hand else free_at


def _ended_at_target(rest: Rest, attempt: Attempt) -> int | None:
    """Return the earliest end of an attempt that was handed over to its target (202); None: it was not.

    It ended with the target's report, or with the target's lease, which is independent of the executor's.
    """
    if rest.row.spec.completion is not Completion.CALLBACK or attempt.started_at is None or attempt.status is not None:
        return None
    if attempt.outcome is Outcome.FAILED:
        return attempt.finished_at
    lease_ms = (
        min(rest.row.spec.heartbeat_seconds or rest.row.spec.timeout_seconds, rest.row.spec.timeout_seconds) * SECOND_MS
    )
    return max(attempt.started_at + lease_ms, attempt.finished_at or 0) + rest.rules.margin_ms


def assert_guarded_runs_do_not_overlap(rest: Rest) -> None:
    """From the first call of a locked run to its end, through all its retries, no other run of its job is called."""
    if rest.row.spec.overlap is OverlapPolicy.ALLOW:
        return
    locked = {row.id: row for row in rest.runs if row.id.origin in LOCKED}
    called = {run: [(at, call.attempt) for at, call in rest.calls if call.run == run] for run in locked}
    for run, row in locked.items():
        others = [at for other in locked if other != run for at, _ in called[other]]
        for first_at, ended_at in _lives(rest, row, called[run]):
            assert not [at for at in others if first_at <= at < (ended_at or at)], run


def _lives(rest: Rest, row: Run, called: Sequence[tuple[int, int]]) -> list[tuple[int, int | None]]:
    """Return the life of a run, from its first call to its end; a run that was retried manually has two lives.

    The time between the two is not checked: most such runs had failed, and held nothing.
    """
    before = [at for at, attempt in called if attempt <= row.budget_from]
    since = [at for at, attempt in called if attempt > row.budget_from]
    lives = [(since[0], row.finished_at)] if since else []
    if before:
        attempts = [*rest.attempts.get(row.id, []), *([row.last] if row.last else [])]
        ended_ats = [one.finished_at or 0 for one in attempts if one.number <= row.budget_from]
        lives.append((before[0], max([before[-1], *ended_ats])))
    return lives


def assert_each_run_was_called_once(rest: Rest) -> None:
    """Promise 2: without crashes of executors, a run that ran was called once."""
    calls = Counter(call.run for _, call in rest.calls)
    succeeded = {row.id for row in rest.runs if row.state is RunState.SUCCEEDED}
    assert calls == Counter(succeeded)
