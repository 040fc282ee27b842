"""Shared by the tests of imports: an instant, readers of single definitions, and fires as local times."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

from timeball.domain.time.instants import SECOND_MS, parse_instant
from timeball.domain.time.zones import load_zone
from timeball.importing.comparing import Comparer, Comparison
from timeball.importing.crontab import read_crontab
from timeball.importing.definitions import Found, ImportedJob, ImportOptions, RefusedDefinition
from timeball.importing.eventbridge import read_eventbridge
from timeball.importing.kubernetes import read_kubernetes

NOW = parse_instant("2027-01-01T00:00:00Z")
BERLIN = "Europe/Berlin"
FUNCTION = "arn:aws:lambda:eu-west-1:123456789012:function:report"


def given(timezone: str | None = BERLIN, **more: Any) -> ImportOptions:
    """Return the options of an import."""
    return ImportOptions(NOW, {"taskId": "commands"}, timezone, **more)


def job(found: Sequence[Found]) -> ImportedJob:
    """Return the only job of an import."""
    (one,) = found
    assert isinstance(one, ImportedJob), one
    return one


def reason(found: Sequence[Found]) -> str:
    """Return why the only definition of an import became no job."""
    (one,) = found
    assert isinstance(one, RefusedDefinition), one
    return one.reason


def crontab(line: str, timezone: str | None = BERLIN, **more: Any) -> list[Found]:
    """Read a crontab."""
    return read_crontab(line, given(timezone, **more))


def schedule(expression: str, zone: str = BERLIN, **more: Any) -> list[Found]:
    """Read a schedule of EventBridge Scheduler."""
    about = {"Name": "report", "ScheduleExpression": expression, "ScheduleExpressionTimezone": zone}
    target = {"Arn": FUNCTION, **more.pop("target", {})}
    return read_eventbridge(json.dumps({**about, "Target": target, **more}), given())


def cron_job(expression: str, timezone: str | None = BERLIN, **spec: Any) -> list[Found]:
    """Read a CronJob."""
    about = {"kind": "CronJob", "metadata": {"name": "report"}, "spec": {"schedule": expression, **spec}}
    return read_kubernetes(json.dumps(about), given(timezone))


def compared(one: ImportedJob) -> Comparison:
    """Compare a job with its origin."""
    return Comparer(NOW).compare(one)


def local(instants: Sequence[int], zone: str = BERLIN) -> list[str]:
    """Return instants (ms) as local times with their offsets."""
    clock = load_zone(zone)
    texts = []
    for at in instants:
        seconds = at // SECOND_MS
        offset = timezone(timedelta(seconds=clock.offsets[clock.period_at(seconds)]))
        texts.append(datetime.fromtimestamp(seconds, UTC).astimezone(offset).strftime("%m-%d %H:%M%z"))
    return texts


def on(day: str, one: ImportedJob, zone: str = BERLIN) -> list[str]:
    """Return when the origin runs a definition on a day of 2027, by local clocks."""
    from_at = parse_instant(f"2027-{day}T00:00:00Z") - 86_400_000
    return [text for text in local(one.origin.fires(from_at, from_at + 3 * 86_400_000), zone) if text.startswith(day)]
