"""The decision of an executor about a run that a message names: a table over the rows as they were read."""

from dataclasses import dataclass, replace
from typing import Any

import pytest

from timeball.domain.attempts.circuit_breaker import Admission
from timeball.domain.attempts.claim import (
    CLAIM_AHEAD_MS,
    EARLIEST_CLAIM_MS,
    ClaimAction,
    ClaimRules,
    Decision,
    after_circuit,
    after_lock,
    decide_claim,
)
from timeball.domain.model.ids import JobKey, Origin, RunId
from timeball.domain.model.jobs.job import Job, JobSpec, JobStatus, with_spec
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.run import Permit, Run, RunState, Waiting
from timeball.domain.model.runs.values import FanOut
from timeball.domain.model.terms.flow import Collected
from timeball.domain.model.terms.policies import CatchUp, CatchUpPolicy, OverlapPolicy, RetryPolicy, Work
from timeball.domain.model.terms.target import HttpTarget
from timeball.domain.planning.blackouts import Blackouts
from timeball.domain.sharing.overlap import LockStep
from timeball.domain.time.instants import DAY_MS, MINUTE_MS, parse_instant
from timeball.domain.time.schedule import At, Every, Schedule
from timeball.domain.time.spans import local_days

NOW = parse_instant("2026-11-21T09:30:00Z")
RULES = ClaimRules(early_ms=10_000, misfire_ms=60_000, takeover_margin_ms=5_000, lease_ms=30_000, lookahead_ms=5_000)
KEY = JobKey("acme", "job")
JOB = Job(
    JobSpec(
        KEY,
        Schedule(Every(60, NOW - 600 * MINUTE_MS)),
        Work(HttpTarget("https://x.example")),
        retry=RetryPolicy(max_retries=2),
    ),
    shard=0,
    created_at=0,
    updated_at=0,
)
RUN = Run(RunId(KEY, NOW, Origin.SCHEDULE), RunState.QUEUED, 1, "normal", 0, NOW, NOW)
LEASED = {"state": RunState.RUNNING, "attempt": 1, "owner": "a", "lease_until": NOW - 5_000}
STARTED = {"state": RunState.RETRYING, "attempt": 1}
COLLECTS = {"collected": Collected(1, NOW)}
ONE_OFF = Schedule(At(NOW - 600 * MINUTE_MS))
CANCELLED = Decision(ClaimAction.END, RunState.CANCELLED, Reason.JOB_CANCELLED)
GONE = Decision(ClaimAction.END, RunState.CANCELLED, Reason.JOB_GONE)
CLAIM = Decision(ClaimAction.CLAIM)
DROP = Decision(ClaimAction.DROP)


@dataclass(frozen=True)
class Case:
    """The differences from a queued run, due now, of a pending job that fires each minute; and the decision."""

    decision: Decision
    run: dict[str, Any] | None
    job: dict[str, Any] | None


def asks(**changes: Any) -> dict[str, Any]:
    return {"spec": replace(JOB.spec, **changes)}


def fire(minutes: float, origin: Origin = Origin.SCHEDULE) -> dict[str, Any]:
    fire_at = NOW + int(minutes * MINUTE_MS)
    return {"id": RunId(KEY, fire_at, origin), "not_before": fire_at}


CASES = {
    "queued and due": Case(CLAIM, {}, {}),
    "no such run": Case(DROP, None, {}),
    "over: somebody carries out what that entails": Case(Decision(ClaimAction.DROP), {"state": RunState.SUCCEEDED}, {}),
    "withdrawn: whoever resumes the job sends it": Case(DROP, {"state": RunState.WITHDRAWN}, {}),
    "it stands for its items": Case(DROP, {"fan": FanOut(RunId(KEY, NOW, Origin.SCHEDULE))}, {}),
    "it stands for its items, which run": Case(
        DROP, {**STARTED, "state": RunState.RUNNING, "fan": FanOut(RunId(KEY, NOW, Origin.SCHEDULE))}, {}
    ),
    "the job is gone": Case(GONE, {}, None),
    "the job was cancelled": Case(CANCELLED, {}, {"status": JobStatus.CANCELLED}),
    "the job was cancelled between attempts": Case(CANCELLED, STARTED, {"status": JobStatus.CANCELLED}),
    "the run was asked to stop": Case(CANCELLED, {"cancel_requested": True}, {}),
    "a little early: it is held": Case(CLAIM, {"not_before": NOW + EARLIEST_CLAIM_MS}, {}),
    "earlier, by a message of before a retry": Case(
        Decision(ClaimAction.WAIT, wait_until=NOW + 5_000 - EARLIEST_CLAIM_MS),
        {**STARTED, "not_before": NOW + 5_000},
        {},
    ),
    "too early": Case(Decision(ClaimAction.WAIT, wait_until=NOW + 10_001), {"not_before": NOW + 10_001}, {}),
    "it collects, and its start is near": Case(CLAIM, {**COLLECTS, "not_before": NOW + CLAIM_AHEAD_MS}, {}),
    "it collects, and its start is a little further off: this executor waits for it": Case(
        Decision(ClaimAction.WAIT, wait_until=NOW + 1), {**COLLECTS, "not_before": NOW + 501, "due_at": NOW + 501}, {}
    ),
    "it collects, and was put off since it was sent: its due entry stands": Case(
        DROP, {**COLLECTS, "not_before": NOW + 5_000, "due_at": NOW + 5_000}, {}
    ),
    "it collects, and its message is the only one": Case(
        Decision(ClaimAction.WAIT, wait_until=NOW + 4_500), {**COLLECTS, "not_before": NOW + 5_000}, {}
    ),
    "it collected, and is tried again": Case(CLAIM, {**COLLECTS, **STARTED, "not_before": NOW + EARLIEST_CLAIM_MS}, {}),
    "no occurrence of the schedule any more": Case(
        Decision(ClaimAction.END, RunState.SKIPPED, Reason.SUPERSEDED), fire(0.5), {}
    ),
    "missed, with later ones missed too": Case(
        Decision(ClaimAction.END, RunState.SKIPPED, Reason.MISFIRED), fire(-3), {}
    ),
    "the latest that was missed": Case(CLAIM, fire(-2), {}),
    "late, but not missed": Case(CLAIM, fire(-1), {}),
    "the latest that was missed, but it is too old": Case(
        Decision(ClaimAction.END, RunState.SKIPPED, Reason.MISFIRED),
        fire(-2),
        asks(catch_up=CatchUp(max_age_seconds=60)),
    ),
    "missed, under a policy that skips": Case(
        Decision(ClaimAction.END, RunState.SKIPPED, Reason.MISFIRED),
        fire(-2),
        asks(catch_up=CatchUp(CatchUpPolicy.SKIP)),
    ),
    "the oldest of those that are caught up": Case(CLAIM, fire(-3), asks(catch_up=CatchUp(CatchUpPolicy.ALL, 2))),
    "the second of those that are caught up: a second later": Case(
        Decision(ClaimAction.PUT_OFF, wait_until=NOW + 1_000), fire(-2), asks(catch_up=CatchUp(CatchUpPolicy.ALL, 2))
    ),
    "missed, but its start was moved by jitter": Case(
        CLAIM, {**fire(-3), "not_before": NOW - 60_000}, asks(jitter_seconds=300)
    ),
    "missed, but it was parked behind an earlier run": Case(CLAIM, fire(-3), {"next_holder": fire(-3)["id"]}),
    "missed, but it was handed the guard": Case(CLAIM, fire(-3), {"holder": fire(-3)["id"]}),
    "a one-off is never missed": Case(CLAIM, fire(-600), asks(schedule=ONE_OFF)),
    "a run by hand is never missed": Case(CLAIM, fire(-3, Origin.MANUAL), {}),
    "a retry is never missed": Case(CLAIM, {**STARTED, **fire(-3)}, {}),
    "the job is paused": Case(Decision(ClaimAction.WITHDRAW), {}, {"status": JobStatus.PAUSED}),
    "a started run goes on in a paused job": Case(CLAIM, STARTED, {"status": JobStatus.PAUSED}),
    "a missed run of a paused job: what is skipped stays so": Case(
        Decision(ClaimAction.END, RunState.SKIPPED, Reason.MISFIRED), fire(-3), {"status": JobStatus.PAUSED}
    ),
    "a run by hand of a paused job": Case(CLAIM, fire(0, Origin.MANUAL), {"status": JobStatus.PAUSED}),
    "a run on an event of a paused job": Case(
        Decision(ClaimAction.END, RunState.SKIPPED, Reason.JOB_PAUSED),
        fire(0, Origin.EVENT),
        {"status": JobStatus.PAUSED},
    ),
    "a run on an event is never missed": Case(CLAIM, fire(-3, Origin.EVENT), {}),
    "one that has started goes on in a paused job": Case(
        CLAIM, {**STARTED, **fire(0, Origin.EVENT)}, {"status": JobStatus.PAUSED}
    ),
    "early, and in the due index: that brings it back": Case(
        DROP, {"not_before": NOW + 10_001, "due_at": NOW + 10_001}, {}
    ),
    "asked to stop for a later fire": Case(
        Decision(ClaimAction.END, RunState.CANCELLED, Reason.REPLACED),
        {**LEASED, "cancel_requested": True, "reason": Reason.REPLACED},
        {},
    ),
    "a retry that is due": Case(CLAIM, STARTED, {}),
    "a retry whose message is early: its due entry stands": Case(DROP, {**STARTED, "not_before": NOW + 10_001}, {}),
    "running under a lease": Case(
        Decision(ClaimAction.WAIT, wait_until=NOW + 1), {**LEASED, "lease_until": NOW - 4_999}, {}
    ),
    "running, its lease and the margin are out": Case(CLAIM, LEASED, {}),
    "running, out, and no attempt is left": Case(
        Decision(ClaimAction.END, RunState.FAILED, Reason.RETRIES_EXHAUSTED), {**LEASED, "attempt": 3}, {}
    ),
    "running, out, and asked to stop": Case(CANCELLED, {**LEASED, "cancel_requested": True}, {}),
    "running, out, and the job was cancelled": Case(CANCELLED, LEASED, {"status": JobStatus.CANCELLED}),
    "running, out, and the job is gone": Case(GONE, LEASED, None),
    "running under a lease in a cancelled job: its holder is asked": Case(
        Decision(ClaimAction.WAIT, wait_until=NOW + 35_000),
        {**LEASED, "lease_until": NOW + 30_000},
        {"status": JobStatus.CANCELLED},
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_rows_decide_about_a_run_that_a_message_names(name: str) -> None:
    case = CASES[name]
    run = None if case.run is None else replace(RUN, **case.run)
    job = None if case.job is None else replace(JOB, **case.job)
    assert decide_claim(run, job, NOW, RULES) == case.decision


FIRE = fire(0)["id"]
TODAY = local_days("UTC", ((NOW // DAY_MS, NOW // DAY_MS),))
TOMORROW = NOW + DAY_MS
WEEKLY = Schedule(Every(7 * 86_400, NOW))
MOVE = Decision(ClaimAction.MOVE, wait_until=TOMORROW, moved_to=TOMORROW)
EXCLUDED = Decision(ClaimAction.END, RunState.SKIPPED, Reason.CALENDAR)

# The job fires each week, and its calendar, which moves fires, closes today.
CLOSED_TODAY = {
    "it is moved": Case(MOVE, {}, {}),
    "a little early, too": Case(MOVE, {"not_before": NOW + 1, "id": FIRE}, {}),
    "its job is paused: its resume decides": Case(Decision(ClaimAction.WITHDRAW), {}, {"status": JobStatus.PAUSED}),
    "its job was cancelled": Case(CANCELLED, {}, {"status": JobStatus.CANCELLED}),
    "it was moved before, and is early": Case(
        DROP, {"not_before": TOMORROW, "moved_to": TOMORROW, "due_at": TOMORROW}, {}
    ),
    "it was put off until then": Case(Decision(ClaimAction.WAIT, wait_until=TOMORROW), {"not_before": TOMORROW}, {}),
    "it holds the lock of its job": Case(EXCLUDED, {}, {"holder": FIRE}),
    "it is parked": Case(EXCLUDED, {}, {"next_holder": FIRE}),
    "the job fires again by then": Case(EXCLUDED, {}, asks(schedule=Schedule(Every(86_400, NOW)))),
    "and before": Case(EXCLUDED, {}, {"spec": JOB.spec}),
    "it has begun": Case(CLAIM, STARTED, {}),
    "it was triggered": Case(CLAIM, fire(0, Origin.MANUAL), {}),
}  # fmt: skip


@pytest.mark.parametrize("name", CLOSED_TODAY)
def test_a_run_whose_start_is_on_a_closed_date_is_moved_or_skipped(name: str) -> None:
    case = CLOSED_TODAY[name]
    weekly = replace(JOB, **({"spec": replace(JOB.spec, schedule=WEEKLY)} | (case.job or {})))
    excluded = Blackouts(TODAY, moves_in="UTC")
    assert decide_claim(replace(RUN, **(case.run or {})), weekly, NOW, RULES, excluded) == case.decision


def test_a_moved_run_is_missed_no_sooner_than_after_its_moved_start() -> None:
    since = Schedule(Every(7 * 86_400, NOW - 7 * DAY_MS))
    weekly = replace(JOB, spec=replace(JOB.spec, schedule=since, catch_up=CatchUp(CatchUpPolicy.SKIP)))
    run = replace(RUN, id=RunId(KEY, NOW - 7 * DAY_MS, Origin.SCHEDULE), moved_to=NOW - MINUTE_MS)
    before = NOW // DAY_MS - 7
    excluded = Blackouts(local_days("UTC", ((before, before + 6),)), moves_in="UTC")
    late = [replace(run, not_before=NOW - MINUTE_MS - later, moved_to=NOW - MINUTE_MS - later) for later in (0, 1)]
    assert decide_claim(late[0], weekly, NOW, RULES) == CLAIM
    assert decide_claim(late[1], weekly, NOW, RULES) == Decision(ClaimAction.END, RunState.SKIPPED, Reason.MISFIRED)
    assert decide_claim(late[1], weekly, NOW, RULES, excluded) == EXCLUDED, "the next fire stands for both"


RESTS, PACED = Reason.CIRCUIT_OPEN, Reason.HOST_PACED
LAST_MINUTES = {"max_age_seconds": 600}
"""A policy under which a retry may begin within the next three minutes, for a run that is seven minutes old."""

OLD = {**STARTED, "not_before": NOW, "created_at": NOW - 7 * MINUTE_MS, **fire(-7)}
HELD = {"deferred_since": NOW - 4 * MINUTE_MS, "deferred_ms": 3 * MINUTE_MS}
"""It has waited three minutes for its host, and four more until now."""


def _held(reason: Reason, minutes: float) -> Decision:
    return Decision(ClaimAction.DEFER, reason=reason, wait_until=NOW + int(minutes * MINUTE_MS))


def _given_up(reason: Reason) -> Decision:
    return Decision(ClaimAction.END, RunState.FAILED, reason)


# Each case: the decision; why the host defers the call, and for how many minutes; and the differences from a queued
# run, due now, of a job whose retries may take ten minutes in all.
KEPT: dict[str, tuple[Decision, Reason, float, dict[str, Any], dict[str, Any]]] = {
    "a rest": (_held(RESTS, 5), RESTS, 5, {}, {}),
    "a turn": (_held(PACED, 5), PACED, 5, {}, {}),
    "a rest longer than its patience: it asks once more": (_held(RESTS, 10), RESTS, 15, {}, {}),
    "a rest longer than what is left of it": (_held(RESTS, 3), RESTS, 15, HELD, {}),
    "no patience is left": (_given_up(Reason.HOST_DOWN), RESTS, 1, {"deferred_ms": 10 * MINUTE_MS}, {}),
    "it was long in coming after it had waited": (
        _held(RESTS, -1 + 10 - 4),
        RESTS,
        15,
        {"deferred_since": NOW - 6 * MINUTE_MS, "not_before": NOW - MINUTE_MS},
        {},
    ),
    "a turn is waited for however long": (_held(PACED, 15), PACED, 15, {"deferred_ms": 10 * MINUTE_MS}, {}),
    "a retry that is old enough after the rest": (_held(RESTS, 2), RESTS, 2, OLD, LAST_MINUTES),
    "a retry that would be too old after the rest: it asks once more": (_held(RESTS, 3), RESTS, 5, OLD, LAST_MINUTES),
    "a retry that has asked once more": (
        _given_up(Reason.TOO_OLD),
        RESTS,
        1,
        {**OLD, "created_at": NOW - 10 * MINUTE_MS, **fire(-10), "not_before": NOW},
        LAST_MINUTES,
    ),
    "a retry whose turn comes when it is too old": (_given_up(Reason.TOO_OLD), PACED, 4, OLD, LAST_MINUTES),
    "a first call is never too old": (_held(RESTS, 5), RESTS, 5, {**OLD, "attempt": 0}, LAST_MINUTES),
    "an instant that lies ahead of the answer": (_held(PACED, 2), PACED, 1, {"not_before": NOW + 2 * MINUTE_MS}, {}),
}


@pytest.mark.parametrize("name", KEPT)
def test_a_run_waits_for_its_host_as_long_as_its_patience_and_its_age_allow_and_at_least_until_its_instant(
    name: str,
) -> None:
    decision, reason, minutes, differs, policy = KEPT[name]
    job = with_spec(JOB, retry=RetryPolicy(max_retries=2, max_seconds=300, **policy))
    run = replace(RUN, **differs)
    admission = Admission(NOW + int(minutes * MINUTE_MS), reason)
    assert after_circuit(run, job, NOW, admission) == decision


AGAIN_AT = NOW + 5_000
BEGUN, RETRYING = {"attempt": 1}, {"attempt": 1, "state": RunState.RETRYING}

# Each case: the step, the job's policy, the differences of the run, and the decision.
AFTER_LOCKS: dict[str, tuple[LockStep, OverlapPolicy, dict[str, Any], Decision]] = {
    "no run starts beside another": (
        LockStep.SKIP,
        OverlapPolicy.SKIP,
        {},
        Decision(ClaimAction.END, RunState.SKIPPED, Reason.OVERLAP),
    ),
    "a newer run has the lock": (
        LockStep.SKIP,
        OverlapPolicy.CANCEL_OTHER,
        {},
        Decision(ClaimAction.END, RunState.SKIPPED, Reason.REPLACED),
    ),
    "a newer run has the lock, and this one has started before": (
        LockStep.SKIP,
        OverlapPolicy.CANCEL_OTHER,
        BEGUN,
        Decision(ClaimAction.END, RunState.CANCELLED, Reason.REPLACED),
    ),
    "it is the next holder": (LockStep.STAY, OverlapPolicy.QUEUE_ONE, {}, Decision(ClaimAction.STAY)),
    "it waits with its message": (
        LockStep.WAIT,
        OverlapPolicy.QUEUE_ONE,
        BEGUN,
        Decision(ClaimAction.WAIT, wait_until=AGAIN_AT),
    ),
    "it waits, retrying": (
        LockStep.WAIT,
        OverlapPolicy.QUEUE_ONE,
        RETRYING,
        Decision(ClaimAction.WAIT, wait_until=AGAIN_AT),
    ),
    "it waits, retrying and admitted by a limiter": (
        LockStep.WAIT,
        OverlapPolicy.QUEUE_ONE,
        {**RETRYING, "waiting": Waiting("a", Permit.SLOT, admitted=True)},
        Decision(ClaimAction.DEFER, wait_until=AGAIN_AT),
    ),
    "it waits to be taken over": (
        LockStep.WAIT,
        OverlapPolicy.QUEUE_ONE,
        {"attempt": 1, "state": RunState.RUNNING},
        Decision(ClaimAction.DEFER, wait_until=AGAIN_AT),
    ),
}


@pytest.mark.parametrize("name", AFTER_LOCKS)
def test_a_run_without_the_lock_ends_or_waits_as_its_policy_says(name: str) -> None:
    step, policy, differs, decision = AFTER_LOCKS[name]
    assert after_lock(step, replace(RUN, **differs), with_spec(JOB, overlap=policy), AGAIN_AT) == decision


def test_a_run_that_takes_the_lock_is_claimed_with_a_job_that_names_it() -> None:
    decision = after_lock(LockStep.START, RUN, JOB, AGAIN_AT)
    assert decision.action is ClaimAction.CLAIM
    assert decision.job is not None
    assert decision.job.holder == RUN.id


def test_a_success_counts_for_a_resource_that_has_failed_lately() -> None:
    assert after_circuit(RUN, JOB, NOW, Admission()) == Decision(ClaimAction.CLAIM, is_watched=True)
