"""The decision of a run about its job's overlap lock: the whole table, policy by policy."""

from dataclasses import replace
from functools import partial
from itertools import product

import pytest

from timeball.domain.model.ids import JobKey, Origin, RunId
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.terms.policies import OverlapPolicy
from timeball.domain.sharing.overlap import LockStep, OverlapDecision, decide_overlap
from timeball.domain.time.instants import MINUTE_MS, parse_instant

NOW = parse_instant("2026-11-21T09:30:00Z")
KEY = JobKey("acme", "job")


def _run(minutes: int, state: RunState = RunState.QUEUED, attempt: int = 0) -> Run:
    fire_at = NOW + minutes * MINUTE_MS
    return Run(RunId(KEY, fire_at, Origin.SCHEDULE), state, 1, "normal", 0, fire_at, NOW, attempt=attempt)


ME = {
    "unstarted": _run(0),
    "started": _run(0, RunState.RETRYING, attempt=1),
}
AGAIN = replace(ME["started"], state=RunState.QUEUED)
HOLDERS = {
    "nobody": None,
    "me": _run(0),
    "over": _run(-2, RunState.SUCCEEDED, 1),
    "withdrawn": _run(-2, RunState.WITHDRAWN),
    "queued": _run(-2),
    "running": _run(-2, RunState.RUNNING, 1),
    "stopping": replace(_run(-2, RunState.RUNNING, 1), cancel_requested=True, reason=Reason.REPLACED),
    "retrying": _run(-2, RunState.RETRYING, 1),
    "newer": _run(2, RunState.RUNNING, 1),
}
PARKED = {
    "none": None,
    "me": _run(0),
    "older": _run(-1),
    "newer": _run(1),
    "no longer queued": _run(-1, RunState.CANCELLED),
}

# For each policy and holder: the decision of an unstarted run if there is no next holder, if it is the next holder
# itself, if an older or a newer run is, and if a run is that is no longer queued. "+": it stops the holder.
TABLE = {
    # This policy has no lock.
    ("allow", "nobody"): "start  start  start  start  start",
    ("allow", "me"): "start  start  start  start  start",
    ("allow", "over"): "start  start  start  start  start",
    ("allow", "withdrawn"): "start  start  start  start  start",
    ("allow", "queued"): "start  start  start  start  start",
    ("allow", "running"): "start  start  start  start  start",
    ("allow", "stopping"): "start  start  start  start  start",
    ("allow", "retrying"): "start  start  start  start  start",
    ("allow", "newer"): "start  start  start  start  start",
    # A lock without a holder is taken, whichever run is next. Under a live holder no run starts and none waits.
    ("skip", "nobody"): "acquire  acquire  acquire  acquire  acquire",
    # The holder writes that it starts: a process that has seen it withdrawn may be about to move the lock.
    ("skip", "me"): "acquire  acquire  acquire  acquire  acquire",
    ("skip", "over"): "acquire  acquire  acquire  acquire  acquire",
    ("skip", "withdrawn"): "acquire  acquire  acquire  acquire  acquire",
    ("skip", "queued"): "skip  skip  skip  skip  skip",
    ("skip", "running"): "skip  skip  skip  skip  skip",
    ("skip", "stopping"): "skip  skip  skip  skip  skip",
    ("skip", "retrying"): "skip  skip  skip  skip  skip",
    ("skip", "newer"): "skip  skip  skip  skip  skip",
    # One run is next, and stays next: first come, first served.
    ("queueOne", "nobody"): "acquire  acquire  acquire  acquire  acquire",
    ("queueOne", "me"): "acquire  acquire  acquire  acquire  acquire",
    ("queueOne", "over"): "acquire  acquire  acquire  acquire  acquire",
    ("queueOne", "withdrawn"): "acquire  acquire  acquire  acquire  acquire",
    ("queueOne", "queued"): "become_next  stay  skip  skip  become_next",
    ("queueOne", "running"): "become_next  stay  skip  skip  become_next",
    ("queueOne", "stopping"): "become_next  stay  skip  skip  become_next",
    ("queueOne", "retrying"): "become_next  stay  skip  skip  become_next",
    ("queueOne", "newer"): "become_next  stay  skip  skip  become_next",
    # The newest fire wins, in whatever order runs ask: it stops the holder, and replaces an older next holder.
    ("cancelOther", "nobody"): "acquire  acquire  acquire  acquire  acquire",
    ("cancelOther", "me"): "acquire  acquire  acquire  acquire  acquire",
    ("cancelOther", "over"): "acquire  acquire  acquire  acquire  acquire",
    ("cancelOther", "withdrawn"): "acquire  acquire  acquire  acquire  acquire",
    ("cancelOther", "queued"): "become_next+  stay+  replace_next+  skip  become_next+",
    ("cancelOther", "running"): "become_next+  stay+  replace_next+  skip  become_next+",
    ("cancelOther", "stopping"): "become_next  stay  replace_next  skip  become_next",
    ("cancelOther", "retrying"): "become_next+  stay+  replace_next+  skip  become_next+",
    ("cancelOther", "newer"): "skip  skip  skip  skip  skip",
}


@pytest.mark.parametrize(("policy", "holder"), TABLE)
def test_the_policy_decides_about_an_unstarted_run_and_the_lock(policy: str, holder: str) -> None:
    for next_holder, expected in zip(PARKED, TABLE[policy, holder].split(), strict=True):
        found = decide_overlap(OverlapPolicy(policy), ME["unstarted"], HOLDERS[holder], PARKED[next_holder])
        assert found == OverlapDecision(LockStep(expected.rstrip("+")), expected.endswith("+")), next_holder


# A run that has started is not skipped and stops no other run. Under every policy with a lock it does this while it
# waits for its retry, whichever run is next. It lacks the lock if its job had none when the run started.
STARTED = {
    "nobody": LockStep.ACQUIRE,
    "me": LockStep.START,
    "over": LockStep.ACQUIRE,
    "withdrawn": LockStep.ACQUIRE,
    "queued": LockStep.WAIT,
    "running": LockStep.WAIT,
    "stopping": LockStep.WAIT,
    "retrying": LockStep.WAIT,
    "newer": LockStep.WAIT,
}


@pytest.mark.parametrize("holder", STARTED)
def test_a_started_run_waits_for_the_lock_and_is_skipped_only_for_a_newer_run_under_cancel_other(holder: str) -> None:
    for policy, next_holder in product(OverlapPolicy, PARKED.values()):
        step = LockStep.START if policy is OverlapPolicy.ALLOW else STARTED[holder]
        if policy is OverlapPolicy.CANCEL_OTHER and holder == "newer":
            step = LockStep.SKIP
        assert decide_overlap(policy, ME["started"], HOLDERS[holder], next_holder) == OverlapDecision(step), (
            policy,
            next_holder,
        )


def test_a_retried_run_is_the_next_holder_unless_an_older_run_is() -> None:
    for policy in (OverlapPolicy.SKIP, OverlapPolicy.QUEUE_ONE):
        steps = [decide_overlap(policy, AGAIN, HOLDERS["running"], next_holder).step for next_holder in PARKED.values()]
        assert steps == [
            LockStep.BECOME_NEXT,
            LockStep.STAY,
            LockStep.WAIT,
            LockStep.REPLACE_NEXT,
            LockStep.BECOME_NEXT,
        ]


def test_a_manual_retry_counts_as_new_as_its_request_under_cancel_other() -> None:
    by_hand = replace(AGAIN, budget_at=NOW + 3 * MINUTE_MS, budget_from=1)
    step = partial(decide_overlap, OverlapPolicy.CANCEL_OTHER)
    assert step(by_hand, HOLDERS["newer"], None) == OverlapDecision(LockStep.BECOME_NEXT, stop_holder=True)
    assert step(by_hand, HOLDERS["newer"], PARKED["newer"]) == OverlapDecision(LockStep.REPLACE_NEXT, stop_holder=True)
    assert step(by_hand, _run(4, RunState.RUNNING, 1), None) == OverlapDecision(LockStep.SKIP)
    assert step(by_hand, HOLDERS["newer"], _run(4)) == OverlapDecision(LockStep.SKIP)
    assert step(_run(4), replace(by_hand, state=RunState.RUNNING), None) == OverlapDecision(
        LockStep.BECOME_NEXT, stop_holder=True
    )
    assert step(_run(2), replace(by_hand, state=RunState.RUNNING), None) == OverlapDecision(LockStep.SKIP)


@pytest.mark.parametrize("policy", [one for one in OverlapPolicy if one is not OverlapPolicy.ALLOW])
def test_a_holder_that_is_retried_manually_takes_its_lock_anew(policy: OverlapPolicy) -> None:
    again = replace(AGAIN, budget_at=NOW, budget_from=1)
    assert decide_overlap(policy, again, again, None) == OverlapDecision(LockStep.ACQUIRE)
    assert decide_overlap(policy, replace(again, attempt=2), again, None) == OverlapDecision(LockStep.START)


def test_the_table_leaves_out_no_combination() -> None:
    assert set(TABLE) == {(policy.value, holder) for policy, holder in product(OverlapPolicy, HOLDERS)}
    assert {len(row.split()) for row in TABLE.values()} == {len(PARKED)}
    assert set(STARTED) == set(HOLDERS)


def test_of_two_fires_of_one_instant_neither_is_newer() -> None:
    """A manual run may share its millisecond with a scheduled fire: the one that asks second stops the first."""
    by_hand = replace(_run(0), id=RunId(KEY, NOW, Origin.MANUAL))
    running = _run(0, RunState.RUNNING, 1)
    policy = OverlapPolicy.CANCEL_OTHER
    assert decide_overlap(policy, by_hand, running, None) == OverlapDecision(LockStep.BECOME_NEXT, stop_holder=True)
    assert decide_overlap(policy, by_hand, _run(-1, RunState.RUNNING, 1), ME["unstarted"]).step is LockStep.SKIP
