"""Faults of jobs on events: an event makes no run, or two, or runs of other jobs; or its runs have wrong contents."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import timeball.engine.execution.claim as claiming
from tests.simulation.faults.hands import Fault, given, handed, instead, through, without
from timeball.domain.dependencies.named_cycle import begun_by_event
from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import JobKey, RunId
from timeball.domain.model.jobs.job import Job, JobStatus
from timeball.domain.model.runs.run import Run
from timeball.domain.model.tenants.tenant import Quotas
from timeball.domain.model.terms.event import Event, Matched, SubscriptionKey, WaitingEvent
from timeball.domain.planning.blackouts import Blackouts
from timeball.domain.planning.ledger import event_row
from timeball.domain.planning.waiting_events import after_later_events, may_use, needs_event
from timeball.domain.time.instants import LATEST
from timeball.engine.context import Context
from timeball.engine.events.receive import publish, receive
from timeball.engine.events.subscribe import retire_unneeded, subscribers
from timeball.engine.runs.send import room_at
from timeball.ports.errors import UnavailableError
from timeball.ports.event_bus import EventBus, EventRefusal
from timeball.testing.memory_services import MemoryBus

_HEARD = "an event makes a run of each job that listens"


def _takes_each_time_anew(context: Context) -> Context:
    return through(context, "events.note", lambda notes, _: [at for _, at in notes])


def _goes_before_its_runs(context: Context, bus: EventBus, matched: Sequence[Matched]) -> list[bool]:
    try:
        return receive(context, bus, matched)
    except UnavailableError:
        return [True] * len(matched)


def _removed_despite_need(context: Context, bus: EventBus, keys: Sequence[SubscriptionKey]) -> None:
    bus.remove([row.rule for row in context.store.subscriptions.read(keys) if row is not None])


def _all_noted_jobs(context: Context, keys: Collection[SubscriptionKey]) -> dict[SubscriptionKey, list[Job]]:
    found: dict[SubscriptionKey, list[Job]] = {key: [] for key in keys}
    for row in context.store.subscriptions.read(list(keys)):
        names = [] if row is None else [JobKey(row.key.tenant, one.job_id) for one in row.jobs]
        jobs = context.store.jobs.read(names, with_work=True) if names else []
        if row is not None:
            found[row.key] = [job for job in jobs if job is not None]
    return found


def _the_first_alone(context: Context, keys: Collection[SubscriptionKey]) -> dict[SubscriptionKey, list[Job]]:
    return {key: jobs[:1] for key, jobs in subscribers(context, keys).items()}


def _as_pending(job: Job, event: Event, digest: str | None, now: int, **how: bool) -> Run:
    return event_row(evolve(job, status=JobStatus.PENDING), event, digest, now, **how)


def _with_the_jobs_payload(job: Job, event: Event, _: str | None, now: int, **how: bool) -> Run:
    return event_row(job, event, None, now, **how)


def _of_no_generation(job: Job, event: Event, digest: str | None, now: int, **how: bool) -> Run:
    return evolve(event_row(job, event, digest, now, **how), depth=job.depth)


def _answers_before_it_is_put(
    context: Context, bus: EventBus, tenant: str, events: Sequence[Mapping[str, Any]], depth: int = 0
) -> list[tuple[Event, EventRefusal | None]]:
    try:
        return publish(context, bus, tenant, events, depth)
    except UnavailableError:
        return [(Event(tenant, one, context.clock.now(), depth), None) for one in events]


def _at_any_time(_: Context, __: str, ___: Quotas, ____: int, now: int) -> int:
    return now


def _forgets(_: MemoryBus, matched: Sequence[tuple[Matched, int]]) -> list[bool]:
    return [True] * len(matched)


def _any_event(_: RunId, newest: WaitingEvent | None, __: Run | None) -> bool:
    return newest is not None


def _none_of_its_own(run: RunId, newest: WaitingEvent | None, user: Run | None) -> bool:
    return newest is not None and newest.used_by != run and may_use(run, newest, user)


def _of_any_time(job: Job, _: int) -> tuple[str, str] | None:
    return after_later_events(job, LATEST)


def _alone(run: Run, _: Job) -> Run:
    return run


FAULTS = {
    "an event begins no cycle": Fault(
        instead(begun_by_event, _alone),
        "an event begins a cycle of a job on which others depend",
        scene="a graph below jobs that listen to events",
    ),
    "a fire that needs an event begins without one": Fault(
        without(claiming, "GATES", needs_event),
        "a fire that needs an event begins with an earlier one",
        scene="jobs that listen to events",
    ),
    "a fire uses an event that came after it": Fault(
        instead(after_later_events, _of_any_time), "a fire that needs an event begins with an earlier one", 17
    ),
    "a fire uses an event that another fire has used": Fault(
        instead(may_use, _any_event), "no event lets two fires begin", scene="jobs that listen to events"
    ),
    "a claim that is repeated does not know its own event": Fault(
        instead(may_use, _none_of_its_own), "a fire is skipped only if no event is left for it", 257
    ),
    "runs are made though their minute is full": Fault(
        instead(room_at, _at_any_time), "no more runs are made in a minute than may", 47
    ),
    "the remaining runs of an event are dropped": Fault(given(MemoryBus, "put_off", _forgets), _HEARD, 47),
    "a repeated event counts as a new one": Fault(
        handed(_takes_each_time_anew), "an event makes no two runs of a job", scene="jobs that listen to events"
    ),
    "a message of an event goes before its runs stand": Fault(instead(receive, _goes_before_its_runs), _HEARD, 27),
    "a rule is removed although a job needs it": Fault(
        instead(retire_unneeded, _removed_despite_need), _HEARD, scene="jobs that listen to events"
    ),
    "an event runs one job of those that listen": Fault(
        instead(subscribers, _the_first_alone), _HEARD, scene="jobs that listen to events"
    ),
    "an event runs jobs that no longer listen": Fault(
        instead(subscribers, _all_noted_jobs),
        "a run on an event is of a job that listened",
        scene="jobs that listen to events",
    ),
    "an event runs a paused job": Fault(
        instead(event_row, _as_pending),
        "an event of a paused job is skipped and of no other",
        scene="jobs that listen to events",
    ),
    "a freeze holds no event back": Fault(
        given(Blackouts, "deferred_until", Blackouts.stopped_until),
        "nothing starts in a freeze",
        scene="a freeze of jobs that catch up",
    ),
    "a run on an event has the payload of its job": Fault(
        instead(event_row, _with_the_jobs_payload),
        "a run on an event is called with that event",
        scene="jobs that listen to events",
    ),
    "an event loses its generation": Fault(
        instead(event_row, _of_no_generation),
        "a run on an event is of its generation",
        scene="jobs that listen to events",
    ),
    "an event is answered before it is on the bus": Fault(
        instead(publish, _answers_before_it_is_put), "an event that was taken is on the bus", 27
    ),
}
