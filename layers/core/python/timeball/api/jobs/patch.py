"""Apply a merge patch (RFC 7396) to the document of a stored job."""

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, Final

from pydantic import BaseModel
from pydantic_core import ErrorDetails

from timeball.api.http.body import merge
from timeball.api.http.problems import ENOUGH_ERRORS, FieldError, shortened
from timeball.api.http.request_model import TAG, field_errors, model_of, models_of
from timeball.api.jobs.document import document_of, notify_document, request_form
from timeball.api.jobs.notify import NOTICE_TARGETS, WHEN_NEEDS, NotifyRequest, kept_default
from timeball.api.jobs.request import JOB_NEEDS, SCHEDULE_FORMS, TO_CALL, JobRequest, read_job_request
from timeball.api.schedules.fields import schedule_fields
from timeball.domain.model.ids import JobKey
from timeball.domain.model.jobs.job import Completion, Job, JobSpec
from timeball.domain.model.terms.notify import Notify
from timeball.domain.model.terms.policies import CatchUpPolicy, Work
from timeball.domain.model.terms.target import Override
from timeball.domain.time.schedule import At, OnEvents, Schedule
from timeball.targets.http.addresses import parse_url

_TARGETS: Final = ("target", *(f"notify.{name}" for name in NOTICE_TARGETS))
"""The fields of a job that hold targets."""


def read_patch(job: Job, patch: Mapping[str, Any], now: int) -> tuple[JobRequest, list[FieldError]]:
    """Validate a stored job after a patch: return the request for it, and every error.

    A time that has passed since the job was created is an error only if the patch gives it.
    """
    document = document_of(job.spec)
    if kept_default(job.spec.notify) is not None and patch.get("notify") is None:
        del document["notify"]
    merged = patched(document, patch)
    if job.spec.inherits and not merged.get("dependsOn") and not merged.keys() & set(SCHEDULE_FORMS):
        inherited = schedule_fields(job.spec.schedule)  # which becomes the job's own
        merged |= request_form(inherited)
    request, errors, errors_now = read_job_request(merged, now)
    unknown = islice(_unknown_nulls(JobRequest, patch, merged), ENOUGH_ERRORS)
    errors += field_errors(JobRequest, [_unknown(loc) for loc in unknown])
    errors += _unscheduled(document, merged)
    errors += _without_events(job, merged)
    errors += _submitted_under_another(document, merged)
    errors += islice(_taken_elsewhere(document, merged, patch), ENOUGH_ERRORS)
    kept = kept_times(job, request)
    return request, [*errors, *(error for error in errors_now if error.field not in kept)]


def patched(document: Mapping[str, Any], patch: Mapping[str, Any]) -> dict[str, Any]:
    """Return a job's document after a patch, without the fields that the patch makes meaningless.

    A new schedule replaces the old one, whatever its form, and a new `handler` or `taskId` replaces the target; with a
    task, the job's default values are dropped because the task states them. Fields that are only valid beside a
    replaced field are dropped too, unless the patch itself gives them: then they are validated as in any request.
    """
    merged, given = merge(document, patch), _given(patch)
    for alternatives in (SCHEDULE_FORMS, TO_CALL):
        if given & {*alternatives}:
            _drop(merged, {*alternatives} - given)
    _replace_targets(merged, document, patch)
    if _has_task(patch) and "taskId" not in document:
        _drop(merged, {name for name in merged if _is_default(name, merged[name])} - given)
    _drop_meaningless(merged, given, JOB_NEEDS)
    _drop_meaningless_parts(merged, patch)
    if merged.get("completion") != Completion.CALLBACK and not _has_task(merged):
        _drop(merged, {"heartbeatSeconds"} - given)
    return merged


def patched_notify(notify: Notify | None, patch: Mapping[str, Any]) -> tuple[dict[str, Any], list[FieldError]]:
    """Return the request for notices after a patch, and what is wrong with the patch itself."""
    document = {} if notify is None else {"notify": notify_document(notify)}
    asked = {"notify": patch}
    merged = merge(document, asked)
    _replace_targets(merged, document, asked)
    _drop_meaningless_parts(merged, asked)
    unknown = islice(_unknown_nulls(NotifyRequest, patch, merged["notify"]), ENOUGH_ERRORS)
    errors = field_errors(NotifyRequest, [_unknown(loc) for loc in unknown])
    moved = islice(_taken_elsewhere(document, merged, asked), ENOUGH_ERRORS)
    return merged["notify"], [*(FieldError(f"notify.{one.field}", one.message) for one in errors), *moved]


def _drop_meaningless_parts(merged: dict[str, Any], patch: Mapping[str, Any]) -> None:
    """Leave out when no target of `notify` is called, and the number of missed fires if not all run."""
    notify, asked_of = merged.get("notify"), patch.get("notify")
    if isinstance(notify, dict) and isinstance(asked_of, dict):
        _drop_meaningless(notify, _given(asked_of), WHEN_NEEDS)
    catch_up, asked = merged.get("catchUp"), patch.get("catchUp")
    if isinstance(catch_up, dict) and isinstance(asked, dict) and catch_up.get("policy") != CatchUpPolicy.ALL:
        catch_up["maxRuns"] = asked.get("maxRuns")


def _given(patch: Mapping[str, Any]) -> set[str]:
    """Return the names of the fields that a patch gives a value."""
    return {name for name, value in patch.items() if value is not None}


def _drop(merged: dict[str, Any], names: set[str]) -> None:
    for name in names:
        merged.pop(name, None)


def _has_task(document: Mapping[str, Any]) -> bool:
    """Say whether a document or a patch names a task, in `taskId` or as a handler that is not a URL."""
    handler = document.get("handler")
    return document.get("taskId") is not None or (isinstance(handler, str) and "://" not in handler)


def _changed_targets(
    document: Mapping[str, Any], patch: Mapping[str, Any], merged: Mapping[str, Any]
) -> Iterator[tuple[str, dict[str, Any], dict[str, Any], dict[str, Any]]]:
    """Yield each target that a patch changes: the field, the target before, the patch of it, and the target after."""
    for field in _TARGETS:
        before, asked, after = (_part(one, field) for one in (document, patch, merged))
        if isinstance(before, dict) and isinstance(asked, dict) and isinstance(after, dict):
            yield field, before, asked, after


def _replace_targets(merged: dict[str, Any], document: Mapping[str, Any], patch: Mapping[str, Any]) -> None:
    """Keep nothing of a target when the patch changes its type, and no queue ARN beside a new URL."""
    for _, before, asked, after in _changed_targets(document, patch, merged):
        if not _is_same_type(before, asked):
            replaced = merge({}, asked)
            after.clear()
            after.update(replaced)
        elif asked.get("queueUrl") is not None and "queueArn" not in asked:
            after.pop("queueArn", None)


def _is_same_type(before: Mapping[str, Any], asked: Mapping[str, Any]) -> bool:
    return bool(asked.get("type", before["type"]) == before["type"])


def _drop_meaningless(merged: dict[str, Any], given: set[str], needs: Mapping[str, tuple[str, ...]]) -> None:
    for name, partners in needs.items():
        if name not in given and not merged.keys() & set(partners):
            merged.pop(name, None)


def _is_default(name: str, value: object) -> bool:
    """Say whether a job without a task has this value by default: with a task, the task states it."""
    return name in {*Override} and value == _DEFAULTS.get(name)


def _unknown_nulls(
    model: type[BaseModel], patch: Mapping[str, Any], merged: Mapping[str, Any]
) -> Iterator[tuple[str, ...]]:
    """Yield the unknown fields that a patch removes, at any depth: the merged document does not show them."""
    fields = {field.alias: field for field in model.model_fields.values()}
    for name, value in patch.items():
        if name not in fields:
            if value is None:
                yield (name,)
        elif isinstance(value, dict) and isinstance(after := merged.get(name), dict):
            tag = after.get(TAG)
            part = model_of(fields[name].annotation, tag)
            if part is not None:
                is_tagged = len(models_of(fields[name].annotation)) > 1
                within = (name, str(tag)) if is_tagged else (name,)
                yield from ((*within, *loc) for loc in _unknown_nulls(part, value, after))


def _unknown(loc: tuple[str, ...]) -> ErrorDetails:
    return {"type": "extra_forbidden", "loc": loc, "msg": "", "input": None}


def _without_events(job: Job, merged: Mapping[str, Any]) -> Iterator[FieldError]:
    """Yield an error for a job that ran on the events of a parent and would be left without anything to run on."""
    is_left = not merged.get("dependsOn") and not merged.keys() & {*SCHEDULE_FORMS, "event"}
    if is_left and isinstance(job.spec.schedule.timing, OnEvents) and job.spec.event is None:
        yield FieldError(
            "dependsOn", "The job ran on events of a job that it depended on; give a schedule or an event."
        )


def _unscheduled(document: Mapping[str, Any], merged: Mapping[str, Any]) -> Iterator[FieldError]:
    """Yield an error for a schedule that a patch removes without another: a request without a schedule runs now."""
    if not merged.keys() & {*SCHEDULE_FORMS, "event"}:
        for form in (*SCHEDULE_FORMS, "event"):
            if form in document:
                yield FieldError(
                    form, "Give another schedule instead, such as delaySeconds 0 to run now, or pause the job."
                )


def _submitted_under_another(document: Mapping[str, Any], merged: Mapping[str, Any]) -> Iterator[FieldError]:
    """Yield an error for a patch that changes the unique key of the submit."""
    for name in ("uniqueKey", "uniqueSeconds"):
        if document.get(name) != merged.get(name):
            yield FieldError(name, "A job keeps the unique key under which it was submitted; leave this out.")


def _taken_elsewhere(
    document: Mapping[str, Any], merged: Mapping[str, Any], patch: Mapping[str, Any]
) -> Iterator[FieldError]:
    """Yield an error for each header that the patch would send to another host.

    A header's value is never shown, so a patch must not send it to a host of its choice.
    """
    for field, before, asked, after in _changed_targets(document, patch, merged):
        headers = asked.get("headers", {})
        if not isinstance(headers, dict) or not _is_moved(before, asked, after):
            continue
        for name in before["headers"]:
            if name not in headers:
                yield FieldError(
                    f"{field}.headers.{shortened(name)}",
                    "This value was given for another host; give it again, or null.",
                )


def _is_moved(before: Mapping[str, Any], asked: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    """Say whether a patch moves a webhook to another host."""
    has_urls = "url" in before and "url" in asked and _is_same_type(before, asked)
    return has_urls and _origin(before["url"]) != _origin(after.get("url"))


def _part(document: Mapping[str, Any], field: str) -> object:
    """Return the value at a dotted path of a document; None if there is none."""
    value: object = document
    for name in field.split("."):
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def _origin(url: object) -> str | None:
    """Return the origin of a URL; None if it is not a URL, which another check reports."""
    try:
        return parse_url(str(url)).origin
    except ValueError:
        return None


def kept_times(job: Job, request: JobRequest) -> set[str]:
    """Return the names of times in a request that the job has already: they may have passed since its creation."""
    kept = set()
    if request.end_at == job.spec.schedule.end_at:
        kept.add("endAt")
    if request.schedule_at is not None and job.spec.schedule.timing == At(request.schedule_at):
        kept.add("scheduleAt")
    return kept


_DEFAULTS: Final = document_of(JobSpec(JobKey("", ""), Schedule(At(0)), Work()))
