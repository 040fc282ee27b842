"""Reads schedules of EventBridge Scheduler: what `aws scheduler get-schedule` prints, or a CloudFormation template."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from timeball.domain.time.instants import SECOND_MS, InvalidSchedule, format_instant, parse_instant
from timeball.domain.time.stepper import DstOverlap, Gap
from timeball.domain.time.zones import load_zone
from timeball.importing.definitions import (
    Found,
    ImportedJob,
    ImportOptions,
    OriginRule,
    RefusedDefinition,
    Timetable,
    UnreadableError,
    id_of_name,
    name_of,
    with_unique_ids,
)
from timeball.importing.documents import read_documents
from timeball.importing.origins.scheduler_times import local_time, rate_seconds, read_six_fields
from timeball.importing.origins.walls import elapsed, once_shown, stretches
from timeball.importing.rewriting import check_that_it_fires, cron_fields, has_days, times_of
from timeball.importing.scheduler_targets import target_fields

_NAME: Final = "EventBridge Scheduler"
_SCHEDULE: Final = "AWS::Scheduler::Schedule"
_RULES: Final = frozenset({"AWS::Events::Rule", "AWS::Serverless::Function"})
_KNOWN: Final = frozenset(
    {
        "Arn", "ActionAfterCompletion", "CreationDate", "Description", "EndDate", "FlexibleTimeWindow", "GroupName",
        "KmsKeyArn", "LastModificationDate", "Name", "ResponseMetadata", "ScheduleExpression",
        "ScheduleExpressionTimezone", "StartDate", "State", "Target",
    }
)  # fmt: skip
_DEFAULT_ATTEMPTS: Final = 185
_DEFAULT_AGE_SECONDS: Final = 86_400
_MOST_RETRIES: Final = 100
_MOST_JITTER_SECONDS: Final = 86_400

_Definition = Mapping[str, Any]


def read_eventbridge(text: str, given: ImportOptions) -> list[Found]:
    """Return the definitions of a text in JSON or YAML. Raises UnreadableError if it has no schedules at all."""
    found = [one for document in read_documents(text) for one in _document(document, given)]
    if not found:
        raise UnreadableError(f"There is no schedule here: neither a ScheduleExpression nor a resource {_SCHEDULE}.")
    return with_unique_ids(found)


def _document(document: Any, given: ImportOptions) -> Iterator[Found]:  # noqa: ANN401 - whatever a text has
    match document:
        case list():
            for one in document:
                yield from _document(one, given)
        case {"Schedules": list(schedules)}:
            for one in schedules:
                yield from _document(one, given)
        case {"Resources": dict(resources)}:
            yield from _resources(resources, given)
        case {"ScheduleExpression": _}:
            yield _schedule(str(document.get("Name", "a schedule")), document, given)
        case {"Target": {"Arn": _}, "Name": name}:
            reason = f"A list of schedules has no expressions; import aws scheduler get-schedule --name {name}."
            yield RefusedDefinition(str(name), "", reason)
        case _:
            raise UnreadableError(f"This is no schedule of {_NAME}: it has no ScheduleExpression.")


def _resources(resources: _Definition, given: ImportOptions) -> Iterator[Found]:
    others = 0
    for logical_id, resource in resources.items():
        kind = resource.get("Type") if isinstance(resource, dict) else None
        if kind == _SCHEDULE:
            properties = resource.get("Properties", {})
            yield _schedule(logical_id, {"Name": logical_id, **properties}, given)
        elif kind in _RULES:
            reason = f"A {kind} is no schedule of {_NAME}; schedules of rules are not read."
            yield RefusedDefinition(logical_id, str(kind), reason)
        else:
            others += 1
    if others:
        reason = "Resources of other types are no schedules."
        yield RefusedDefinition("others", f"{others} resource{'s' if others > 1 else ''}", reason)


def _schedule(where: str, definition: _Definition, given: ImportOptions) -> Found:
    written = str(definition["ScheduleExpression"])
    try:
        return _job(where, written, definition, given)
    except (UnreadableError, InvalidSchedule) as bad:
        return RefusedDefinition(where, written, str(bad))


def _job(where: str, written: str, definition: _Definition, given: ImportOptions) -> ImportedJob:
    target = definition.get("Target")
    if not isinstance(target, dict):
        raise UnreadableError("The schedule has no Target.")
    called, notes = target_fields(target)
    table = timetable(definition, given.now)
    group = definition.get("GroupName", "default")
    name = str(definition.get("Name", where)) if isinstance(definition.get("Name", where), str) else where
    full = name if group == "default" or not isinstance(group, str) else f"{group}-{name}"
    about = definition.get("Description")
    body = {
        "name": name_of(about if isinstance(about, str) and about.strip() else name),
        **called,
        **table.fields,
        **_retries(target.get("RetryPolicy") or {}),
        **_dead_letters(target.get("DeadLetterConfig")),
        "tags": {"imported-from": "eventbridge"},
    }
    notes += _policy_notes(definition, target)
    notes += tuple(f"{other} is not taken over." for other in sorted(definition.keys() - _KNOWN))
    paused = definition.get("State") == "DISABLED"
    return ImportedJob(where, written, id_of_name(full), body, table.origin, (*table.notes, *notes), paused)


def timetable(definition: _Definition, now: int) -> Timetable:
    """Return the schedule of a definition. Raises UnreadableError, or InvalidSchedule for an unknown zone."""
    expression = " ".join(str(definition["ScheduleExpression"]).split())
    zone = load_zone(_text(definition, "ScheduleExpressionTimezone") or "UTC").name
    start_at, end_at = _instant(definition, "StartDate"), _instant(definition, "EndDate")
    if end_at is not None and end_at < now:
        raise UnreadableError("Its EndDate is over.")
    window = definition.get("FlexibleTimeWindow") or {}
    jitter = int(window.get("MaximumWindowInMinutes", 0)) * 60 if window.get("Mode") == "FLEXIBLE" else 0
    if (local := local_time(expression)) is not None:
        return _once(expression, local, zone, now, jitter)
    fields: dict[str, Any] = {}
    if start_at is not None:
        fields["startAt"] = format_instant(start_at)
    if end_at is not None:
        fields["endAt"] = format_instant(end_at)
    if jitter:
        fields["jitterSeconds"] = min(jitter, _MOST_JITTER_SECONDS)
    if (seconds := rate_seconds(expression)) is not None:
        return _rate(expression, seconds, definition, fields, now)
    return _cron(expression, zone, fields, start_at, end_at)


def _once(expression: str, local: datetime, zone: str, now: int, jitter: int) -> Timetable:
    seconds = int(local.replace(tzinfo=UTC).timestamp())
    about_at = seconds * SECOND_MS
    shown = [
        (seconds - stretch.offset * 60) * SECOND_MS
        for stretch in stretches(zone, about_at, about_at + 2 * 86_400 * SECOND_MS)
        if stretch.starts * 60 <= seconds < stretch.ends * 60
    ]
    if not shown:
        raise UnreadableError(f"The clocks of {zone} skip {local.isoformat()}.")
    at = shown[0]
    if at < now:
        raise UnreadableError("Its time is over.")
    notes = ("FlexibleTimeWindow is not taken over: a job that runs once starts at its time.",) if jitter else ()
    origin = OriginRule(
        _NAME, (expression, zone), lambda from_at, through_at: [at] if from_at <= at <= through_at else []
    )
    return Timetable({"scheduleAt": format_instant(at)}, origin, notes)


def _rate(expression: str, seconds: int, definition: _Definition, fields: dict[str, Any], now: int) -> Timetable:
    anchor_at = _instant(definition, "StartDate") or _instant(definition, "CreationDate")
    end_at = _instant(definition, "EndDate")
    notes: tuple[str, ...] = ()
    if anchor_at is None:
        notes = ("The rate counts from the creation of the job, because the definition does not say since when.",)
    else:
        fields["anchorAt"] = format_instant(anchor_at)
    first_at = -(-now // SECOND_MS) * SECOND_MS if anchor_at is None else anchor_at
    origin = OriginRule(_NAME, (expression, first_at, end_at), elapsed(seconds, first_at, end_at))
    return Timetable({"everySeconds": seconds, **fields}, origin, notes)


def _cron(expression: str, zone: str, fields: dict[str, Any], start_at: int | None, end_at: int | None) -> Timetable:
    six = read_six_fields(expression)
    check_that_it_fires(six.wall)
    minute, hour, month = times_of(six.wall, six.texts)
    ours = f"{minute} {hour} {six.texts[2]} {month} {six.texts[4]}"
    if not has_days(ours, six.wall):
        raise UnreadableError(f'Timeball has no expression for "{expression}".')
    first_at, last_at = start_at, end_at
    if six.years is not None:
        begin, end = (_year_start(year, zone) for year in (six.years[0], six.years[1] + 1))
        first_at = begin if first_at is None else max(first_at, begin)
        last_at = end - 1 if last_at is None else min(last_at, end - 1)
        fields |= {"startAt": format_instant(first_at), "endAt": format_instant(last_at)}
    made = {**cron_fields(ours, zone, lambda _fields: Gap.SKIP, lambda _fields: DstOverlap.FIRST), **fields}

    def rule(from_at: int, through_at: int) -> list[int]:
        first = from_at if first_at is None else max(from_at, first_at)
        return once_shown(six.wall, zone, first, through_at if last_at is None else min(through_at, last_at))

    return Timetable(made, OriginRule(_NAME, (expression, zone, first_at, last_at), rule))


def _year_start(year: int, zone: str) -> int:
    local = int(datetime(year, 1, 1, tzinfo=UTC).timestamp())
    return next(
        (local - stretch.offset * 60) * SECOND_MS
        for stretch in stretches(zone, local * SECOND_MS, (local + 2 * 86_400) * SECOND_MS)
        if stretch.starts * 60 <= local < stretch.ends * 60
    )


def _retries(policy: _Definition) -> dict[str, Any]:
    attempts = int(policy.get("MaximumRetryAttempts", _DEFAULT_ATTEMPTS))
    age = int(policy.get("MaximumEventAgeInSeconds", _DEFAULT_AGE_SECONDS))
    return {"maxRetries": min(attempts, _MOST_RETRIES), "retryPolicy": {"maxAgeSeconds": age}}


def _dead_letters(config: object) -> dict[str, Any]:
    arn = config.get("Arn") if isinstance(config, dict) else None
    return {"notify": {"onFailure": {"type": "sqs", "queueArn": arn}}} if isinstance(arn, str) else {}


def _policy_notes(definition: _Definition, target: _Definition) -> tuple[str, ...]:
    notes: tuple[str, ...] = ()
    if "RoleArn" in target:
        notes += (
            "RoleArn is not taken over: Timeball calls with its own role, and timeball:targets lists the target.",
        )
    if isinstance(target.get("DeadLetterConfig"), dict):
        notes += ("The dead-letter queue gets a notice; Timeball itself keeps the failed run, to be replayed.",)
    if int((target.get("RetryPolicy") or {}).get("MaximumRetryAttempts", 0)) > _MOST_RETRIES:
        notes += (f"A run has at most {_MOST_RETRIES} retries.",)
    if definition.get("KmsKeyArn"):
        notes += ("KmsKeyArn is not taken over: the tables have the key of the deployment.",)
    return notes


def _text(definition: _Definition, name: str) -> str | None:
    value = definition.get(name)
    if value is not None and not isinstance(value, str):
        raise UnreadableError(f"{name} is a reference into a template; import the deployed schedule, or write a value.")
    return value


def _instant(definition: _Definition, name: str) -> int | None:
    value = definition.get(name)
    match value:
        case None | "":
            return None
        case int() | float():
            return int(value * SECOND_MS)
        case datetime():
            return int((value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp() * SECOND_MS)
        case str():
            try:
                return parse_instant(value)
            except ValueError as bad:
                raise UnreadableError(f"{name}: {bad}") from None
        case _:
            raise UnreadableError(f"{name} is a reference into a template; import the deployed schedule.")
