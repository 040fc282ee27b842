"""Schedules in words: a table of texts, and that no text stands for two schedules with different fires."""

from collections import defaultdict
from collections.abc import Sequence
from itertools import islice

import pytest

from tests.domain.cron.cases import ZONES, days, seeded, times
from timeball.domain.time.cron import parse_cron
from timeball.domain.time.instants import HOUR_MS, LATEST, SECOND_MS, InvalidSchedule, parse_instant
from timeball.domain.time.schedule import At, Cron, Every, OnEvents, Schedule, fires
from timeball.domain.time.stepper import DstOverlap, Gap
from timeball.domain.time.words import schedule_text
from timeball.domain.time.zones import load_zone

AT = parse_instant("2026-11-21T09:30:00Z")

TEXTS = {
    # times of day
    "0 9 * * *": "every day at 09:00",
    "0 9,17 * * *": "every day at 09:00 and 17:00",
    "0 0,12 * * *": "every day at 00:00 and 12:00",
    "*/30 9 * * *": "every day at 09:00 and 09:30",
    "@daily": "every day at 00:00",
    # intervals
    "* * * * *": "every minute",
    "*/15 * * * *": "every 15 minutes",
    "5/10 * * * *": "every 10 minutes from 00:05",
    "0 * * * *": "every hour",
    "@hourly": "every hour",
    "15 * * * *": "every hour from 00:15",
    "0 */2 * * *": "every 2 hours",
    "15 1/2 * * *": "every 2 hours from 01:15",
    "0 9-17 * * *": "every hour from 09:00 to 17:00",
    "0-29 9 * * *": "every minute from 09:00 to 09:29",
    "3,17,44 * * * *": "at the minutes 3, 17 and 44 of every hour",
    "3,17,44 9-12 * * *": "at the minutes 3, 17 and 44 of the hours 9 to 12",
    # weekdays
    "0 9 * * MON-FRI": "weekdays at 09:00",
    "0 9 ? * 6,0": "weekends at 09:00",
    "0 9 * * 5": "Fridays at 09:00",
    "0 9 * * 1,2,3,5": "Mondays to Wednesdays and Fridays at 09:00",
    "0 9 * * 5-7": "Fridays to Sundays at 09:00",
    "0 9 * * 5L": "the last Friday of the month at 09:00",
    "0 9 * * 5#2": "the second Friday of the month at 09:00",
    "0 9 * 1 5#2": "the second Friday of January at 09:00",
    "0 9 * * 1,5L": "Mondays and the last Friday of the month at 09:00",
    "*/15 9-17 * * 1-5": "weekdays, every 15 minutes from 09:00 to 17:45",
    # dates
    "0 0 1,15 * *": "the 1st and the 15th of the month at 00:00",
    "0 0 1-7,22 * *": "the 1st to the 7th and the 22nd of the month at 00:00",
    "0 0 */2 * *": "every 2nd day from the 1st to the 31st of the month at 00:00",
    "0 0 L * ?": "the last day of the month at 00:00",
    "0 0 LW * *": "the last working day of the month at 00:00",
    "0 0 15W * *": "the working day nearest the 15th of the month at 00:00",
    "0 0 L-3 * *": "the 3rd day before the last day of the month at 00:00",
    "0 0 1,L * *": "the 1st and the last day of the month at 00:00",
    # months
    "0 9 * 7 *": "every day in July at 09:00",
    "@yearly": "the 1st of January at 00:00",
    "0 9 1 */3 *": "the 1st of January, April, July and October at 09:00",
    "*/15 * * 7,8 1-5": "weekdays in July and August, every 15 minutes",
    # both day fields: either matches, unless one of them begins with a star
    "0 9 13 * 5": "the 13th of the month, and Fridays at 09:00",
    "0 9 13 1 5": "the 13th of January, and Fridays in January at 09:00",
    "0 9 1-31 * 5": "every day at 09:00",
    "0 9 */31 * 5": "Fridays that are the 1st of the month at 09:00",
    # no short words: the expression
    "*/7 * * * *": "*/7 * * * *",
    "0 9 1,3,4,7,9,11,13,20 * *": "0 9 1,3,4,7,9,11,13,20 * *",
    "0 9 * 1 1,5L": "0 9 * 1 1,5L",
}


@pytest.mark.parametrize(("expression", "text"), TEXTS.items(), ids=TEXTS)
def test_a_cron_expression_in_words(expression: str, text: str) -> None:
    assert schedule_text(Schedule(Cron(expression, "Europe/Berlin"))) == f"{text}, Europe/Berlin"


CLOCKS = [
    (Cron("30 2 * * *", "Europe/Berlin", gap=Gap.SKIP), ", not where clocks skip that time"),
    (Cron("30 2 * * *", "Europe/Berlin", overlap=DstOverlap.BOTH), ", twice where clocks repeat that time"),
    (Cron("30 2 * * *", "Europe/Berlin", Gap.NEXT, DstOverlap.FIRST), ""),  # what the words imply
    (Cron("30 2 * * *", "UTC", Gap.SKIP, DstOverlap.BOTH), ""),  # no clock changes
    (Cron("0 9 * * *", "Europe/Berlin", Gap.SKIP, DstOverlap.BOTH), ""),  # none at that time
    (
        Cron("0 0-23 * * *", "Europe/Berlin"),  # a list of times, in the words of an interval
        ", at the jump where clocks skip that time, once where clocks repeat that time",
    ),
]


@pytest.mark.parametrize(("timing", "ending"), CLOCKS)
def test_words_say_the_effect_of_clock_changes_that_they_do_not_imply(timing: Cron, ending: str) -> None:
    assert schedule_text(Schedule(timing)).endswith(f", {timing.timezone}{ending}")


OTHERS = [
    (Schedule(At(AT)), "once at 2026-11-21 09:30 UTC"),
    (Schedule(At(AT + 1)), "once at 2026-11-21 09:30:00.001 UTC"),
    (Schedule(Every(900, AT)), "every 15 minutes, counted from 2026-11-21 09:30 UTC"),
    (Schedule(Every(90, AT + 5_000)), "every 90 seconds, counted from 2026-11-21 09:30:05 UTC"),
    (Schedule(Every(86_400, AT)), "every day, counted from 2026-11-21 09:30 UTC"),
    (Schedule(OnEvents()), "on events"),
    (
        Schedule(Cron("0 9 * * *"), AT, AT + 60_000, 3),
        "every day at 09:00, UTC, not before 2026-11-21 09:30 UTC, not after 2026-11-21 09:31 UTC, at most 3 runs",
    ),
]


@pytest.mark.parametrize(("schedule", "text"), OTHERS, ids=[text for _, text in OTHERS])
def test_a_schedule_of_another_form_in_words(schedule: Schedule, text: str) -> None:
    assert schedule_text(schedule) == text


FEW_DATES = ("1", "2", "*/2", "1-31", "1,2", "L", "?", "*")
YEARS = parse_instant("1999-06-01T00:00:00Z"), parse_instant("2012-06-01T00:00:00Z")
WATCHED = [parse_instant(f"{day}T00:00:00Z") for day in ("1971-01-01", "2026-03-28", "2026-10-24", "2028-02-26")]


def some_fires(schedule: Schedule) -> list[list[int]]:
    """Return the fires around each change of the zone's clocks in some years, and the next ones after some days."""
    assert isinstance(schedule.timing, Cron)
    changes = [
        at * SECOND_MS for at in load_zone(schedule.timing.timezone).starts if YEARS[0] < at * SECOND_MS < YEARS[1]
    ]
    around = [[*fires(schedule, at - 4 * HOUR_MS, at + 4 * HOUR_MS)] for at in changes]
    return [*around, *([*islice(fires(schedule, from_at, LATEST), 50)] for from_at in WATCHED)]


def random_schedule(seed: str, zones: Sequence[str]) -> Schedule | None:
    random = seeded(seed)
    zone = random.choice(zones)
    date = days(random) if random.random() < 0.6 else f"{random.choice(FEW_DATES)} * 1"
    expression = f"{times(random)} {date}"
    try:
        parse_cron(expression)
    except InvalidSchedule:
        return None
    return Schedule(Cron(expression, zone, random.choice((None, *Gap)), random.choice((None, *DstOverlap))))


@pytest.mark.parametrize("part", range(6))
def test_two_schedules_with_the_same_text_have_the_same_fires(part: int) -> None:
    by_text: dict[str, set[Schedule]] = defaultdict(set)
    for number in range(2_500):
        schedule = random_schedule(f"words {part} {number}", ZONES[part::6])
        if schedule is not None:
            by_text[schedule_text(schedule)].add(schedule)
    shared = {text: same for text, same in by_text.items() if len(same) > 1}
    assert len(shared) > 60
    for text, (first, *others) in shared.items():
        expected = some_fires(first)
        assert all(some_fires(other) == expected for other in others), text
