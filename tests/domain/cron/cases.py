"""Random cron expressions for the comparisons with the oracle; the same seed gives the same expressions."""

from collections.abc import Iterator
from random import Random

from timeball.domain.time.cron import CronFields
from timeball.domain.time.stepper import DstOverlap, Gap, next_fire
from timeball.domain.time.zones import Zone

ZONES = (
    "Africa/Cairo",
    "Africa/Casablanca",
    "Africa/El_Aaiun",
    "America/Havana",
    "America/New_York",
    "America/Santiago",
    "America/St_Johns",
    "Antarctica/Troll",
    "Asia/Beirut",
    "Asia/Gaza",
    "Asia/Kolkata",
    "Asia/Tehran",
    "Atlantic/Azores",
    "Australia/Lord_Howe",
    "Europe/Berlin",
    "Europe/Dublin",
    "Pacific/Apia",
    "Pacific/Chatham",
)
"""Zones with every kind of clock change.

Gaps and repeats of half an hour (Lord Howe), of two hours (Troll), and at midnight (Havana, Beirut, Cairo, Azores,
Santiago); odd offsets (Chatham, St John's), inverted names (Dublin), two changes around Ramadan (Casablanca, El Aaiun,
Gaza), and no changes (Kolkata, Tehran, Apia).
"""

WEEKDAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")


def seeded(seed: str) -> Random:
    """Return the randomness of one case."""
    return Random(seed)  # noqa: S311 - a case must be replayable


def times(random: Random) -> str:
    """Write a minute and an hour field that often fall on a clock change."""
    minute = random.choice(
        (
            *(
                "0",
                "30",
                "0,30",
                "15,45",
                "59",
                "1",
                "0-59",
                "10-40",
                "*",
                "*/5",
                "*/15",
                "*/20",
                "5/25",
                "10-50/20",
            ),
            str(random.randrange(60)),
        )
    )
    near_change = ("0", "1", "2", "3", "23", "0,1,2,3", "22-23,0-4", "1-3", "2,14", "0/3", "1-23/2", "*/2")
    hour = random.choice((*near_change, *near_change, "*", "*", "12", "*/3", "*/6", str(random.randrange(24))))
    return f"{minute} {hour}"


def days(random: Random) -> str:
    """Write the three fields of the date, mostly without restriction."""
    day_of_month = random.choice((*["*"] * 6, "?", "*/2", "1-31", "L", "25-31", "1-7", "LW", "L-2"))
    day_of_week = random.choice((*["*"] * 6, "?", "0", "SUN", "5-7", "MON-FRI", "SUNL", "6", "0#2", "4L", "*/2"))
    month = random.choice((*["*"] * 6, "MAR,OCT", "2-4,9-11", "*/3"))
    return f"{day_of_month} {month} {day_of_week}"


def _number_item(random: Random, low: int, high: int, names: tuple[str, ...] = ()) -> str:
    """Write a value, a range or a step, sometimes with names."""

    def write(value: int) -> str:
        return random.choice((names[value - low], names[value - low].lower())) if named else str(value)

    named = bool(names) and random.random() < 0.5
    first = random.randint(low, min(high, low + len(names) - 1) if named else high)
    last = random.randint(first, min(high, low + len(names) - 1) if named else high)
    step = random.randint(1, 7)
    return random.choice(
        (write(first), write(first), f"{write(first)}-{write(last)}", f"{write(first)}-{write(last)}/{step}")
    )


def _list(random: Random, *items: str) -> str:
    return ",".join(random.sample(items, random.choice((1, 1, 1, 2, 3))))


def day_of_month(random: Random) -> str:
    """Write any day-of-month field."""
    if random.random() < 0.3:
        return random.choice(("*", "?", "*/2", "*/5", "*/10", "*/30", "*,15"))
    special = random.choice(("L", "LW", f"L-{random.randint(1, 30)}", f"{random.randint(1, 31)}W"))
    workday = f"{random.randint(1, 31)}W"
    return _list(random, special, workday, *(_number_item(random, 1, 31) for _ in range(3)))


def day_of_week(random: Random) -> str:
    """Write any day-of-week field."""
    if random.random() < 0.3:
        return random.choice(("*", "?", "*/2", "*/3", "*,MON"))
    day = random.choice((str(random.randint(0, 7)), random.choice(WEEKDAYS)))
    special = random.choice((f"{day}L", f"{day}#{random.randint(1, 5)}"))
    fifth = f"{random.randint(0, 7)}#5"
    return _list(random, special, fifth, *(_number_item(random, 0, 7, WEEKDAYS) for _ in range(2)))


def month(random: Random) -> str:
    """Write any month field."""
    if random.random() < 0.5:
        return "*"
    return _list(random, "2", "FEB", *(_number_item(random, 1, 12, MONTHS) for _ in range(2)))


def fires(
    fields: CronFields, zone: Zone, after_at: int, gap: Gap | None = None, overlap: DstOverlap | None = None
) -> Iterator[int]:
    """List all fires strictly after an instant, in order."""
    at = next_fire(fields, zone, after_at, gap, overlap)
    while at is not None:
        yield at
        at = next_fire(fields, zone, at, gap, overlap)
