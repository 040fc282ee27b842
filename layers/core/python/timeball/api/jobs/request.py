"""The request for a job, and everything that can be wrong with it, found in one pass.

Fields are validated one by one, then the valid ones together: one mistake never hides another.
"""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Final, Literal

from pydantic import ConfigDict, Field

from timeball.api.dependencies.fields import NEEDS_PARENTS, DependencyFields, bad_parents
from timeball.api.events.fields import EventFields
from timeball.api.http.fields import Name, Payload, Tags
from timeball.api.http.problems import FieldError
from timeball.api.http.request_model import ByValue, Strict, misplaced, read_fields
from timeball.api.http.schema_rules import together
from timeball.api.jobs.flow import FLOW_NEEDS, FlowFields, bad_flow
from timeball.api.jobs.notify import NotifyRequest, bad_notify
from timeball.api.jobs.policies import PolicyFields, beyond_an_answer
from timeball.api.schedules.fields import NEEDS, RECURRING, CalendarUseField, Delay, ScheduleFields, bad_window
from timeball.api.targets.http import Handler, TaskId
from timeball.api.targets.models import Target
from timeball.domain.changes.resolve import EVENT_MEMBER
from timeball.domain.model.jobs.job import Guarantee
from timeball.domain.model.terms.notify import MOST_IN_A_ROW
from timeball.domain.model.terms.policies import MAX_CAUGHT_UP, CatchUpPolicy, OverlapPolicy
from timeball.domain.time.instants import LATEST, SECOND_MS

SCHEDULE_FORMS = ("scheduleAt", "delaySeconds", "cronExpression", "everySeconds")
"""A job has at most one of these; without one it runs now, on events, or when the jobs that it depends on let it."""

JOB_NEEDS: Mapping[str, tuple[str, ...]] = {
    **NEEDS,
    **NEEDS_PARENTS,
    **FLOW_NEEDS,
    "timezone": ("cronExpression",),
    "pastSchedule": ("scheduleAt",),
    "maxRuns": RECURRING,
    "catchUp": (*RECURRING, "dependsOn"),
    "jitterSeconds": (*RECURRING, "dependsOn"),
    "pauseAfterFailures": (*RECURRING, "event", "dependsOn"),
}
"""Fields of a job that are only valid beside one of others. A one-off misses no fire and needs no jitter."""


TO_CALL = ("handler", "target", "taskId")
"""A job has exactly one of these."""


_NO_NUMBER: Final = {"properties": {"maxRuns": {"type": "null"}}}
_OF_ALL: Final = {"required": ["policy"], "properties": {"policy": {"const": "all"}}}


class CatchUpField(Strict):
    """The policy for fires that were missed in an outage or a pause."""

    model_config = ConfigDict(json_schema_extra=together(also=[{"anyOf": [_NO_NUMBER, _OF_ALL]}]))

    policy: Annotated[CatchUpPolicy, ByValue] = Field(
        CatchUpPolicy.LATEST, description="Which of the missed fires run."
    )
    max_runs: int | None = Field(
        None,
        ge=1,
        le=MAX_CAUGHT_UP,
        description="With `all`, the most missed fires that run, the newest first; default 10.",
    )
    max_age_seconds: int | None = Field(
        None,
        ge=1,
        le=31_622_400,
        description=(
            "The age in seconds beyond which a missed fire does not run; default: the larger of an hour and half the "
            "distance from the fire to the next one."
        ),
    )


class JobRequest(ScheduleFields, PolicyFields, DependencyFields, EventFields, FlowFields):
    """A job: what to call, when, and under which policies. Null counts as not given, except for `payload`."""

    model_config = ConfigDict(
        json_schema_extra=together(
            one_of=TO_CALL,
            exclusive=[TO_CALL, SCHEDULE_FORMS],
            beside={**JOB_NEEDS, "event": (*RECURRING, None)},
        )
    )

    name: Name | None = Field(None, description="A name for people.")
    owner: Name | None = Field(
        None, description="The person or team that owns the job; default: the name of the API key that creates it."
    )
    handler: Handler | None = Field(
        None, description="The URL to call, short for an `http` target with a POST; or the id of a task."
    )
    target: Target | None = Field(None, description="What to call. Give exactly one of this, `handler` and `taskId`.")
    task_id: TaskId | None = Field(
        None, description="The task whose target is called, and whose policies apply where the job states none."
    )
    payload: Payload = Field(None, description="The body of the call: any JSON, at most 256 KB.")
    past_schedule: Literal["run", "reject"] | None = Field(
        None,
        description="For a `scheduleAt` in the past: run at once (default), or refuse the job.",
    )
    delay_seconds: Delay | None = Field(
        None, description="Run once after this delay: seconds, or a duration such as `PT15M`."
    )
    max_runs: int | None = Field(
        None, ge=1, le=1_000_000_000, description="The number of runs after which the job is completed."
    )
    catch_up: CatchUpField | None = Field(None, description="The policy for missed fires; default: the latest runs.")
    overlap_policy: Annotated[OverlapPolicy, ByValue] | None = Field(
        None, description="The policy for a fire while an earlier run is live; default `allow`."
    )
    calendar: CalendarUseField | None = Field(
        None, description="The calendar on whose dates the job does not fire; default none."
    )
    jitter_seconds: int | None = Field(
        None,
        ge=0,
        le=86_400,
        description=(
            "The most seconds by which a fire starts later; the same fire always gets the same jitter. Default 0."
        ),
    )
    delivery: Annotated[Guarantee, ByValue] | None = Field(
        None,
        description=("`at_most_once`: no second call after a call that may have left. Default `at_least_once`."),
    )
    notify: NotifyRequest | None = Field(
        None, description="The targets to call when runs fail, recover, succeed or are late; default none."
    )
    pause_after_failures: int | None = Field(
        None,
        ge=1,
        le=MOST_IN_A_ROW,
        description="The number of failed runs in a row that pauses the job; default: failures do not pause it.",
    )
    tags: Tags | None = Field(
        None,
        description="At most 50 tags; keys of 1 to 128 characters without a colon, values of up to 256 characters.",
    )


def named_task(request: JobRequest) -> str | None:
    """Return the id of the task that a request names, in `taskId` or as a handler that is not a URL."""
    is_url = request.handler is None or "://" in request.handler
    return request.task_id or (None if is_url else request.handler)


def has_schedule(request: JobRequest) -> bool:
    """Say whether a request has a schedule of its own."""
    forms = (request.schedule_at, request.delay_seconds, request.cron_expression, request.every_seconds)
    return any(form is not None for form in forms)


def read_job_request(body: Mapping[str, Any], now: int) -> tuple[JobRequest, list[FieldError], list[FieldError]]:
    """Validate a body at an instant (ms).

    Returns what is valid of it, what is wrong with it at any time, and what is wrong with it only now.
    """
    request, given, errors = read_fields(JobRequest, body)
    errors += _together(request, given)
    return request, errors, list(_in_time(request, now))


def _together(request: JobRequest, given: set[str]) -> Iterator[FieldError]:
    yield from _what_to_call(given)
    forms = [form for form in SCHEDULE_FORMS if form in given]
    if len(forms) > 1:
        for form in forms:
            yield FieldError(form, f"Give only one of {', '.join(forms)}: a job has one schedule.")
    yield from misplaced(given, JOB_NEEDS)
    yield from _beside_events(request, given)
    if request.catch_up is not None and request.catch_up.max_runs is not None and request.catch_up.policy != "all":
        yield FieldError("catchUp.maxRuns", "This is only valid with the policy all; give that too, or leave this out.")
    yield from bad_window(request)
    yield from bad_notify(request.notify)
    catch_up = None if request.catch_up is None else request.catch_up.policy
    yield from bad_flow(request, request.overlap_policy, catch_up, waits=bool(request.depends_on))
    yield from bad_parents(request, has_fires=not given.isdisjoint((*SCHEDULE_FORMS, "event")))
    if request.for_each is not None and request.overlap_policy not in (None, "allow"):
        yield FieldError("overlapPolicy", "The runs of its items overlap: with forEach only allow is possible.")
    if named_task(request) is None:  # with a task the result depends on the task's policies
        yield from beyond_an_answer(request, given, request.target)


def _what_to_call(given: set[str]) -> Iterator[FieldError]:
    if "handler" in given and "target" in given:
        yield FieldError("handler", "Give either handler or target, not both.")
    if "taskId" in given and given & {"handler", "target"}:
        yield FieldError("taskId", "The task states what to call; leave out handler and target, or this.")
    if not given & {"handler", "target", "taskId"}:
        yield FieldError("handler", "Say what to call: give handler, an https:// URL, or target, or a taskId.")


def _beside_events(request: JobRequest, given: set[str]) -> Iterator[FieldError]:
    """Yield what a job that runs on events cannot have: a single fire time, or parents."""
    if "event" not in given:
        return
    for form in ("scheduleAt", "delaySeconds"):
        if form in given:
            yield FieldError(form, "A job that runs on events may have a recurring schedule only; leave this out.")
    if request.notify is not None and request.notify.on_late is not None and not given & {*RECURRING}:
        yield FieldError(
            "notify.onLate", "A job that runs on events alone is never late; give a schedule, or leave this out."
        )
    if given & {*RECURRING} and "payload" in given and not _has_room_for_event(request.payload):
        yield FieldError(
            "payload",
            "A fire's event becomes the payload's `event`; with an event and a schedule, give an object without one.",
        )
    if request.depends_on:
        yield FieldError("dependsOn", "A job either runs on events or waits for others; leave out this or event.")


def _has_room_for_event(payload: object) -> bool:
    return payload is None or (isinstance(payload, dict) and EVENT_MEMBER not in payload)


def _in_time(request: JobRequest, now: int) -> Iterator[FieldError]:
    if request.end_at is not None and request.end_at < now:
        yield FieldError("endAt", "This is in the past; give a later time, or leave it out.")
    if request.past_schedule == "reject" and request.schedule_at is not None and request.schedule_at < now:
        yield FieldError("scheduleAt", "This is in the past, and pastSchedule is reject; give a later time.")
    if request.delay_seconds is not None and now + request.delay_seconds * SECOND_MS >= LATEST:
        yield FieldError("delaySeconds", "This ends after the year 2399; give a shorter delay.")
