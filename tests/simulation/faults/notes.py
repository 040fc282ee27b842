"""Faults of calendars and freezes: which process reads them, and which reason a deferred or skipped fire gets."""

from collections.abc import Sequence
from dataclasses import replace

import timeball.engine.execution.claim as claiming
from tests.simulation.faults.hands import Fault, given, inserted, instead, lost
from timeball.domain.changes.change import resumed
from timeball.domain.model.jobs.job import Job
from timeball.domain.model.jobs.job_states import held_back
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.run import Run
from timeball.domain.planning.blackouts import NOTHING, Blackouts
from timeball.domain.time.instants import DAY_MS
from timeball.domain.time.schedule import Schedule
from timeball.engine import context as known
from timeball.engine.blackouts.read import read_blackouts
from timeball.engine.context import Context


def _nothing(_: Context, jobs: Sequence[Job]) -> list[Blackouts]:
    return [NOTHING] * len(jobs)


def _out_of_the_index(job: Job, _: int) -> Job:
    return replace(job, due_at=None)


def _by_a_day(excluded: Blackouts, _: Schedule, fire_at: int) -> int | None:
    if excluded.dates.end_of(fire_at) is None:
        return fire_at
    return None if excluded.moves_in is None else fire_at + DAY_MS


def _forgets_the_pause(job: Job, now: int) -> Job:
    return replace(resumed(job, now), last_paused_at=None)


def _paused_ever_since(job: Job, now: int) -> Job:
    return replace(resumed(job, now), last_paused_at=0)


def _without_a_due_key(run: Run) -> Run:
    return run if run.moved_to is None else replace(run, due_at=None)


FAULTS = {
    "a claim ignores freezes": Fault(
        instead(read_blackouts, _nothing, within=claiming),
        "nothing starts in a freeze",
        meeting="an execution of a run that was sent before a freeze",
    ),
    "a claim ignores calendars": Fault(
        instead(read_blackouts, _nothing, within=claiming),
        "nothing starts on a date of its calendar",
        meeting="an execution of a run that was sent before its calendar was closed",
    ),
    "a process never reads freezes and calendars again": Fault(
        given(known, "KNOWN_MS", 10**9), "nothing starts in a freeze", scene="a freeze of jobs that catch up"
    ),
    "a disabled tenant's retries and manual runs begin": Fault(
        given(Blackouts, "stopped_until", lambda *_: None), "nothing starts in a freeze", 32
    ),
    "a frozen fire counts as missed": Fault(
        given(Blackouts, "reason_of", lambda *_: Reason.MISFIRED),
        "exactly the fires that a calendar or freeze prevented say so",
        13,
    ),
    "a resume loses the time of the pause": Fault(
        instead(resumed, _forgets_the_pause),
        "a fire of a pause runs only as catching up allows",
        scene="a pause of jobs that catch up",
    ),
    "the end of a freeze is no reason to ask the catch-up policy": Fault(
        given(Blackouts, "suspended_at", lambda *_: None),
        "a fire of a pause runs only as catching up allows",
        scene="a freeze of jobs that catch up",
    ),
    "a resume takes all that has not started for missed": Fault(
        instead(resumed, _paused_ever_since),
        "a fire that is skipped as missed was missed",
        meeting="a pause, and a resume",
    ),
    "a fire moves by one day, onto a closed day too": Fault(
        given(Blackouts, "starts_at", _by_a_day), "a moved fire starts on the next open day", 3
    ),
    "a moved fire is not due on its new day": Fault(
        inserted("runs.insert", _without_a_due_key), "a moved fire starts on the next open day", 3
    ),
    "a replaced version of a calendar is not stored": Fault(
        lost("former_calendars.note"), "each version of a calendar stays readable", scene="a calendar that closes a day"
    ),
    "a frozen job leaves the due index": Fault(
        instead(held_back, _out_of_the_index), "nothing is stuck", scene="a freeze of jobs that catch up"
    ),
}
