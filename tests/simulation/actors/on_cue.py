"""Single actions that a meeting requests. Their process has the name of its role."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from tests.simulation.actors.client import Client
from tests.simulation.actors.executions import caller_of
from tests.simulation.actors.flow import submit_each_once
from tests.simulation.actors.quotas import bind
from tests.simulation.story import MARQUESAS, START, THE_DAY_BEFORE, Done, Story
from tests.simulation.world.process import Process, Weather, simulated
from tests.simulation.world.receiver import REFUSED
from timeball.domain.model.ids import JobKey, OperationKey
from timeball.domain.model.jobs.calendar import Calendar, CalendarKey, CalendarUse
from timeball.domain.model.jobs.freeze import Freeze, FreezeMatch
from timeball.domain.model.jobs.job import JobSpec, JobStatus
from timeball.domain.model.tenants.actor import Actor
from timeball.domain.model.terms.dependency import Parent
from timeball.domain.model.terms.flow import ConcurrencyLimit, Debounce, Flow, RateLimit, Unique
from timeball.domain.model.terms.policies import OverlapPolicy, RetryPolicy, Work
from timeball.domain.model.terms.target import HttpTarget
from timeball.domain.operation import JobMatch, Operation, OperationAction
from timeball.domain.time.instants import HOUR_MS, SECOND_MS
from timeball.domain.time.schedule import At, Every, Schedule, Timing
from timeball.engine.blackouts.calendars import replace_calendar
from timeball.engine.blackouts.freezes import create_freeze
from timeball.engine.changes.change import Changed, Request, cancel, pause, resume, revise
from timeball.engine.context import Context
from timeball.engine.dependencies.parents import adopt
from timeball.engine.execution.claim import claim
from timeball.engine.execution.execute import execute
from timeball.engine.operations.operation import create_operation
from timeball.engine.runs.manual import cancel_runs
from timeball.engine.runs.trigger import Trigger, trigger
from timeball.engine.scanning.buckets import Sweeps
from timeball.engine.scanning.scan import scan
from timeball.engine.scheduling.dispatch import dispatch
from timeball.engine.scheduling.submit import submit
from timeball.ports.due_index import Owner
from timeball.testing.memory_queue import handed_out

KEY = JobKey("acme", "job")

Verb = Callable[[Story, Process], Awaitable[object]]


def _spec(timing: Timing, overlap: OverlapPolicy = OverlapPolicy.ALLOW) -> JobSpec:
    return JobSpec(KEY, Schedule(timing), Work(HttpTarget("https://target.example/hook")), "print", overlap=overlap)


def submits(timing: Timing, overlap: OverlapPolicy = OverlapPolicy.ALLOW) -> Verb:
    async def verb(story: Story, process: Process) -> None:
        await process.run(submit, story.context(process), [_spec(timing, overlap)], process.now())

    return verb


def _crowd_of(count: int) -> Verb:
    async def verb(story: Story, process: Process) -> None:
        specs = [replace(_spec(At(START + 8_000)), key=JobKey("acme", f"job-{n}")) for n in range(count)]
        specs.append(replace(_spec(At(START + 9_000)), key=JobKey("other", "job")))
        await process.run(submit, story.context(process), specs, process.now())

    return verb


crowds, small_crowds = _crowd_of(110), _crowd_of(31)
"""Submit more jobs of one tenant than a scan takes at once (or than four chunks have), and one that is due last."""


async def calls_two_paths(story: Story, process: Process) -> None:
    """Submit jobs of a path that is down for a while, and one of another path of the same host, due meanwhile."""
    story.receiver.down_until["target.example/broken"] = START + 20_000
    paths = {f"broken-{n}": (f"broken/{n}", START + 5_000) for n in range(6)} | {"fine": ("fine", START + 15_000)}
    specs = [
        replace(_spec(At(at)), key=JobKey("acme", name), work=Work(HttpTarget(f"https://target.example/{path}")))
        for name, (path, at) in paths.items()
    ]
    await process.run(submit, story.context(process), specs, process.now())


async def submits_under_a_key(story: Story, process: Process) -> None:
    """Submit two jobs of one instant under a limiter that lets one run at once."""
    flow = Flow(concurrency=ConcurrencyLimit("key", 1))
    specs = [replace(_spec(At(START + 5_000)), key=_node(name), flow=flow) for name in ("first", "second")]
    await process.run(submit, story.context(process), specs, process.now())


def submits_three(tenant: str = "acme", flow: Flow | None = None) -> Verb:
    """Submit three jobs of one instant, under the limiters of a flow or the quotas of a tenant."""

    async def verb(story: Story, process: Process) -> None:
        spec = replace(_spec(At(START + 5_000)), flow=flow or Flow())
        specs = [replace(spec, key=JobKey(tenant, f"job-{n}")) for n in range(3)]
        await process.run(submit, story.context(process), specs, process.now())

    return verb


ONE_AT_ONCE, ONE_A_SECOND = Flow(concurrency=ConcurrencyLimit("key", 1)), Flow(rate=RateLimit("rate", 1))


async def binds_tenants(story: Story, _: Process) -> None:
    """Give two tenants quotas."""
    bind(story)


async def asks_for_a_job(story: Story, process: Process) -> None:
    """Submit a job as a client does, who repeats a request without an answer or gives up."""
    await Client(story, process).ask("submit", KEY, submit, [_spec(_IN_AN_HOUR)], process.now(), _SOMEBODY)


async def triggers(story: Story, process: Process) -> None:
    """Trigger the job as a client does, with a payload of the trigger's own."""
    asked = Trigger(KEY, '{"n": 1}', has_payload=True, request="request-1", fingerprint="print-1")
    await Client(story, process).ask("trigger", KEY, trigger, [asked], _SOMEBODY)


async def submits_one_that_collects(story: Story, process: Process) -> None:
    spec = replace(_spec(_IN_AN_HOUR), flow=Flow(debounce=Debounce(5, 20)))
    await process.run(submit, story.context(process), [spec], process.now())


async def submits_with_a_calendar(story: Story, process: Process) -> None:
    spec = replace(_spec(At(START + 8_000)), calendar=CalendarUse("closed"))
    await process.run(submit, story.context(process), [spec], process.now())


async def closes_the_day(story: Story, process: Process) -> None:
    """Close the day of the story's beginning in the job's calendar."""
    now = process.now()
    wanted = Calendar(CalendarKey(KEY.tenant, "closed"), MARQUESAS, now, now, (THE_DAY_BEFORE,))
    await process.run(replace_calendar, story.context(process), wanted, None, now)


async def freezes(story: Story, process: Process) -> None:
    """Freeze the tenant for half a minute, from now on."""
    now = process.now()
    frozen = Freeze("freeze-1", now, now + 30_000, FreezeMatch(everything=True), now)
    await process.run(create_freeze, story.context(process), KEY.tenant, frozen)


def pushes(name: str) -> Verb:
    """Trigger a job that collects triggers, as a client does."""

    async def verb(story: Story, process: Process) -> None:
        asked = Trigger(KEY, f'{{"n": "{name}"}}', has_payload=True, request=name, fingerprint=name)
        await Client(story, process).ask("push", KEY, trigger, [asked], _SOMEBODY)

    return verb


def submits_under_a_unique_key(name: str) -> Verb:
    """Submit a job that collects the submits under its key, as a client does."""

    async def verb(story: Story, process: Process) -> None:
        flow = Flow(Unique("only"), Debounce(5, 20))
        spec = replace(_spec(At(process.now() + 5_000)), key=_node(name), flow=flow)
        await Client(story, process).ask("unique", spec.key, submit_each_once, [spec], name, _SOMEBODY)

    return verb


_IN_AN_HOUR, _SOMEBODY = Every(3600, START + HOUR_MS), Actor("user-1")


def revises(timing: Timing, calls: int = 1_000) -> Verb:
    """Change the schedule; the process ends before it makes more calls than `calls`."""

    async def verb(story: Story, process: Process) -> None:
        process.calls_left, context = calls, story.context(process)
        (job,) = await process.run(context.store.jobs.read, [KEY], with_work=True)
        if job is not None and job.is_open:
            await process.run(revise, context, [(job, replace(_spec(timing), tags={"by": process.name}))])

    return verb


def _changes(change: Callable[[Context, Sequence[Request]], list[Changed]]) -> Verb:
    async def verb(story: Story, process: Process) -> None:
        (answer,) = await process.run(change, story.context(process), [(KEY, None)])
        story.done.append(Done(story.clock.now(), change.__name__, KEY, answer))

    return verb


async def scans(story: Story, process: Process) -> None:
    owner = Owner(f"{next(story.names):06}", process.name)
    await process.run(scan, story.context(process), 0, owner, Sweeps())


async def scans_in_small_chunks(story: Story, process: Process) -> None:
    """Scan once in chunks of few jobs, which are dispatched in parallel."""
    owner = Owner(f"{next(story.names):06}", process.name)
    await process.run(scan, story.context(process), 0, owner, Sweeps(), 1, 8)


def plans_slowly(read_after: int, written_after: int, *meanwhile: tuple[int, Verb]) -> Verb:
    """Read the job like a scan, and write its plan later, in seconds after the start. Others act meanwhile."""

    async def verb(story: Story, process: Process) -> None:
        await process.sleep_until(START + read_after * SECOND_MS)
        read_at, context = process.now(), story.context(process)
        jobs = await process.run(context.store.jobs.read, [KEY])
        for seconds, other in meanwhile:
            await story.clock.sleep_until(START + seconds * SECOND_MS)
            await other(story, process_of(story, other))
        await process.sleep_until(START + written_after * SECOND_MS)
        pending = [job for job in jobs if job is not None and job.status is JobStatus.PENDING and job.intent is None]
        await process.run(dispatch, context, pending, read_at)

    return verb


async def fails(story: Story, _: Process) -> None:
    """Let all calls fail from now on, without retries."""
    story.receiver.statuses = (REFUSED,)


async def weaves(story: Story, process: Process) -> None:
    """Submit three jobs, of which two wait for the first, and the last for both."""
    first = replace(_spec(At(START + 5_000)), key=_node("first"), retry=RetryPolicy(0, 2, max_seconds=20))
    for spec in (
        first,
        replace(first, key=_node("left"), inherits=True, depends_on=_parents("first")),
        replace(first, key=_node("right"), inherits=True, depends_on=_parents("first", "left")),
    ):
        await process.run(submit, story.context(process), [spec], process.now())


async def swaps_a_dependency(story: Story, process: Process) -> None:
    """Take the last job's other parent away, and let that parent wait for the last job."""
    context = story.context(process)
    for name, parents in (("right", _parents("first")), ("left", _parents("first", "right"))):
        (job,) = await process.run(context.store.jobs.read, [_node(name)], with_work=True)
        if job is not None:
            adopted = await process.run(adopt, context, job, replace(job.spec, depends_on=parents))
            await process.run(revise, context, [(job, adopted.spec)])


def _node(name: str) -> JobKey:
    return JobKey("acme", name)


def _parents(*names: str) -> tuple[Parent, ...]:
    return tuple(map(Parent, names))


async def retries_all(story: Story, process: Process) -> None:
    """Request an operation that retries all dead runs."""
    now = process.now()
    asked = Operation(OperationKey("acme", "op1"), OperationAction.RETRY, JobMatch(), 100, 0, now, now, due_at=now)
    await process.run(create_operation, story.context(process), asked)


async def executes(story: Story, process: Process) -> None:
    deliveries = story.queue.receive("normal", visibility_seconds=40)
    inbox, caller = (
        simulated(story.queue.inbox("normal"), process),
        caller_of(story, process),
    )
    work = execute(story.context(process), inbox, caller, deliveries, f"{process.name}/1", process.run)
    await handed_out(inbox, deliveries, work, process.run)


async def claims(story: Story, process: Process) -> None:
    """Claim what there is, and die."""
    runs = [delivery.run for delivery in story.queue.receive("normal", visibility_seconds=40)]
    await process.run(claim, story.context(process), runs, process.name)


async def cancels_its_run(story: Story, process: Process) -> None:
    """Cancel the run of a job that has one."""
    await process.run(cancel_runs, story.context(process), [run for run in story.store.runs if run.job == KEY])


async def gives_up(story: Story, _: Process) -> None:
    """Let the queue give up on the messages that an executor has."""
    for run in dict.fromkeys(run for run, _ in story.queue.waiting("normal")):
        story.queue.give_up(run)


async def purges(story: Story, _: Process) -> None:
    """Lose all messages."""
    story.queue.purge()


cancels, pauses, resumes = _changes(cancel), _changes(pause), _changes(resume)

_ROLES: dict[Verb, str] = {scans: "scanner", scans_in_small_chunks: "scanner", executes: "executor", claims: "executor"}


def process_of(story: Story, verb: Verb) -> Process:
    process = story.new_process(f"{_ROLES.get(verb, 'user')}-of-{next(story.names)}")
    process.skew_ms, process.weather = 0, Weather()
    return process
