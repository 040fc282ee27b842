"""More than a hundred schedules of public projects, in two zones, over 400 days that cross both changes of clocks."""

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from celery import Celery
from celery.schedules import crontab as celery_crontab
from cronsim import CronSim

from tests.importing.facts import BEATS, CRON_JOBS, CRONTABS, SCHEDULES
from tests.importing.imports import BERLIN, FUNCTION, NOW, given
from timeball.domain.time.instants import SECOND_MS, parse_instant
from timeball.importing.celery_beat import read_celery_json
from timeball.importing.comparing import Comparer, Comparison
from timeball.importing.crontab import read_crontab
from timeball.importing.definitions import Found, ImportedJob
from timeball.importing.eventbridge import read_eventbridge
from timeball.importing.kubernetes import read_kubernetes
from timeball.importing.report import report

ZONES = (BERLIN, "America/New_York")


def crontabs(zone: str) -> list[Found]:
    return read_crontab("\n".join(f"{line} echo" for _, line in CRONTABS), given(zone))


def schedules(zone: str) -> list[Found]:
    documents = [
        {"Name": text, "ScheduleExpression": text, "ScheduleExpressionTimezone": zone, "Target": {"Arn": FUNCTION}}
        for _, text in SCHEDULES
    ]
    return read_eventbridge(json.dumps(documents), given())


def cron_jobs(zone: str) -> list[Found]:
    documents = [{"kind": "CronJob", "metadata": {"name": text}, "spec": {"schedule": text}} for _, text in CRON_JOBS]
    return read_kubernetes(json.dumps(documents), given(zone))


def beats(zone: str) -> list[Found]:
    entries = {str(number): {"task": "t", "schedule": {"crontab": one}} for number, (_, one) in enumerate(BEATS)}
    return read_celery_json(json.dumps(entries), given(zone))


ORIGINS = (crontabs, schedules, cron_jobs, beats)


def test_there_are_more_than_a_hundred_facts_and_none_is_repeated() -> None:
    facts = [[str(schedule) for _, schedule in of] for of in (CRONTABS, SCHEDULES, CRON_JOBS, BEATS)]

    assert [len(set(of)) for of in facts] == [len(of) for of in facts]
    assert sum(len(of) for of in facts) >= 100


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("read", ORIGINS)
def test_a_fact_becomes_a_job_that_fires_as_its_origin_would(read: Callable[[str], list[Found]], zone: str) -> None:
    comparer = Comparer(NOW)
    found = read(zone)
    comparisons = [comparer.compare(one) if isinstance(one, ImportedJob) else None for one in found]

    lines = [line for line in report(found, comparisons) if not line.startswith("  ")]
    assert [line for line in lines[:-1] if not line.endswith(f", as {_origin(found)} would.")] == []
    assert lines[-1] == f"{len(found)} definitions: {len(found)} jobs, 0 without one, 0 that differ."


def _origin(found: Sequence[Found]) -> str:
    (name,) = {one.origin.name for one in found if isinstance(one, ImportedJob)}
    return name


CHANGES = ("2027-03-27T12:00:00Z", "2027-10-30T12:00:00Z")


@pytest.mark.parametrize("begins", CHANGES)
def test_the_model_of_celery_does_what_celery_does(begins: str) -> None:
    """The model is compared with the library itself, beside both changes of the clocks."""
    from_at = parse_instant(begins) + 30 * SECOND_MS
    more = (
        {"minute": 30, "hour": 2},
        {"minute": "0,30", "hour": "2"},
        {"minute": "*/30"},
        {"minute": 15, "hour": "1-3"},
    )
    for fields in (*(one for _, one in BEATS), *more):
        through_at = from_at + 36 * 3600 * SECOND_MS
        (one,) = read_celery_json(json.dumps({"a": {"task": "t", "schedule": {"crontab": fields}}}), given())
        assert isinstance(one, ImportedJob)
        assert one.origin.fires(from_at, through_at) == _by_celery(fields, from_at, through_at), fields


def _by_celery(fields: Mapping[str, object], from_at: int, through_at: int) -> list[int]:
    """Return the fires of a beat that begins at an instant and looks whenever Celery says so."""
    zone, moment = ZoneInfo(BERLIN), datetime.fromtimestamp(from_at / 1000, UTC)
    app = Celery(set_as_current=False)
    app.conf.timezone = BERLIN
    schedule = celery_crontab(app=app, nowfun=lambda: moment.astimezone(zone), **fields)
    last, found = moment.astimezone(zone), []
    while moment.timestamp() * 1000 <= through_at:
        due, wait = schedule.is_due(last)
        if due:
            found.append(int(moment.timestamp() // 60) * 60 * SECOND_MS)
            last = moment.astimezone(zone)
        moment += timedelta(seconds=max(wait, 1))
    return found


@pytest.mark.parametrize("begins", CHANGES)
def test_the_model_of_cronie_agrees_with_another_library(begins: str) -> None:
    """cronsim follows Debian's cron, which has the same rule as cronie; it runs a skipped time once."""
    from_at = parse_instant(begins)
    through_at = from_at + 36 * 3600 * SECOND_MS
    for line in [*(line for _, line in CRONTABS if line[0] != "@"), "30 2 * * *", "*/20 2 * * *", "15 * * * *"]:
        (one,) = read_crontab(f"{line} echo", given())
        assert isinstance(one, ImportedJob)
        start = datetime.fromtimestamp(from_at / 1000 - 1, ZoneInfo(BERLIN))
        theirs = []
        for moment in CronSim(line, start):
            if moment.timestamp() * 1000 > through_at:
                break
            theirs.append(int(moment.timestamp() * 1000))
        assert one.origin.fires(from_at, through_at) == theirs, line


def test_equal_schedules_are_compared_once() -> None:
    class Counted(Comparer):
        times = 0

        def _compare(self, *about: Any) -> Comparison:
            self.times += 1
            return super()._compare(*about)

    comparer = Counted(NOW)
    for one in read_crontab("5 * * * * a\n5 * * * * b\n6 * * * * c", given()):
        assert isinstance(one, ImportedJob)
        comparer.compare(one)

    assert comparer.times == 2
