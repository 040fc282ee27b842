"""Reads a `beat_schedule` of Celery: the value that a Python module has, or JSON of the same shape.

In JSON a schedule is a number of seconds, or `{"crontab": {"minute": "0", "hour": "*/6"}}`. Celery's own objects are
known by their attributes, so Celery itself is needed only by the module that is read.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import timedelta
from typing import Any, Final

from timeball.domain.time.cron import CronFields
from timeball.domain.time.instants import SECOND_MS, InvalidSchedule
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
from timeball.importing.origins.celery_times import CRONTAB_FIELDS, celery_fires, read_celery
from timeball.importing.origins.walls import elapsed
from timeball.importing.rewriting import cron_fields, expression_of

_NAME: Final = "Celery"
_KNOWN: Final = frozenset({"task", "schedule", "args", "kwargs"})
_SETTINGS: Final = ("beat_schedule", "CELERY_BEAT_SCHEDULE", "CELERYBEAT_SCHEDULE")
_APPS: Final = ("app", "celery", "celery_app")
_ZONES: Final = ("timezone", "CELERY_TIMEZONE")


def read_celery_json(text: str, given: ImportOptions) -> list[Found]:
    """Return the definitions of a text in JSON: a `beat_schedule`, or an object that has one, with its `timezone`."""
    try:
        document = json.loads(text)
    except ValueError as bad:
        raise UnreadableError(f"This is no JSON: {bad}.") from None
    if not isinstance(document, dict):
        raise UnreadableError("Give a JSON object: names, each with a task and a schedule.")
    return read_beat(document, given)


def read_beat(settings: Any, given: ImportOptions) -> list[Found]:  # noqa: ANN401 - a module, an app, its settings, or JSON
    """Return the definitions of what has a `beat_schedule`, or is one. Raises UnreadableError if it has none."""
    for holder in _holders(settings):
        entries, zone = _first(holder, _SETTINGS), _first(holder, _ZONES)
        if isinstance(entries, Mapping):
            return _entries(entries, None if zone is None else str(zone), given)
    if isinstance(settings, Mapping) and all(isinstance(one, Mapping) for one in settings.values()):
        return _entries(settings, None, given)
    raise UnreadableError("There is no beat_schedule here; name a module, module:app, or a file of JSON.")


def _first(holder: Any, names: Iterable[str]) -> Any:  # noqa: ANN401 - as above
    return next((found for found in (_get(holder, name) for name in names) if found), None)


def _holders(settings: Any) -> Iterator[Any]:  # noqa: ANN401 - as above
    """Yield what may have the setting: the value itself, its apps, and the settings of these."""
    for holder in (settings, *(_get(settings, name) for name in _APPS)):
        yield from (found for found in (holder, _get(holder, "conf")) if found is not None)


def _get(holder: Any, name: str) -> Any:  # noqa: ANN401 - as above
    return holder.get(name) if isinstance(holder, Mapping) else getattr(holder, name, None)


def _entries(entries: Mapping[str, Any], zone: str | None, given: ImportOptions) -> list[Found]:
    return with_unique_ids(_entry(str(name), entry, zone, given) for name, entry in entries.items())


def _entry(name: str, entry: Any, zone: str | None, given: ImportOptions) -> Found:  # noqa: ANN401 - JSON, or Celery's
    schedule = entry.get("schedule") if isinstance(entry, Mapping) else None
    written = " ".join(str(schedule).split())
    try:
        payload = _payload(entry)
        table = timetable(schedule, given.timezone or zone, given.now)
    except (UnreadableError, InvalidSchedule) as bad:
        return RefusedDefinition(name, written, str(bad))
    except TypeError:
        return RefusedDefinition(name, written, "Its args or kwargs are no JSON, so no call can carry them.")
    body = {
        "name": name_of(name),
        **given.calls,
        "payload": payload,
        **table.fields,
        "tags": {"imported-from": "celery"},
    }
    notes = tuple(f"{other} is not taken over." for other in sorted(entry.keys() - _KNOWN))
    return ImportedJob(name, written, id_of_name(name), body, table.origin, (*table.notes, *notes))


def _payload(entry: Any) -> dict[str, Any]:  # noqa: ANN401 - as above
    """Return what a worker needs to call the task. Raises UnreadableError; TypeError if it is no JSON."""
    if not isinstance(entry, Mapping) or not isinstance(entry.get("task"), str) or entry.get("schedule") is None:
        raise UnreadableError("An entry has a task and a schedule.")
    payload = {"task": entry["task"], "args": [*(entry.get("args") or ())], "kwargs": dict(entry.get("kwargs") or {})}
    json.dumps(payload)
    return payload


def timetable(schedule: Any, zone: str | None, now: int) -> Timetable:  # noqa: ANN401 - as above
    """Return the schedule of an entry. Raises UnreadableError, or InvalidSchedule for an unknown zone."""
    if (given := _crontab_of(schedule)) is not None:
        return _crontab(given, load_zone(zone or "UTC").name)
    if _get(schedule, "solar") is not None or hasattr(schedule, "lat"):
        raise UnreadableError("A solar schedule follows the sun, and Timeball a clock; give a fixed time instead.")
    seconds = _seconds(schedule)
    if seconds is None:
        raise UnreadableError(f"This is no schedule that can be read: {schedule!r}.")
    if seconds < 1 or seconds != int(seconds):
        raise UnreadableError(f"Timeball counts whole seconds, and the interval is {seconds} s.")
    origin = OriginRule(_NAME, (seconds, now), elapsed(int(seconds), -(-now // SECOND_MS) * SECOND_MS))
    notes: tuple[str, ...] = (
        "The interval counts from the creation of the job, without drift; Celery counts from its own last run.",
    )
    if getattr(schedule, "relative", False):
        notes += ("relative=True, which rounds runs to the interval, is not taken over; anchorAt can do the same.",)
    return Timetable({"everySeconds": int(seconds)}, origin, notes)


def _crontab_of(schedule: Any) -> Mapping[str, Any] | None:  # noqa: ANN401 - as above
    if isinstance(schedule, Mapping):
        given = schedule.get("crontab")
        return given if isinstance(given, Mapping) else None
    if hasattr(schedule, "_orig_minute"):
        return {name: getattr(schedule, f"_orig_{name}") for name in CRONTAB_FIELDS}
    return None


def _seconds(schedule: Any) -> float | None:  # noqa: ANN401 - as above
    if isinstance(schedule, Mapping):
        schedule = schedule.get("every")
    schedule = getattr(schedule, "run_every", schedule)
    if isinstance(schedule, timedelta):
        return schedule.total_seconds()
    return float(schedule) if isinstance(schedule, int | float) and not isinstance(schedule, bool) else None


def _crontab(given: Mapping[str, Any], zone: str) -> Timetable:
    wall, texts, dates, weekdays = read_celery(given)
    expression = expression_of(wall, texts, dates, weekdays)
    fields = cron_fields(expression, zone, _gap, lambda _fields: DstOverlap.FIRST)
    origin = OriginRule(_NAME, (texts, zone), lambda from_at, through_at: celery_fires(wall, zone, from_at, through_at))
    return Timetable(fields, origin)


def _gap(fields: CronFields) -> Gap:
    """Return the policy that is closest to Celery's, which runs one of the minutes that clocks skip, later."""
    return Gap.NEXT if fields.fixed else Gap.SKIP
