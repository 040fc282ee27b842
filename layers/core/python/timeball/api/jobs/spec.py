"""From a valid request to a spec for the engine, and the reasons why the spec is refused now.

Now, delays and intervals become instants here.
"""

from collections.abc import Iterator, Sequence

from timeball.api.dependencies.fields import stated_dependencies
from timeball.api.events.fields import event_of
from timeball.api.http.body import compact
from timeball.api.http.edge import ApiContext
from timeball.api.http.exchange import Request
from timeball.api.http.problems import FieldError
from timeball.api.http.quotas import PERIOD, above_ceiling, defaults_of, large_payload, quotas_of
from timeball.api.http.request_model import stated
from timeball.api.jobs.flow import flow_of
from timeball.api.jobs.notify import default_for, notify_of, targets_of
from timeball.api.jobs.policies import PolicyFields, stated_policies
from timeball.api.jobs.request import JobRequest, has_schedule, named_task
from timeball.api.schedules.fields import calendar_use, timing_of
from timeball.api.schemas.accepted import Allowance
from timeball.api.schemas.fit import misfits
from timeball.api.targets.models import called, closed_target
from timeball.domain.changes.resolve import resolve_spec
from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import JobKey, TaskKey
from timeball.domain.model.jobs.job import Completion, Job, JobSpec
from timeball.domain.model.jobs.task import Task
from timeball.domain.model.tenants.tenant import Quotas
from timeball.domain.model.terms.notify import Notify
from timeball.domain.model.terms.policies import CatchUp, OverlapPolicy, Work
from timeball.domain.model.terms.target import Override, Target, TaskUse, is_followed
from timeball.domain.time.instants import SECOND_MS
from timeball.domain.time.schedule import At, Every, OnEvents, Schedule, first_fire, least_period_seconds
from timeball.engine.execution.invocation import LONGEST_CALL_SECONDS
from timeball.engine.resolving import read_tasks
from timeball.targets.aws.allowed import too_large

Tasks = dict[TaskKey, Task]


def schedule_of(request: JobRequest, now: int) -> Schedule:
    """Return the schedule that a valid request asks for at an instant (ms)."""
    waits = 0 if request.unique_key is None else request.debounce_seconds or 0
    delay = waits if request.delay_seconds is None else request.delay_seconds
    unscheduled = At(now + delay * SECOND_MS) if request.event is None else OnEvents()
    timing = timing_of(request, now) or unscheduled
    return Schedule(timing, request.start_at, request.end_at, request.max_runs)


def spec_of(
    request: JobRequest, key: JobKey, fingerprint: str | None, now: int, default: Notify | None = None
) -> JobSpec:
    """Return the spec that a valid request asks for. Fields that are not given take their defaults.

    `default` has the notices of a job that states none.
    """
    schedule = schedule_of(request, now)
    return JobSpec(
        key=key,
        schedule=schedule,
        work=_work(request),
        fingerprint=fingerprint,
        **stated(request, "name", "owner", "tags", "delivery", "jitter_seconds", "pause_after_failures"),
        **stated_policies(request),
        **stated_dependencies(request),
        catch_up=CatchUp(**stated(request.catch_up)),
        overlap=request.overlap_policy or OverlapPolicy.ALLOW,
        task=_task(request),
        calendar=calendar_use(request.calendar),
        inherits=bool(request.depends_on) and not has_schedule(request),
        notify=notify_of(request.notify) or default_for(default, schedule),
        event=event_of(request),
        flow=flow_of(request),
    )


def timed_as(before: JobSpec, spec: JobSpec) -> JobSpec:
    """Return a spec that inherits its parents' schedule with the schedule that the job inherited before, if it did."""
    return evolve(spec, schedule=before.schedule) if spec.inherits and before.inherits else spec


def replacing(standing: Job, wanted: JobRequest, since: int, default: Notify | None) -> JobSpec:
    """Return the spec that a request gives to a job that stands; relative times count from an instant (ms).

    `default` has its notices if the request states none.
    """
    spec = timed_as(standing.spec, spec_of(wanted, standing.key, standing.spec.fingerprint, since, default))
    return evolve(spec, flow=evolve(spec.flow, unique=standing.spec.flow.unique))


def unfit(edge: ApiContext, request: JobRequest, spec: JobSpec, before: JobSpec | None, now: int) -> list[FieldError]:
    """Return what is wrong with a valid request at an instant (ms); what the job had `before` is accepted."""
    errors: list[FieldError] = []
    had = (None, None, None) if before is None else (before.schedule, before.work, before.notify)
    schedule, work, notify = had
    if schedule != spec.schedule:
        errors += _never_fires(request, spec.schedule, now)
    if spec.work is not None and (work is None or work.target != spec.work.target):
        errors += _closed_target(edge, request, spec.key.tenant, spec.work.target)
    if spec.work is not None and work != spec.work:
        errors += _large(spec.work, spec.work.target)
    if notify != spec.notify and request.notify is not None:  # the tenant's default was examined where it was set
        for name, target in targets_of(spec.notify):
            errors += closed_target(edge, spec.key.tenant, f"notify.{name}", target, f"notify.{name}")
    return errors


def _large(work: Work | None, target: Target) -> list[FieldError]:
    """Return the error of a payload that is too large for a target."""
    sentence = too_large(target, None if work is None else work.payload)
    return [] if sentence is None else [FieldError("payload", sentence)]


def tasks_of(edge: ApiContext, tenant: str, requests: Sequence[JobRequest]) -> Tasks:
    """Return the tasks that requests name, as they are now; no read if none is named."""
    names = [name for request in requests if (name := named_task(request)) is not None]
    return read_tasks(edge.context, [TaskKey(tenant, name) for name in names])


def unfit_for_task(request: JobRequest, spec: JobSpec, tasks: Tasks, allowance: Allowance) -> list[FieldError]:
    """Return why a valid request cannot have the task that it names: it is missing, or does not fit the request."""
    if spec.task is None:
        return []
    task = tasks.get(TaskKey(spec.key.tenant, spec.task.task_id))
    if task is None or task.is_deleted:
        field = "handler" if request.task_id is None else "taskId"
        return [FieldError(field, "You have no task with this id; list yours at /v1/tasks.")]
    schema = task.spec.payload_schema
    wrong = [] if schema is None else misfits(schema, request.payload, allowance)
    return [*_beyond_the_task(spec, task), *wrong, *_large(spec.work, task.spec.target)]


def _beyond_the_task(spec: JobSpec, task: Task) -> Iterator[FieldError]:
    """Yield what in a job conflicts with its task: completion, heartbeats and timeouts."""
    own = () if spec.task is None else spec.task.own
    both = resolve_spec(task, spec)
    reports = both.completion is Completion.CALLBACK
    if not reports and Override.HEARTBEAT in own:
        yield FieldError(
            Override.HEARTBEAT, "This is only valid with completion callback, of the job or of its task; leave it out."
        )
    has_time = is_followed(task.spec.target) or (reports and both.heartbeat_seconds is not None)
    if both.timeout_seconds > LONGEST_CALL_SECONDS and not has_time:
        field = Override.TIMEOUT if Override.TIMEOUT in own else Override.COMPLETION
        yield FieldError(
            field,
            f"An attempt may take {both.timeout_seconds} s; more than {LONGEST_CALL_SECONDS} s is only valid with "
            "completion callback and heartbeatSeconds.",
        )
    if both.heartbeat_seconds is not None and both.heartbeat_seconds > both.timeout_seconds:
        field = Override.HEARTBEAT if Override.HEARTBEAT in own else Override.TIMEOUT
        yield FieldError(
            field, f"heartbeatSeconds, {both.heartbeat_seconds}, is longer than timeoutSeconds, {both.timeout_seconds}."
        )


def misfits_of(
    edge: ApiContext, request: Request, wanted: JobRequest, spec: JobSpec, before: JobSpec
) -> list[FieldError]:
    """Return what is wrong now with the result of a valid request.

    Reads the task only if the request changes something that depends on it.
    """
    if before.notice is not None:
        return [FieldError("jobId", "This job is a notice and cannot be changed; trigger it again, or cancel it.")]
    misfits = unfit(edge, wanted, spec, before, edge.context.clock.now())
    misfits += beyond_the_tenant(edge, request, wanted, spec, before)
    if spec.task is None or (spec.task == before.task and spec.work == before.work and _policies(spec, before)):
        return misfits
    return [*misfits, *unfit_for_task(wanted, spec, tasks_of(edge, spec.key.tenant, [wanted]), Allowance())]


def _policies(spec: JobSpec, before: JobSpec) -> bool:
    """Say whether the fields that must fit a task's completion are unchanged."""
    return (spec.timeout_seconds, spec.completion, spec.heartbeat_seconds) == (
        before.timeout_seconds,
        before.completion,
        before.heartbeat_seconds,
    )


def beyond_the_tenant(
    edge: ApiContext, request: Request, wanted: JobRequest, spec: JobSpec, before: JobSpec | None
) -> list[FieldError]:
    """Return which parts of a job exceed a bound of its tenant; what the job had `before` is accepted."""
    above = above_ceiling(defaults_of(edge, request), wanted.priority, None if before is None else before.priority)
    return [*above, *_over_quotas(spec, before, quotas_of(edge, request))]


def _over_quotas(spec: JobSpec, before: JobSpec | None, quotas: Quotas) -> list[FieldError]:
    """Return which parts of a job exceed a quota; what the job had `before` is accepted."""
    errors: list[FieldError] = []
    least, period = quotas.least_period_seconds or 0, least_period_seconds(spec.schedule)
    is_new = before is None or before.schedule.timing != spec.schedule.timing
    if is_new and period is not None and period < least:
        message = f"This job would sometimes fire every {period} s; your quota {PERIOD} requires at least {least} s."
        errors.append(FieldError(form_of(spec.schedule), message, PERIOD))
    payload = None if spec.work is None else spec.work.payload
    if before is None or before.work is None or before.work.payload != payload:
        errors += large_payload(quotas, payload)
    return errors


def _never_fires(request: JobRequest, schedule: Schedule, now: int) -> list[FieldError]:
    """Return the error of a valid request whose schedule has no fire from now on."""
    if first_fire(schedule, now) is not None or isinstance(schedule.timing, OnEvents):
        return []
    form = form_of(schedule)
    if request.end_at is None:
        return [FieldError(form, "This schedule has no fire time before the year 2400; give another one.")]
    return [FieldError("endAt", "The schedule has no fire time before this; give a later time.")]


def form_of(schedule: Schedule) -> str:
    """Return the name of the field that makes a job recur."""
    if isinstance(schedule.timing, OnEvents):
        return "event"
    return "everySeconds" if isinstance(schedule.timing, Every) else "cronExpression"


def _closed_target(edge: ApiContext, request: JobRequest, tenant: str, target: Target) -> list[FieldError]:
    """Return the errors of a request's own target if this deployment may not call it."""
    if named_task(request) is not None:
        return []
    return closed_target(edge, tenant, "target", target, "handler" if request.target is None else None)


def _work(request: JobRequest) -> Work:
    payload = compact(request.payload) if "payload" in request.model_fields_set else None
    if named_task(request) is not None:
        return Work(payload=payload)
    target = called(request.target, request.handler)
    if target is None:
        raise ValueError("a faultless request names a handler or a target")
    return Work(target, payload)


def _task(request: JobRequest) -> TaskUse | None:
    """Return the task that a request names, with the policies that the request states itself."""
    task_id = named_task(request)
    if task_id is None:
        return None
    given = {field.alias for name, field in PolicyFields.model_fields.items() if getattr(request, name) is not None}
    return TaskUse(task_id, tuple(name for name in Override if name in given))
