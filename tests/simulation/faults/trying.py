"""Faults of attempts: how they are counted, how many there may be, and what is called."""

from dataclasses import replace
from functools import partial
from typing import Any

import tests.simulation.simulated_aws as targets
import timeball.domain.policy.claim as deciding
import timeball.domain.policy.outcome as outcomes
import timeball.domain.policy.retry as retries
import timeball.engine.execution.claim as claims
from tests.simulation.faults.patching import Fault, Patch
from timeball.domain.model.attempt import Outcome
from timeball.domain.model.job import Guarantee, Job, with_spec
from timeball.domain.model.policies import RetryPolicy
from timeball.domain.model.reason import Reason
from timeball.domain.model.run import Run, RunState, claimed
from timeball.domain.model.verdict import Accepted, Failed, Succeeded
from timeball.domain.policy.claim import Action, ClaimRules, Decision, decide_claim
from timeball.domain.policy.outcome import lost_attempt
from timeball.domain.policy.retry import RetryDecision, decide_retry, exhausted
from timeball.ports.target import Answer, Call
from timeball.targets.http.verdict import answered


def _starts_anew(state: RunState, patch: Patch) -> None:
    """Claim what stands in a state from which no move leads to running."""

    def decide(run: Run | None, job: Job | None, now: int, rules: ClaimRules) -> Decision:
        is_one = run is not None and run.state is state
        return Decision(Action.CLAIM) if is_one else decide_claim(run, job, now, rules)

    def anyway(run: Run, owner: str, now: int, lease_ms: int) -> Run:
        return claimed(replace(run, state=RunState.QUEUED) if run.state is state else run, owner, now, lease_ms)

    patch.setattr(claims, "decide_claim", decide)
    patch.setattr(claims, "claimed", anyway)


def _a_claim_does_not_count(patch: Patch) -> None:
    def uncounted(run: Run, owner: str, now: int, lease_ms: int) -> Run:
        return replace(claimed(run, owner, now, lease_ms), attempt=max(run.attempt, 1))

    patch.setattr(claims, "claimed", uncounted)


def _a_retry_misfires(patch: Patch) -> None:
    def decide(run: Run | None, job: Job | None, now: int, rules: ClaimRules) -> Decision:
        is_sent = run is not None and run.state is RunState.QUEUED
        return decide_claim(replace(run, attempt=0, budget_at=None) if run and is_sent else run, job, now, rules)

    patch.setattr(claims, "decide_claim", decide)


def _a_lost_attempt_counts_as_done(patch: Patch) -> None:
    def decide(run: Run | None, job: Job | None, now: int, rules: ClaimRules) -> Decision:
        decided = decide_claim(run, job, now, rules)
        is_lost = run is not None and run.state is RunState.RUNNING and decided.action is Action.CLAIM
        return Decision(Action.END, RunState.SUCCEEDED) if is_lost else decided

    patch.setattr(claims, "decide_claim", decide)
    patch.setattr(claims, "lost_attempt", lambda run: replace(lost_attempt(run), outcome=Outcome.SUCCEEDED))


def _three_retries_more(patch: Patch) -> None:
    def patient(policy: RetryPolicy, run: Run, next_at: int) -> Reason | None:
        return exhausted(replace(policy, max_retries=policy.max_retries + 3), run, next_at)

    for module in (retries, deciding):
        patch.setattr(module, "exhausted", patient)


def _an_age_without_limit(patch: Patch) -> None:
    def patient(policy: RetryPolicy, run: Run, next_at: int) -> Reason | None:
        return exhausted(replace(policy, max_age_seconds=None), run, next_at)

    for module in (retries, deciding):
        patch.setattr(module, "exhausted", patient)


def _once_more(patch: Patch) -> None:
    decide = outcomes._decide

    def deciding_anyway(run: Run, job: Job, *args: object) -> object:
        return decide(run, with_spec(job, delivery=Guarantee.AT_LEAST_ONCE), *args)  # type: ignore[arg-type]

    patch.setattr(outcomes, "_decide", deciding_anyway)


def _a_run_is_called_with_its_jobs_work(patch: Patch) -> None:
    patch.setattr(claims, "_with_payload_of", lambda job, _: job)


def _what_was_taken_over_is_done(patch: Patch) -> None:
    def done(call: Call, *args: Any) -> Answer:
        answer = answered(call, *args)
        return replace(answer, verdict=Succeeded()) if isinstance(answer.verdict, Accepted) else answer

    patch.setattr(targets, "answered", done)


def _a_refusal_is_tried_again(patch: Patch) -> None:
    def decide(policy: RetryPolicy, run: Run, failed: Failed, now: int) -> RetryDecision:
        return decide_retry(policy, run, replace(failed, may_retry=True), now)

    patch.setattr(outcomes, "decide_retry", decide)


FAULTS = {
    "a run that its target has taken over counts as done": Fault(
        _what_was_taken_over_is_done, "each verdict becomes of its run what it says"
    ),
    "a run that its target refuses is tried again": Fault(
        _a_refusal_is_tried_again, "each verdict becomes of its run what it says"
    ),
    "a run that a pause took back is claimed": Fault(
        partial(_starts_anew, RunState.WITHDRAWN), "each move is legal", 5
    ),
    "a second message starts what is over": Fault(
        partial(_starts_anew, RunState.SUCCEEDED), "what is over changes no more", 1
    ),
    "a claim does not count": Fault(_a_claim_does_not_count, "an attempt is one more"),
    "a retry misfires": Fault(_a_retry_misfires, "what was skipped was not called", 4),
    "a lost attempt counts as done": Fault(_a_lost_attempt_counts_as_done, "what succeeded was called", 110),
    "three retries more than the policy allows": Fault(
        _three_retries_more, "no attempt is beyond what the policy allows"
    ),
    "a retry at any age": Fault(_an_age_without_limit, "no attempt is beyond what the policy allows", 1),
    "at_most_once is ignored": Fault(_once_more, "what may be called once is"),
    "a run is called with its job's work": Fault(
        _a_run_is_called_with_its_jobs_work, "what is called is what was asked for", 2
    ),
}
