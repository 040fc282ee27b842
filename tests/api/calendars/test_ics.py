"""iCalendar files: the dates that their events take, the sentence of each refusal, and that no file costs much."""

import pytest

from tests.api.client import NOW, Api
from tests.effort import at_most
from timeball.api.calendars.ics import MAX_CHARACTERS, MAX_EVENTS, merged, read_ics

BERLIN = "Europe/Berlin"


def file(*events: str, before: str = "") -> str:
    """Return a file with these events; `|` separates the lines of an event."""
    lines = ["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//test//", *before.split("|")]
    for number, event in enumerate(events, start=1):
        uid = [] if "UID:" in event else [f"UID:{number}"]
        lines += ["BEGIN:VEVENT", *uid, *event.split("|"), "END:VEVENT"]
    return "".join(f"{line}\r\n" for line in [*lines, "END:VCALENDAR"] if line)


def days(*texts: str, timezone: str = BERLIN, before: str = "") -> list[str]:
    """Return the dates that a file takes: each as a date, or as `first/last`."""
    found, faults = read_ics(file(*texts, before=before), timezone, NOW)
    assert faults == []
    return [str(first) if first == last else f"{first}/{last}" for first, last in found]


ALL_DAY = "DTSTART;VALUE=DATE:20261225"
EVENING = "DTSTART;TZID=Europe/Berlin:20261224T180000"


# It is 21 November 2026. Each case is an event and the dates that it takes in Berlin.
@pytest.mark.parametrize(
    ("event", "taken"),
    [
        (ALL_DAY, ["2026-12-25"]),  # without an end it is one day
        (f"{ALL_DAY}|DTEND;VALUE=DATE:20261227", ["2026-12-25/2026-12-26"]),  # the end is exclusive
        (f"{ALL_DAY}|DTEND;VALUE=DATE:20261225", ["2026-12-25"]),  # some programs write one day like this
        (f"{ALL_DAY}|DURATION:P3D", ["2026-12-25/2026-12-27"]),
        (f"{ALL_DAY}|DURATION:PT5H", ["2026-12-25"]),
        (EVENING, ["2026-12-24"]),  # an instant
        (f"{EVENING}|DTEND;TZID=Europe/Berlin:20261225T000000", ["2026-12-24"]),  # until midnight, and no longer
        (f"{EVENING}|DURATION:PT7H", ["2026-12-24/2026-12-25"]),
        ("DTSTART:20261224T233000Z", ["2026-12-25"]),  # in UTC; clocks in Berlin show 00:30
        ("DTSTART:20261224T233000", ["2026-12-24"]),  # floating: local time of the calendar's zone
        ("DTSTART;TZID=America/New_York:20261224T200000", ["2026-12-25"]),
        ("DTSTART;VALUE=DATE:20200101", []),  # long past
        ("DTSTART;VALUE=DATE:20251230|DTEND;VALUE=DATE:20260102", ["2025-12-30/2026-01-01"]),
        ("DTSTART;VALUE=DATE:20401224", []),  # too far ahead
        (f"{ALL_DAY}|STATUS:CANCELLED", []),
        (f"{ALL_DAY}|TRANSP:TRANSPARENT", ["2026-12-25"]),  # common in holiday files
        (
            "DTSTART;VALUE=DATE:19901225|RRULE:FREQ=YEARLY",
            [f"{year}-12-25" for year in range(2025, 2032)],
        ),
        (f"{ALL_DAY}|RRULE:FREQ=DAILY;COUNT=3", ["2026-12-25/2026-12-27"]),
        (f"{ALL_DAY}|RRULE:FREQ=DAILY;UNTIL=20261226", ["2026-12-25/2026-12-26"]),
        (f"{EVENING}|RRULE:FREQ=DAILY;UNTIL=20261225T170000Z", ["2026-12-24/2026-12-25"]),  # includes 18:00 in Berlin
        (f"{EVENING}|RRULE:FREQ=DAILY;UNTIL=20261225T165959Z", ["2026-12-24"]),
        (
            f"{ALL_DAY}|RRULE:FREQ=MONTHLY;COUNT=2;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1",
            ["2026-12-25", "2026-12-31", "2027-01-29"],
        ),
        (f"{ALL_DAY}|RDATE;VALUE=DATE:20261231,20270106", ["2026-12-25", "2026-12-31", "2027-01-06"]),
        (f"{ALL_DAY}|RRULE:FREQ=DAILY;COUNT=3|EXDATE;VALUE=DATE:20261226", ["2026-12-25", "2026-12-27"]),
        (f"{EVENING}|RRULE:FREQ=DAILY;COUNT=3|EXDATE:20261225T170000Z", ["2026-12-24", "2026-12-26"]),
    ],
)
def test_an_event_takes_the_dates_that_it_touches(event: str, taken: list[str]) -> None:
    assert days(event) == taken


def test_a_timed_event_repeats_by_its_own_clock_and_takes_dates_of_the_calendars_zone() -> None:
    event = "DTSTART;TZID=America/New_York:20260301T233000|RRULE:FREQ=WEEKLY;COUNT=2"
    assert days(event, timezone="UTC") == ["2026-03-02", "2026-03-09"]  # 04:30 and, in summer, 03:30
    assert days(event, timezone="Pacific/Honolulu") == ["2026-03-01", "2026-03-08"]


def test_a_moved_occurrence_takes_only_its_new_date() -> None:
    rule = "UID:a|DTSTART;VALUE=DATE:20261225|RRULE:FREQ=DAILY;COUNT=2"
    moved = "UID:a|RECURRENCE-ID;VALUE=DATE:20261226|DTSTART;VALUE=DATE:20270106"
    assert days(rule, moved) == days(moved, rule) == ["2026-12-25", "2027-01-06"]
    floating = (
        "UID:b|DTSTART:20261224T180000|RRULE:FREQ=DAILY;COUNT=2",
        "UID:b|RECURRENCE-ID:20261225T180000|STATUS:CANCELLED|DTSTART:20261225T180000",
    )
    assert days(*floating) == ["2026-12-24"]


def test_a_file_may_bring_its_own_time_zone_and_hold_several_calendars() -> None:
    standard = "BEGIN:STANDARD|DTSTART:19700101T000000|TZOFFSETFROM:+1200|TZOFFSETTO:+1200|END:STANDARD"
    zone = f"BEGIN:VTIMEZONE|TZID:Ours|{standard}|END:VTIMEZONE"
    assert days("DTSTART;TZID=Ours:20261225T080000", before=zone) == ["2026-12-24"]
    text = file(ALL_DAY) + file("DTSTART;VALUE=DATE:20261226")
    assert len(merged(read_ics(text, BERLIN, NOW)[0])) == 1


@pytest.mark.parametrize(
    ("event", "sentence"),
    [
        ("SUMMARY:x", "it needs exactly one beginning (DTSTART)."),
        ("DTSTART;VALUE=DATE:20261301", "its DTSTART cannot be read."),
        (f"{ALL_DAY}|DTEND;VALUE=DATE:20261224", "it ends before it begins."),
        (f"{EVENING}|DTEND;TZID=Europe/Berlin:20261224T170000", "it ends before it begins."),
        (f"{ALL_DAY}|DTEND:20261226T000000Z", "its beginning and its end must both be dates, or both times."),
        ("DTSTART;TZID=Nowhere/Land:20261224T180000", "does not define the time zone Nowhere/Land of its DTSTART."),
        (f"{ALL_DAY}|RRULE:FREQ=HOURLY", "its rule must repeat YEARLY, MONTHLY, WEEKLY, DAILY"),
        (f"{ALL_DAY}|RRULE:FREQ=DAILY;BYHOUR=9,10", "may not name hours, minutes or seconds."),
        (f"{ALL_DAY}|RRULE:FREQ=DAILY;INTERVAL=0", "the INTERVAL of its rule is less than 1."),
        (f"{ALL_DAY}|RRULE:FREQ=OFTEN", "its RRULE cannot be read."),
        (f"{ALL_DAY}|RRULE:FREQ=DAILY|RRULE:FREQ=WEEKLY", "more than one rule"),
        (f"{ALL_DAY}|EXRULE:FREQ=DAILY", "its EXRULE is not part of RFC 5545"),
        (f"{ALL_DAY}|RDATE;VALUE=PERIOD:20261225T000000Z/PT5H", "its RDATE has periods"),
        (f"{ALL_DAY}|RECURRENCE-ID;RANGE=THISANDFUTURE;VALUE=DATE:20261226", "RANGE=THISANDFUTURE"),
        (f"{ALL_DAY}|DTSTART;VALUE=DATE:20261226", "it needs exactly one beginning (DTSTART)."),
    ],
)
def test_each_unsupported_event_is_refused_with_a_sentence(event: str, sentence: str) -> None:
    _, faults = read_ics(file("DTSTART;VALUE=DATE:20261201", event), BERLIN, NOW)
    assert len(faults) == 1, faults
    assert faults[0].startswith("Event 2 (")
    assert sentence in faults[0]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "hello",
        "BEGIN:VCALENDAR\nBEGIN:VEVENT\n",
        "BEGIN:VEVENT\nEND:VEVENT\n",
        file(ALL_DAY)[:-30],
        "BEGIN:VEVENT\n" * 15_000,
    ],
)
def test_a_body_that_is_no_calendar_file_is_refused(text: str) -> None:
    found, faults = read_ics(text, BERLIN, NOW)
    assert (found, len(faults)) == ([], 1)
    assert "BEGIN:VCALENDAR" in faults[0]


def test_each_defect_has_its_sentence_and_the_number_of_sentences_is_bounded() -> None:
    _, faults = read_ics(file("SUMMARY:a", ALL_DAY, "SUMMARY:c"), BERLIN, NOW)
    assert [fault[:11] for fault in faults] == ["Event 1 (a)", "Event 3 (c)"]
    assert len(read_ics(file(*["SUMMARY:x"] * MAX_EVENTS), BERLIN, NOW)[1]) < MAX_EVENTS
    assert f"at most {MAX_EVENTS}" in read_ics(file(*[ALL_DAY] * (MAX_EVENTS + 1)), BERLIN, NOW)[1][0]
    assert "no event" in read_ics(file(), BERLIN, NOW)[1][0]


@pytest.mark.parametrize(
    "rule",
    [
        "DTSTART;VALUE=DATE:00010101|RRULE:FREQ=DAILY;COUNT=99999999;BYMONTH=2;BYMONTHDAY=30",  # never
        pytest.param("DTSTART;VALUE=DATE:00010101|RRULE:FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30", marks=pytest.mark.more),
        pytest.param("DTSTART;VALUE=DATE:00010101|RRULE:FREQ=DAILY", marks=pytest.mark.more),
        f"{ALL_DAY}|RRULE:FREQ=YEARLY;BYYEARDAY={','.join(str(day) for day in range(1, 367))}",
    ],
)
def test_no_file_takes_long(rule: str) -> None:
    text = file(*[rule] * MAX_EVENTS)[:MAX_CHARACTERS]
    with at_most(3_000):
        read_ics(text, BERLIN, NOW)
    with at_most(3_000):
        read_ics(file(*[rule] * 50), BERLIN, NOW)


def test_a_calendar_is_created_from_a_file_and_keeps_its_dates(api: Api) -> None:
    mine, summer = "DTSTART;VALUE=DATE:20261227", "DTSTART;VALUE=DATE:20270701|DTEND;VALUE=DATE:20270815"
    body = {"timezone": BERLIN, "dates": ["2026-12-24"], "ics": file(mine, summer, mine)}
    made = api.call("PUT", "/v1/calendars/closed", body)
    assert (made.status, made.body["dates"]) == (201, ["2026-12-24", "2026-12-27"])
    assert made.body["ranges"] == [{"from": "2027-07-01", "to": "2027-08-14"}]
    assert api.call("PUT", "/v1/calendars/closed", body).body["version"] == 1
    named = api.call("POST", "/v1/calendars", {"name": "other", "timezone": "UTC", "ics": file(ALL_DAY)})
    assert (named.status, named.body["dates"]) == (201, ["2026-12-25"])


def test_a_long_list_of_short_stretches_becomes_dates(api: Api) -> None:
    body = {"timezone": "UTC", "ics": file("DTSTART;VALUE=DATE:20251227|DTEND;VALUE=DATE:20251229|RRULE:FREQ=WEEKLY")}
    weekends = api.call("PUT", "/v1/calendars/weekends", body).body
    assert len(weekends["ranges"]) == 100
    assert len(weekends["ranges"]) * 2 + len(weekends["dates"]) == 2 * 314


@pytest.mark.parametrize(
    ("ics", "sentence"),
    [
        ("hello", "BEGIN:VCALENDAR"),
        ("x" * (MAX_CHARACTERS + 1), f"{MAX_CHARACTERS}"),
        (file(ALL_DAY.replace("2026", "2025") + "|RRULE:FREQ=DAILY;INTERVAL=2"), "at most 1000"),
    ],
)
def test_a_bad_file_stores_nothing(api: Api, ics: str, sentence: str) -> None:
    answer = api.call("PUT", "/v1/calendars/closed", {"timezone": "UTC", "ics": ics})
    assert (answer.status, answer.bad_fields()) == (400, ["ics"])
    assert sentence in str(answer.body["errors"])
    assert api.store.calendars == {}
