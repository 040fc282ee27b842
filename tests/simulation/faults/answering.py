"""Faults of answers: a user or a target gets a wrong answer, or a report counts that must be refused."""

from collections.abc import Sequence
from dataclasses import replace

from tests.simulation.faults.hands import Fault, given, hoped_for, inserted, instead, lost
from timeball.domain.attempts.callback import awaits_report, extended
from timeball.domain.model.ids import Origin
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.run import Run, RunState
from timeball.engine.context import Context
from timeball.engine.runs.callback import Report, report
from timeball.engine.runs.dead_letters import DeadFilter, DeadPage, Dealt, replay
from timeball.engine.runs.effects import Answered
from timeball.ports.rows import Swap

_matches = DeadFilter.matches


def _is_by_hand(run: Run) -> bool:
    return run.id.origin is Origin.MANUAL


def _tries_again_by_hand(swap: Swap[Run]) -> bool:
    return swap.after.budget_at != swap.before.budget_at


def _cancels_a_run(swap: Swap[Run]) -> bool:
    return swap.after.reason is Reason.RUN_CANCELLED and swap.before.reason is not Reason.RUN_CANCELLED


def _at_once(context: Context, page: DeadPage, _: int, start_at: int | None = None) -> Dealt:
    return replay(context, page, 10**6, start_at)


def _throws_away(context: Context, reports: Sequence[Report]) -> list[Answered]:
    return [(None, context.store.runs.read([one.run])[0]) for one in reports]


def _revives(run: Run, now: int) -> Run | None:
    return extended(replace(run, lease_until=max(run.lease_until or 0, now + 1)), now)


FAULTS = {
    "a submission is acknowledged and not stored": Fault(
        hoped_for("jobs.insert"), "each acknowledged submission is stored", meeting="a submission of which a call fails"
    ),
    "a trigger is acknowledged and not stored": Fault(
        hoped_for("runs.insert", _is_by_hand),
        "each acknowledged trigger ran",
        meeting="a trigger of which a call fails",
    ),
    "a trigger's payload is lost": Fault(
        inserted("runs.insert", lambda run: replace(run, work_digest=None)),
        "each acknowledged trigger ran",
        meeting="a trigger of which a call fails",
    ),
    "a retry by hand is acknowledged and not done": Fault(
        lost("runs.swap", _tries_again_by_hand),
        "a run that is retried by hand may start",
        scene="users retry, cancel and replay runs",
    ),
    "a cancel of a run is acknowledged and not done": Fault(
        lost("runs.swap", _cancels_a_run), "a run that was cancelled alone is not called any more", 15
    ),
    "a replay has no pace": Fault(
        instead(replay, _at_once), "a replay keeps its pace", scene="users retry, cancel and replay runs"
    ),
    "a run that fails for good a second time is not listed": Fault(
        given(DeadFilter, "matches", lambda asked, run: _matches(asked, run) and run.budget_at is None),
        "each dead letter is listed",
        meeting="an operation that takes long, while a run that it retries fails again",
    ),
    "a report is acknowledged and not written": Fault(
        instead(report, _throws_away), "each accepted report counts", scene="targets report later"
    ),
    "a report of an older attempt counts": Fault(
        instead(awaits_report, lambda run, _: run.state is RunState.RUNNING), "each accepted report counts", 5
    ),
    "a heartbeat revives an expired lease": Fault(instead(extended, _revives), "a heartbeat revives no lease", 400),
}
