"""Expressions that parse_cron accepts, and the sentences with which it refuses the others."""

import pytest

from timeball.domain.time.cron import parse_cron
from timeball.domain.time.instants import InvalidSchedule

SAME = (
    # two spellings of the same expression
    ("@hourly", "0 * * * *"),
    ("@daily", "0 0 * * *"),
    ("@midnight", "@daily"),
    ("@weekly", "0 0 * * 0"),
    ("@monthly", "0 0 1 * *"),
    ("@yearly", "0 0 1 1 *"),
    ("@Annually", "@yearly"),
    ("0 0 * jan mon", "0 0 * 1 1"),
    ("0 0 * JAN-Mar Mon-FRI", "0 0 * 1-3 1-5"),
    ("0 0 * * 7", "0 0 * * 0"),
    ("0 0 * * 5-7", "0 0 * * 0,5,6"),
    ("0 0 * * FRI-SUN", "0 0 * * 5-7"),  # Sunday is 7 too
    ("0 0 * * MON-SUN", "0 0 * * *"),
    ("0 0 * * SUN-SUN", "0 0 * * SUN"),
    ("0 0 * * SUN-TUE", "0 0 * * 0-2"),
    ("0 0 * * 0-7", "0 0 * * *"),
    ("0 0 * * 1/2", "0 0 * * 1,3,5"),
    ("0 0 * * 7L", "0 0 * * sunl"),
    ("0 0 * * 7#2", "0 0 * * SUN#2"),
    ("59-59 * * * *", "59 * * * *"),
    ("5/15 * * * *", "5-59/15 * * * *"),
    ("*/60 */24 * * *", "0/60 0/24 * * *"),
    ("0 0 ? * ?", "0 0 * * *"),
    ("00 08 01 01 *", "0 8 1 1 *"),
    ("3,1,2,1 * * * *", "1-3 * * * *"),
    (" 0\t0  * * *\n", "0 0 * * *"),
    ("0 0 31,L * *", "0 0 L * *"),
)


@pytest.mark.parametrize(("one", "other"), SAME)
def test_two_expressions_that_mean_the_same_are_equal(one: str, other: str) -> None:
    assert parse_cron(one) == parse_cron(other)
    assert hash(parse_cron(one)) == hash(parse_cron(other))


FIXED = (
    ("0 0 * * *", True),
    ("0,30 1-3 * * *", True),
    ("0-59 0-23 * * *", True),
    ("0 0 */2 * */3", True),  # only the time of day counts
    ("@daily", True),
    ("@hourly", False),
    ("0 * * * *", False),
    ("* 2 * * *", False),
    ("*/5 2 * * *", False),
    ("0 2/3 * * *", False),
    ("10-40/10 2 * * *", False),
    ("5,*/30 2 * * *", False),
)


@pytest.mark.parametrize(("expression", "fixed"), FIXED)
def test_an_expression_is_fixed_unless_its_time_of_day_has_a_star_or_a_step(expression: str, *, fixed: bool) -> None:
    assert parse_cron(expression).fixed is fixed


ACCEPTED = (
    "0 0 29 2 *",
    "0 0 31 1,4 *",
    "0 0 30 2 MON",  # either-rule: Mondays
    "0 0 31 2 0#5",  # either-rule, once in 28 years at the least
    "0 0 */29 * *",
    "0 0 L-30 * *",
    "0 0 L-28 2 *",
    "0 0 * 2 6#5",  # a leap year that ends February on a Saturday
    "0 0 1W,15W,LW,L-3,31 * 1L,2#3,FRI",
    ",".join(["0"] * 124) + " 0 * * *",  # 255 characters
)


@pytest.mark.parametrize("expression", ACCEPTED)
def test_an_expression_that_fires_is_accepted_however_seldom(expression: str) -> None:
    assert parse_cron(expression).expression == expression


MINUTES = "write a number from 0 to 59"
HOURS = "write a number from 0 to 23"
ITEMS = "a range a-b, a list a,b or a step */n."
SPECIALS = "write L, L-n, LW, nW or ? in day-of-month, and nL, n#k or ? in day-of-week, each between commas."
NO_SUCH_DAY = (
    "never fires, because its months have no such day; write a day that they have, or L for the last day of the month."
)
YEAR_LAST = "The cron expression has six fields, the last of them a year; write"
BOUND_IT = "with weekdays by name, and bound it with startAt and endAt."
NOT_ASCII = "write only digits, English names and the signs * , - / ? #."
LONE_COMMA = "has a comma with nothing beside it; write values with single commas between them."
REFUSED = (
    ("", 'The cron expression is empty; write five fields, such as "0 9 * * MON-FRI".'),
    (" \t", 'The cron expression is empty; write five fields, such as "0 9 * * MON-FRI".'),
    (
        "0 0 * * *" + " " * 248,
        "The cron expression has 257 characters; write at most 256, or split it into several jobs.",
    ),
    (
        "0 0 * *",
        "The cron expression has 4 fields; write five: minute, hour, day-of-month, month and day-of-week.",
    ),
    (
        "daily",
        "The cron expression has 1 field; write five: minute, hour, day-of-month, month and day-of-week.",
    ),
    (
        "*/10 * * * * *",
        (
            'The cron expression has six fields, the first of them seconds; write "* * * * *", '
            "or use everySeconds for less than a minute."
        ),
    ),
    (
        "0 12 * * ? *",
        f'{YEAR_LAST} "0 12 * * ?" {BOUND_IT}',
    ),
    (
        "0 12 1 1 * 2027",
        f'{YEAR_LAST} "0 12 1 1 *" {BOUND_IT}',
    ),
    (
        "0 0 12 ? * MON 2027",
        f'The cron expression has seven fields, with seconds and a year; write "0 12 ? * MON" {BOUND_IT}',
    ),
    (
        "@reboot",
        ("@reboot names no instant, because nothing here boots; write @hourly or @daily, or trigger the job by hand."),
    ),
    (
        "@fortnightly",
        (
            '"@fortnightly" is no known nickname; write five fields or one of '
            "@hourly, @daily, @midnight, @weekly, @monthly, @yearly, @annually."
        ),
    ),
    (
        "H 3 * * *",
        f'The minute "H" asks for a hashed value; {MINUTES}, and jitterSeconds to spread the load.',
    ),
    (
        "0 h(0-7) * * *",
        f'The hour "H(0-7)" asks for a hashed value; {HOURS}, and jitterSeconds to spread the load.',
    ),
    (
        "R 3 * * *",
        f'The minute "R" asks for a random value; {MINUTES}, and jitterSeconds to spread the load.',
    ),
    (
        "0 R(1-4)/2 * * *",
        f'The hour "R(1-4)/2" asks for a random value; {HOURS}, and jitterSeconds to spread the load.',
    ),
    ("0 22-2 * * *", 'The hour range "22-2" wraps around; write "22-23,0-2".'),
    ("0 22-0 * * *", 'The hour range "22-0" wraps around; write "22-23,0".'),
    ("0 22-4/2 * * *", 'The hour range "22-4/2" wraps around; write "22,0,2,4".'),
    ("0 0 * * FRI-MON", 'The day-of-week range "FRI-MON" wraps around; write "FRI,SAT,SUN,MON".'),
    ("0 0 * * 6-1", 'The day-of-week range "6-1" wraps around; write "SAT,SUN,MON".'),
    ("0 0 * * 7-2", 'The day-of-week range "7-2" wraps around; write "SUN,MON,TUE".'),
    ("0 0 * NOV-FEB *", 'The month range "NOV-FEB" wraps around; write "NOV,DEC,JAN,FEB".'),
    ("0 0 25-5 * *", 'The day-of-month range "25-5" wraps around; write "25-31,1-5".'),
    ("60 * * * *", f"The minute 60 is out of range; {MINUTES}."),
    ("0 24 * * *", f"The hour 24 is out of range; {HOURS}."),
    ("0 0 0 * *", "The day-of-month 0 is out of range; write a number from 1 to 31."),
    ("0 0 32 * *", "The day-of-month 32 is out of range; write a number from 1 to 31."),
    ("0 0 32W * *", "The day-of-month 32 is out of range; write a number from 1 to 31."),
    ("0 0 * 13 *", "The month 13 is out of range; write a number from 1 to 12 or a name from JAN to DEC."),
    ("0 0 * * 8", "The day-of-week 8 is out of range; write a number from 0 to 7 or a name from SUN to SAT."),
    (
        "0 0 * * 8L",
        "The day-of-week 8 is out of range; write a number from 0 to 7 or a name from SUN to SAT.",
    ),
    ("1-99 * * * *", f"The minute 99 is out of range; {MINUTES}."),
    ("*/0 * * * *", 'The step of 0 in "*/0" leads nowhere; write a step from 1 to 60.'),
    (
        "*/90 * * * *",
        (
            'The step in "*/90" is longer than the minute field, which begins anew each time; '
            "write a step from 1 to 60, or use everySeconds for a true interval."
        ),
    ),
    ("0 0 30 2 *", f'"0 0 30 2 *" {NO_SUCH_DAY}'),
    ("0 0 31 2 *", f'"0 0 31 2 *" {NO_SUCH_DAY}'),
    ("0 0 31 APR *", f'"0 0 31 APR *" {NO_SUCH_DAY}'),
    ("0 0 31 4,6,9,11 *", f'"0 0 31 4,6,9,11 *" {NO_SUCH_DAY}'),
    ("0 0 31W 2 ?", f'"0 0 31W 2 ?" {NO_SUCH_DAY}'),
    ("0 0 L-30 2,4 *", f'"0 0 L-30 2,4 *" {NO_SUCH_DAY}'),
    ("0 0 */31 * 3#2", f'"0 0 */31 * 3#2" {NO_SUCH_DAY}'),  # both must match: the 1st is no second Wednesday
    ("0 0 L-0 * *", 'The day-of-month "L-0" is out of range; write L, or L-n with a number n from 1 to 30.'),
    (
        "0 0 L-31 * *",
        'The day-of-month "L-31" is out of range; write L, or L-n with a number n from 1 to 30.',
    ),
    (
        "0 0 * * 1#6",
        'The "#6" in the day-of-week "1#6" is out of range; write a number from 1 to 5 after the #.',
    ),
    (
        "0 0 * * 1#0",
        'The "#0" in the day-of-week "1#0" is out of range; write a number from 1 to 5 after the #.',
    ),
    (
        "0 0 * * L",
        ('The day-of-week "L" does not say which day; write "6L" for the last Saturday of the month, or "SAT".'),
    ),
    ("0 0 * * L5", 'The day-of-week "L5" is the wrong way round; write "5L" for the last one of the month.'),
    ("0 0 1-5W * *", f'The day-of-month "1-5W" is not understood; {SPECIALS}'),
    ("0 0 L-3W * *", f'The day-of-month "L-3W" is not understood; {SPECIALS}'),
    ("0 0 W * *", f'The day-of-month "W" is not understood; {SPECIALS}'),
    ("0 0 * * MON-FRI#2", f'The day-of-week "MON-FRI#2" is not understood; {SPECIALS}'),
    ("0 L * * *", f'The hour "L" is not understood; {SPECIALS}'),
    ("? 0 * * *", f'The minute "?" is not understood; {SPECIALS}'),
    ("0 0 ?,1 * *", 'The day-of-month "?,1" mixes ? with other items; write ? alone, or leave it out.'),
    ("x * * * *", f'The minute "X" is not understood; {MINUTES}, {ITEMS}'),
    ("-5 * * * *", f'The minute "-5" is not understood; {MINUTES}, {ITEMS}'),
    ("+5 * * * *", f'The minute "+5" is not understood; {MINUTES}, {ITEMS}'),
    ("1.5 * * * *", f'The minute "1.5" is not understood; {MINUTES}, {ITEMS}'),
    ("1-2-3 * * * *", f'The minute "1-2-3" is not understood; {MINUTES}, {ITEMS}'),
    ("*-5 * * * *", f'The minute "*-5" is not understood; {MINUTES}, {ITEMS}'),
    ("*/5/5 * * * *", f'The minute "*/5/5" is not understood; {MINUTES}, {ITEMS}'),
    ("*/x * * * *", f'The minute "*/X" is not understood; {MINUTES}, {ITEMS}'),
    ("MON * * * *", f'The minute "MON" is not understood; {MINUTES}, {ITEMS}'),
    (
        "0 0 * MONDAY *",
        (f'The month "MONDAY" is not understood; write a number from 1 to 12 or a name from JAN to DEC, {ITEMS}'),
    ),
    (
        "1,,2 * * * *",
        f'The minute "1,,2" {LONE_COMMA}',
    ),
    (
        "0 0 * * 1,",
        f'The day-of-week "1," {LONE_COMMA}',
    ),
    (
        "٣ * * * *",  # a digit for int(), not for cron
        f"The cron expression contains the character U+0663; {NOT_ASCII}",
    ),
    (
        "0 0 * * *\n0 1 * * *",
        f"The cron expression contains the character U+000A; {NOT_ASCII}",
    ),
)


@pytest.mark.parametrize(("expression", "sentence"), REFUSED)
def test_an_invalid_expression_is_refused_with_a_sentence_that_says_what_to_write(
    expression: str, sentence: str
) -> None:
    with pytest.raises(InvalidSchedule) as refusal:
        parse_cron(expression)
    assert str(refusal.value) == sentence


PLACES = ("minute", "hour", "day-of-month", "month", "day-of-week")


@pytest.mark.parametrize("sentence", [sentence for _, sentence in REFUSED if '; write "' in sentence])
def test_the_expression_that_a_refusal_suggests_is_accepted(sentence: str) -> None:
    advice = sentence.partition('; write "')[2].partition('"')[0]
    if " " not in advice:
        advice = " ".join(advice if sentence.split()[1] == place else "*" for place in PLACES)
    parse_cron(advice)
