"""Faults of answers: what a user or a target is told is not so, or words are taken that nobody may say any more."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import timeball.engine.runs.callback as reporting
import timeball.engine.runs.trigger as triggering
from tests.simulation import targets, users
from tests.simulation.faults.patching import Fault, Patch
from timeball.domain.model.job import JobSpec
from timeball.domain.model.new_job import new_job
from timeball.domain.model.run import Run, RunState
from timeball.domain.policy.callback import heard_of
from timeball.engine.context import Context
from timeball.engine.runs import dead_letters, manual
from timeball.engine.runs.callback import Answered, Heard, Word
from timeball.engine.runs.dead_letters import DeadFilter
from timeball.engine.runs.trigger import Trigger, Triggered, Triggering, trigger
from timeball.engine.scheduling.submit import Submission, Submitted, submit
from timeball.ports.errors import UnavailableError


def _a_submission_is_hoped_for(patch: Patch) -> None:
    def hopeful(context: Context, specs: Sequence[JobSpec], now: int) -> list[Submitted]:
        try:
            return submit(context, specs, now)
        except UnavailableError:
            return [Submitted(Submission.CREATED, new_job(spec, now, context.rules.shards)) for spec in specs]

    patch.setattr(users, "submit", hopeful)


def _a_trigger_is_hoped_for(patch: Patch) -> None:
    def hopeful(context: Context, triggers: Sequence[Trigger]) -> list[Triggered]:
        try:
            return trigger(context, triggers)
        except UnavailableError:
            return [Triggered(Triggering.STARTED, _as_it_would_be(context, one)) for one in triggers]

    patch.setattr(users, "trigger", hopeful)


def _as_it_would_be(context: Context, one: Trigger) -> Run | None:
    job, now = context.store.jobs.read([one.job])[0], context.clock.now()
    return None if job is None else triggering._manual_run(job, one, now, now, None)


def _handing_back_what_it_found(verb: str) -> Callable[[Patch], None]:
    def apply(patch: Patch) -> None:
        patch.setattr(manual, verb, lambda run, *_: run)

    return apply


def _a_replay_has_no_pace(patch: Patch) -> None:
    replay = dead_letters._replay
    patch.setattr(
        dead_letters, "_replay", lambda context, runs, ids, _, first: replay(context, runs, ids, 10**6, first)
    )


def _what_died_twice_is_not_listed(patch: Patch) -> None:
    matches = DeadFilter.matches
    patch.setattr(DeadFilter, "matches", lambda asked, run: matches(asked, run) and run.budget_at is None)


def _a_report_is_thrown_away(patch: Patch) -> None:
    def report(context: Context, words: Sequence[Word]) -> list[Answered]:
        return [Answered(Heard.DONE, context.store.runs.read([word.run])[0]) for word in words]

    patch.setattr(targets, "report", report)


def _whatever_its_attempt_is(patch: Patch) -> None:
    patch.setattr(reporting, "awaits_word", lambda run, _: run.state is RunState.RUNNING)


def _a_heartbeat_comes_too_late(patch: Patch) -> None:
    def revived(run: Run, now: int) -> Run | None:
        return heard_of(replace(run, lease_until=max(run.lease_until or 0, now + 1)), now)

    patch.setattr(reporting, "heard_of", revived)


def _a_trigger_forgets_its_payload(patch: Patch) -> None:
    def nothing(*_: Any) -> None:
        return None

    patch.setattr(triggering, "_save_payload", nothing)


FAULTS = {
    "a submission is acknowledged and not stored": Fault(
        _a_submission_is_hoped_for, "what was acknowledged is stored", 6
    ),
    "a trigger is acknowledged and not stored": Fault(_a_trigger_is_hoped_for, "triggers ran", 6),
    "a trigger's payload is forgotten": Fault(_a_trigger_forgets_its_payload, "triggers ran", 2),
    "a retry by hand is answered and not done": Fault(
        _handing_back_what_it_found("_renewed"), "what is tried again by hand may start"
    ),
    "a cancel of a run is answered and not done": Fault(
        _handing_back_what_it_found("_cancelled"), "what was cancelled alone is not called any more", 3
    ),
    "a replay has no pace": Fault(_a_replay_has_no_pace, "what is replayed keeps its pace", 1),
    "what died a second time is not listed": Fault(_what_died_twice_is_not_listed, "what died is listed"),
    "a report is answered and not written": Fault(_a_report_is_thrown_away, "what was reported counts"),
    "a word is taken whatever its attempt": Fault(_whatever_its_attempt_is, "what was reported counts", 2),
    "a heartbeat revives a lease that is out": Fault(_a_heartbeat_comes_too_late, "a heartbeat revives no lease", 33),
}
