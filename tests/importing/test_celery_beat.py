"""A `beat_schedule`: Celery's rule where clocks change, and what becomes of each entry."""

from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from celery import Celery
from celery.schedules import crontab, schedule

from tests.importing.imports import compared, given, job, on, reason
from timeball.importing.celery_beat import read_beat, read_celery_json
from timeball.importing.definitions import Found, UnreadableError


def entry(when: Any, **more: Any) -> list[Found]:
    return read_beat({"nightly": {"task": "shop.report", "schedule": when, **more}}, given())


@pytest.mark.parametrize(
    ("when", "spring", "autumn", "differs"),
    [
        # A skipped time runs later by the length of the gap: half an hour after Timeball's own.
        (crontab(minute=30, hour=2), ["03:30+0200"], ["02:30+0200"], 2),
        # Only the first of several skipped times runs, at the end of the gap: once, as here.
        (crontab(minute="0,30", hour=2), ["03:00+0200"], ["02:00+0200", "02:30+0200"], 0),
        # A repeated hour is silent the second time.
        (crontab(minute=15, hour="1-3"), ["01:15+0100", "03:15+0200"], ["01:15+0200", "02:15+0200", "03:15+0100"], 1),
    ],
)
def test_celery_goes_by_the_calendar(when: crontab, spring: list[str], autumn: list[str], differs: int) -> None:
    one = job(entry(when))

    assert on("03-28", one) == [f"03-28 {time}" for time in spring]
    assert on("10-31", one) == [f"10-31 {time}" for time in autumn]
    assert len(compared(one).differences) == differs


@pytest.mark.parametrize(
    ("when", "expression"),
    [
        (crontab(minute="*/90", hour=3), "0 3 * * *"),
        (crontab(minute=0, hour=3, day_of_week="5-1"), "0 3 * * 0-1,5-6"),  # its ranges wrap around
        (crontab(minute=0, hour=3, day_of_week="monday"), "0 3 * * 1"),
        (crontab(minute={0, 30}, hour=[3, 4]), "0,30 3,4 * * *"),
        (crontab(minute=0, hour=3, day_of_week=1, day_of_month="1-7"), "0 3 */31,2-7 * 1"),  # both days must match
        (crontab(minute=0, hour=3, day_of_week="0,3", day_of_month="2-9"), "0 3 2-9 * */7,3"),
        (crontab(minute=0, hour=3, day_of_week=3, day_of_month="8-14"), "0 3 * * 3#2"),
    ],
)
def test_an_expression_keeps_its_meaning(when: crontab, expression: str) -> None:
    one = job(entry(when))

    assert one.body["cronExpression"] == expression
    assert compared(one).differences == ()


@pytest.mark.parametrize(
    ("when", "part"),
    [
        (crontab(minute=0, hour=3, day_of_week=3, day_of_month="2-20"), "No single expression"),
        (SimpleNamespace(event="sunset", lat=52.5, lon=13.4), "A solar schedule follows the sun"),
        (0.5, "whole seconds"),
        ("hourly", "no schedule that can be read"),
        (None, "a task and a schedule"),
        ({"crontab": {"minutes": 5}}, "no argument minutes"),
        ({"crontab": {"minute": 5.5}}, "takes no 5.5"),
        ({"crontab": {"minute": "5/15"}}, "refuses the minute"),
    ],
)
def test_an_entry_that_becomes_no_job_has_a_sentence(when: Any, part: str) -> None:
    assert part in reason(entry(when))


@pytest.mark.parametrize("when", [90, 90.0, timedelta(seconds=90), schedule(90), {"every": 90}])
def test_an_interval_becomes_one(when: Any) -> None:
    one = job(entry(when, args=(1,), kwargs={"a": 2}, options={"queue": "slow"}))

    assert one.body["everySeconds"] == 90
    assert one.body["payload"] == {"task": "shop.report", "args": [1], "kwargs": {"a": 2}}
    assert any("options is not taken over" in note for note in one.notes)
    assert compared(one).differences == ()


def test_arguments_that_are_no_json_are_refused() -> None:
    assert "no JSON" in reason(entry(90, args=(object(),)))


def test_a_schedule_is_found_in_an_app_a_module_and_json() -> None:
    app = Celery(set_as_current=False)
    app.conf.timezone = "Asia/Tokyo"
    app.conf.beat_schedule = {"nightly": {"task": "t", "schedule": crontab(hour=3, minute=0)}}
    settings = SimpleNamespace(CELERY_TIMEZONE="Asia/Tokyo", CELERY_BEAT_SCHEDULE=app.conf.beat_schedule)
    text = """{"timezone": "Asia/Tokyo", "beat_schedule": {"nightly":
        {"task": "t", "schedule": {"crontab": {"hour": 3, "minute": 0}}}}}"""
    found = [
        read_beat(app, given(None)),
        read_beat(SimpleNamespace(app=app), given(None)),
        read_beat(settings, given(None)),
        read_celery_json(text, given(None)),
    ]

    assert [job(one).body["timezone"] for one in found] == ["Asia/Tokyo"] * 4
    assert len({str(job(one).body) for one in found}) == 1


@pytest.mark.parametrize("text", ["{", "[]", '{"a": 1}'])
def test_a_text_without_a_schedule_is_refused(text: str) -> None:
    with pytest.raises(UnreadableError):
        read_celery_json(text, given())


def test_a_module_without_a_schedule_is_refused() -> None:
    with pytest.raises(UnreadableError):
        read_beat(SimpleNamespace(), given())
