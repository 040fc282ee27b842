"""Faults of attempts: how they are counted, how many there may be, and what is called."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tests.simulation.faults.hands import Apply, Fault, both, handed, instead, through
from timeball.domain.attempts.circuit_breaker import Circuit, CircuitRules, Observation, after_answers
from timeball.domain.attempts.claim import ClaimAction, ClaimRules, Decision, decide_claim
from timeball.domain.attempts.retry import after_attempt, decide_retry, exhausted, lost_attempt
from timeball.domain.model.ids import JobKey
from timeball.domain.model.jobs.job import Guarantee, Job, with_spec
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.runs.transitions import claimed
from timeball.domain.model.runs.values import Accepted, Failed, Outcome, Succeeded
from timeball.domain.model.terms.policies import RetryPolicy, Work
from timeball.domain.planning.blackouts import Blackouts
from timeball.engine.context import Context
from timeball.ports.target import Answer, Call
from timeball.targets.http.verdict import answered


def _by_host_alone(host: Circuit, observed: Sequence[Observation], now: int, rules: CircuitRules) -> Circuit:
    return after_answers(host, [Observation(one.is_down) for one in observed], now, rules)


def _starts_anew(state: RunState) -> Apply:
    """Claim runs of a state from which no move leads to running."""

    def decide(run: Run | None, job: Job | None, now: int, rules: ClaimRules, excluded: Blackouts) -> Decision:
        is_one = run is not None and run.state is state
        return Decision(ClaimAction.CLAIM) if is_one else decide_claim(run, job, now, rules, excluded)

    def anyway(run: Run, owner: str, now: int, lease_ms: int) -> Run:
        return claimed(replace(run, state=RunState.QUEUED) if run.state is state else run, owner, now, lease_ms)

    return both(instead(decide_claim, decide), instead(claimed, anyway))


def _does_not_count(run: Run, owner: str, now: int, lease_ms: int) -> Run:
    return replace(claimed(run, owner, now, lease_ms), attempt=max(run.attempt, 1))


def _takes_a_retry_for_a_first_start(
    run: Run | None, job: Job | None, now: int, rules: ClaimRules, excluded: Blackouts
) -> Decision:
    is_sent = run is not None and run.state is RunState.QUEUED
    return decide_claim(replace(run, attempt=0, budget_at=None) if run and is_sent else run, job, now, rules, excluded)


def _ends_lost_runs(run: Run | None, job: Job | None, now: int, rules: ClaimRules, excluded: Blackouts) -> Decision:
    decided = decide_claim(run, job, now, rules, excluded)
    is_lost = run is not None and run.state is RunState.RUNNING and decided.action is ClaimAction.CLAIM
    return Decision(ClaimAction.END, RunState.SUCCEEDED) if is_lost else decided


def _three_retries_more(policy: RetryPolicy, run: Run, next_at: int) -> Reason | None:
    return exhausted(replace(policy, max_retries=policy.max_retries + 3), run, next_at)


def _at_any_age(policy: RetryPolicy, run: Run, next_at: int) -> Reason | None:
    return exhausted(replace(policy, max_age_seconds=None), run, next_at)


def _once_more(run: Run, job: Job, *args: Any, **why: Any) -> Run:
    return after_attempt(run, with_spec(job, delivery=Guarantee.AT_LEAST_ONCE), *args, **why)


def _its_jobs_work(context: Context) -> Context:
    def read(names: Sequence[tuple[JobKey, str]]) -> list[Work | None]:
        jobs = context.store.jobs.read([job for job, _ in names], with_work=True)
        return [None if job is None else job.spec.work for job in jobs]

    return through(context, "works.read", read)


def _taken_over_counts_as_done(call: Call, *args: Any) -> Answer:
    answer = answered(call, *args)
    return replace(answer, verdict=Succeeded()) if isinstance(answer.verdict, Accepted) else answer


def _despite_refusals(policy: RetryPolicy, run: Run, failed: Failed, now: int) -> int | Reason:
    return decide_retry(policy, run, replace(failed, may_retry=True), now)


FAULTS = {
    "a path that fails counts for its whole host": Fault(
        instead(after_answers, _by_host_alone),
        "a run does not wait for failures of another path",
        meeting="an execution of a path that fails, and one of another path",
    ),
    "a run that its target has taken over counts as done": Fault(
        instead(answered, _taken_over_counts_as_done),
        "each verdict moves its run to the state that it names",
        scene="targets report later",
    ),
    "a run that its target refuses is tried again": Fault(
        instead(decide_retry, _despite_refusals),
        "each verdict moves its run to the state that it names",
        meeting="an operation that takes long, while a run that it retries fails again",
    ),
    "a run that a pause took back is claimed": Fault(
        _starts_anew(RunState.WITHDRAWN), "each move is legal", meeting="a pause, and another schedule"
    ),
    "a second message starts a run that is over": Fault(
        _starts_anew(RunState.SUCCEEDED),
        "a run that is over does not change",
        scene="targets fail, and runs are retried",
    ),
    "a claim does not count": Fault(
        instead(claimed, _does_not_count),
        "an attempt is one more",
        meeting="an operation that takes long, while a run that it retries fails again",
    ),
    "a retry misfires": Fault(
        instead(decide_claim, _takes_a_retry_for_a_first_start), "a skipped run was not called", 21
    ),
    "a lost attempt counts as done": Fault(
        both(
            instead(decide_claim, _ends_lost_runs),
            instead(lost_attempt, lambda run: replace(lost_attempt(run), outcome=Outcome.SUCCEEDED)),
        ),
        "a run that succeeded was called",
        meeting="an execution that sleeps longer than its lease",
    ),
    "three retries more than the policy allows": Fault(
        instead(exhausted, _three_retries_more),
        "no run has more attempts than its policy allows",
        scene="targets fail, and runs are retried",
    ),
    "a retry at any age": Fault(
        instead(exhausted, _at_any_age),
        "no run has more attempts than its policy allows",
        scene="targets fail, and runs are retried",
    ),
    "at_most_once is ignored": Fault(
        instead(after_attempt, _once_more),
        "an at most once run is called at most once",
        scene="targets fail, and runs are retried",
    ),
    "a run is called with its job's work": Fault(
        handed(_its_jobs_work), "each call has the work that was asked for", meeting="a trigger of which a call fails"
    ),
}
