"""Single acts of a scene: what its users, its targets and its bus do, once, at an instant."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

from tests.simulation.actors.blackouts import start, stop
from tests.simulation.actors.client import Client
from tests.simulation.actors.edge import revising, rewiring, submitting
from tests.simulation.actors.events import bus_of
from tests.simulation.actors.executions import tell
from tests.simulation.actors.generations import put
from tests.simulation.actors.graphs import submit_examined
from tests.simulation.actors.on_cue import Verb
from tests.simulation.actors.pipelines import backfill, cancel_it
from tests.simulation.actors.removals import REMOVER, remove_one
from tests.simulation.actors.reruns import rerun
from tests.simulation.story import MARQUESAS, START, Story
from tests.simulation.world.process import Process
from tests.simulation.world.receiver import HOSTS, WEAVERS
from timeball.api.http.problems import ProblemError
from timeball.domain.backfill import instants, new_backfill
from timeball.domain.model.ids import BackfillKey, CycleId, JobKey, OperationKey, TaskKey
from timeball.domain.model.jobs.calendar import Calendar, CalendarKey
from timeball.domain.model.jobs.freeze import Freeze, FreezeMatch
from timeball.domain.model.jobs.job import JobSpec
from timeball.domain.model.jobs.task import TaskSpec
from timeball.domain.model.runs.run import Run
from timeball.domain.model.tenants.actor import Action, Actor
from timeball.domain.model.terms.dependency import Children, Parent
from timeball.domain.model.terms.policies import OverlapPolicy, RetryPolicy, Work
from timeball.domain.model.terms.target import HttpTarget, Target
from timeball.domain.operation import JobMatch, Operation, OperationAction, RerunMode
from timeball.domain.time.instants import SECOND_MS
from timeball.domain.time.schedule import At, Every, Schedule, Timing
from timeball.engine.backfills import create_backfills
from timeball.engine.blackouts.calendars import replace_calendar
from timeball.engine.blackouts.freezes import create_freeze
from timeball.engine.changes.change import skip_next
from timeball.engine.changes.skip import Skipping
from timeball.engine.events.receive import publish
from timeball.engine.operations.operation import create_operation
from timeball.engine.runs.trigger import Trigger, trigger
from timeball.engine.scheduling.submit import submit
from timeball.engine.tasks import create_task, revise_task

WEBHOOK = HttpTarget(f"https://{HOSTS[0]}/hook")

_BEGIN = START // SECOND_MS * SECOND_MS


def once(seconds: float) -> Timing:
    """Return a fire so many seconds after the start."""
    return At(START + int(seconds * SECOND_MS))


def every(seconds: int) -> Timing:
    """Return a fire every so many seconds."""
    return Every(seconds, _BEGIN)


def job(
    name: str, timing: Timing, *parents: str, tenant: str = "acme", target: Target = WEBHOOK, **more: Any
) -> JobSpec:
    """Return a job, which may depend on others."""
    spec = JobSpec(JobKey(tenant, name), Schedule(timing), Work(target, '{"n": 0}'), "print", timeout_seconds=60)
    return replace(spec, depends_on=tuple(map(Parent, parents)), **more)


def submits_jobs(*specs: JobSpec) -> Verb:
    """Submit jobs as a client of the API does, one after the other."""

    async def verb(story: Story, process: Process) -> None:
        client = Client(story, process)
        for spec in specs:
            by = Actor(f"{process.name}-{next(story.requests)}")
            if spec.depends_on:
                await client.ask("weave", spec.key, submit_examined, spec, process.now(), by)
            else:
                with suppress(ProblemError):
                    await client.ask("submit", spec.key, submitting(client, submit), [spec], process.now(), by)

    return verb


def asks(what: str, key: JobKey, work: Callable[..., Any], *args: Any) -> Verb:
    """Send a request as a client of the API does."""

    async def act(story: Story, process: Process) -> None:
        await Client(story, process).ask(what, key, work, *args)

    return act


def asks_of_runs(what: str, work: Callable[..., Any], which: Callable[[Run], bool], *args: Any) -> Verb:
    """Send a request about each of the runs that `which` selects by then."""

    async def act(story: Story, process: Process) -> None:
        for run in [run for run in story.store.runs.values() if which(run)]:
            await Client(story, process).ask(what, run.id.job, work, [run.id], *args)

    return act


def answers_with(*statuses: int, takes_ms: int = 200) -> Verb:
    """Let targets answer with these statuses from now on, after a time."""

    async def verb(story: Story, _: Process) -> None:
        story.receiver.statuses, story.receiver.takes_ms = statuses, (takes_ms,)

    return verb


def delivers_again(which: Callable[[Run], bool]) -> Verb:
    """Let the queue deliver a message of each selected run once more, now."""

    async def verb(story: Story, process: Process) -> None:
        runs = [replace(run, not_before=0) for run in story.store.runs.values() if which(run)]
        story.queue.send(runs, process.now())

    return verb


def sends_events(*events: dict[str, Any], tenant: str = "acme", depth: int = 0) -> Verb:
    """Publish events as a client of the API does."""

    async def verb(story: Story, process: Process) -> None:
        for event in events:
            client = Client(story, process)
            await client.ask("publish", JobKey(tenant, "none"), _publish, bus_of(client), tenant, [event], depth)

    return verb


def _publish(context: Any, bus: Any, tenant: str, events: Any, depth: int) -> list[Any]:
    return [event for event, _ in publish(context, bus, tenant, events, depth)]


def event(number: int, source: str = "shop") -> dict[str, Any]:
    """Return an event of a source."""
    return {"id": f"{number}", "source": source, "type": "a", "data": {"n": number}}


def revises_to(key: JobKey, **terms: Any) -> Verb:
    """Change some terms of a job, as by a PATCH."""

    async def verb(story: Story, process: Process) -> None:
        client, context = Client(story, process), story.context(process)
        (standing,) = await process.run(context.store.jobs.read, [key], with_work=True)
        if standing is not None:
            by = Actor(f"{process.name}-{next(story.requests)}")
            spec = replace(standing.spec, **terms)
            await client.ask("revise", key, revising(client), [(standing, spec)], Action.PATCH, by)

    return verb


async def rests(_: Story, __: Process) -> None:
    """Do nothing: what was begun goes on until this act."""


async def storms_at_aws(story: Story, _: Process) -> None:
    """Let executions last long, AWS throttle, and its answers come late, until the end of the acts."""
    story.executions.is_calm = False


def lets_executions_last(seconds: int) -> Verb:
    """Let each execution that is started last so long."""

    async def verb(story: Story, _: Process) -> None:
        story.executions.lasts_ms = seconds * SECOND_MS

    return verb


def changes(change: Callable[..., Any], name: str, tenant: str = "acme") -> Verb:
    """Cancel, pause or resume a job."""
    key = JobKey(tenant, name)

    async def verb(story: Story, process: Process) -> None:
        by = Actor(f"{process.name}-{next(story.requests)}")
        await Client(story, process).ask(change.__name__, key, change, [(key, None)], by)

    return verb


def pushes_to(name: str, request: str, tenant: str = "acme", *, downstream: bool = False) -> Verb:
    """Trigger a job by a request of that name, which may come again."""
    key = JobKey(tenant, name)
    payload = None if downstream else f'{{"n": "{request}"}}'
    asked = Trigger(key, payload, payload is not None, request, fingerprint=request, downstream=downstream)
    return asks("run the graph" if downstream else "push", key, trigger, [asked], Actor(request))


def operates(action: OperationAction, per_second: int, tenant: str = "user-1") -> Verb:
    """Request a bulk operation on all jobs of a tenant."""

    async def verb(story: Story, process: Process) -> None:
        name, now = f"op{next(story.names)}", process.now()
        by = Actor(f"operator-{name}")
        key = OperationKey(tenant, name)
        asked = Operation(key, action, JobMatch(), per_second, 0, created_at=now, updated_at=now, by=by, due_at=now)
        await process.run(create_operation, story.context(process), asked)

    return verb


def reruns(name: str, mode: RerunMode) -> Verb:
    """Rerun the newest cycle of a job of the graph that is over."""

    async def verb(story: Story, process: Process) -> None:
        key = JobKey(WEAVERS, name)
        runs = [run for run in story.store.runs.values() if run.id.job == key and run.is_terminal]
        newest = max(runs, key=lambda run: run.id.fire_at)
        cycle = CycleId(newest.id.fire_at)
        await Client(story, process).request("rerun", key, rerun, key, cycle, mode, f"rerun{next(story.names)}")

    return verb


def backfills_graph(name: str, pace_seconds: int) -> Verb:
    """Backfill the recent cycles of a graph."""

    async def verb(story: Story, process: Process) -> None:
        job_of = story.store.jobs[JobKey(WEAVERS, name)]
        await Client(story, process).ask(
            "backfill the graph", job_of.key, backfill, job_of, f"cycle{next(story.names)}", pace_seconds
        )

    return verb


async def cancels_backfills(story: Story, process: Process) -> None:
    """Cancel all backfills."""
    for key in [*story.store.backfills]:
        await process.run(cancel_it, story.context(process), key)


def keeps(name: str, url: str, retry: RetryPolicy, tenant: str = "user-1") -> Verb:
    """Create a task, or give it another target and another policy."""

    async def verb(story: Story, process: Process) -> None:
        context, key = story.context(process), TaskKey(tenant, name)
        spec = TaskSpec(key, HttpTarget(url), retry=retry)
        (standing,) = await process.run(context.store.tasks.read, [key])
        if standing is None:
            await process.run(create_task, context, spec)
        else:
            await process.run(revise_task, context, standing, spec)

    return verb


def closes(*dates: str, tenant: str = "user-1") -> Verb:
    """Give the calendar of a tenant other dates."""

    async def verb(story: Story, process: Process) -> None:
        now = process.now()
        wanted = Calendar(CalendarKey(tenant, "closed"), MARQUESAS, now, now, dates)
        await process.run(replace_calendar, story.context(process), wanted, None, now)

    return verb


def freezes_tenant(tenant: str, seconds: int) -> Verb:
    """Freeze all jobs of a tenant for some time."""

    async def verb(story: Story, process: Process) -> None:
        now = process.now()
        frozen = Freeze(f"freeze-{now}", now, now + seconds * SECOND_MS, FreezeMatch(everything=True), now)
        await process.run(create_freeze, story.context(process), tenant, frozen)

    return verb


def disables(tenant: str) -> Verb:
    """Disable a tenant."""
    return asks("disable", JobKey(tenant, "none"), stop, tenant)


def enables(tenant: str) -> Verb:
    """Enable a tenant."""
    return asks("enable", JobKey(tenant, "none"), start, tenant)


def puts_again(name: str, timing: Timing, tenant: str = "acme") -> Verb:
    """Put a job that has ended again."""
    key = JobKey(tenant, name)

    async def verb(story: Story, process: Process) -> None:
        by = Actor(f"again-{next(story.requests)}")
        await Client(story, process).ask("put again", key, put, key, Schedule(timing), str(next(story.names)), by)

    return verb


def skips(name: str, request: str, tenant: str = "acme") -> Verb:
    """Skip the next fire of a job by a request of that name. Several requests of one name skip one fire."""
    key = JobKey(tenant, name)

    async def verb(story: Story, process: Process) -> None:
        story.skips[key] = 1
        by = Actor(f"{process.name}-{next(story.requests)}")
        await Client(story, process).ask("skip", key, skip_next, [Skipping(key, request=request)], by)

    return verb


def backfills(name: str, fires: int, tenant: str = "acme") -> Verb:
    """Backfill the newest fires of a job, one by one."""
    key = JobKey(tenant, name)

    async def verb(story: Story, process: Process) -> None:
        row, now = story.store.jobs[key], process.now()
        times = list(instants(row.spec.schedule, START, now))[-fires:]
        name, policy = f"bf{next(story.names)}", OverlapPolicy.ALLOW
        made = new_backfill(BackfillKey(key, name), row, times, 2, policy, now)
        await process.run(create_backfills, story.context(process), [made])

    return verb


def rewires(name: str, *parents: str) -> Verb:
    """Give a job of the graph other parents."""
    key = JobKey(WEAVERS, name)

    async def verb(story: Story, process: Process) -> None:
        client, by = Client(story, process), Actor(f"{process.name}-{next(story.requests)}")
        with suppress(ProblemError):
            await client.request("rewire", key, rewiring(client), key, tuple(map(Parent, parents)), by)

    return verb


def removes(name: str, children: Children) -> Verb:
    """Cancel a job of the graph, and say what becomes of its children."""
    key = JobKey(WEAVERS, name)

    async def verb(story: Story, process: Process) -> None:
        by = Actor(f"{REMOVER} {children} {story.clock.now()}")
        await Client(story, process).ask("remove", key, remove_one, key, children, by)

    return verb


async def tells_very_late(story: Story) -> None:
    """Tell of the ends of executions minutes after them, as an event that was lost and sent again."""
    await story.clock.sleep_until(START + 200 * SECOND_MS)
    for one in [*story.executions.all.values()]:
        await tell(story, one, one.over_at, 0)
