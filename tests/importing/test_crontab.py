"""Crontabs: cronie's rule where clocks change, the forms of a line, and what becomes of each of them."""

from dataclasses import replace

import pytest

from tests.importing.imports import compared, crontab, job, on, reason
from timeball.importing.definitions import ImportedJob

SPRING, AUTUMN = "03-28", "10-31"


@pytest.mark.parametrize(
    ("line", "spring", "autumn", "policy"),
    [
        # A fixed job that clocks skip runs at the end of the gap, and once where clocks repeat its time: the default.
        ("30 2 * * *", ["03:00+0200"], ["02:30+0200"], None),
        # A job that begins with a star follows the clock: the default for a step too.
        ("*/30 2 * * *", [], ["02:00+0200", "02:30+0200", "02:00+0100", "02:30+0100"], None),
        # cronie looks for a star, and Timeball for a step: so the policy is said.
        ("0-59/30 2 * * *", ["03:00+0200"] * 2, ["02:00+0200", "02:30+0200"], {"gap": "next", "overlap": "first"}),
        # Each time that is skipped runs; Timeball makes up for all of them once.
        ("0,30 2 * * *", ["03:00+0200"] * 2, ["02:00+0200", "02:30+0200"], None),
        # A step after a comma: cronie looks at the first sign alone.
        ("0 1,*/2 * * *", None, None, {"gap": "next", "overlap": "first"}),
    ],
)
def test_cronie_divides_jobs_into_fixed_ones_and_wildcards(
    line: str, spring: list[str] | None, autumn: list[str] | None, policy: dict[str, str] | None
) -> None:
    one = job(crontab(f"{line} echo"))

    assert one.body.get("dstPolicy") == policy
    if spring is not None and autumn is not None:
        assert on(SPRING, one) == [f"{SPRING} {time}" for time in spring]
        assert on(AUTUMN, one) == [f"{AUTUMN} {time}" for time in autumn]


def test_a_difference_that_no_policy_removes_is_found() -> None:
    (difference,) = compared(job(crontab("0,30 2 * * * echo"))).differences

    assert (difference.job, difference.origin) == (1, 2)


@pytest.mark.parametrize(
    ("machine", "line", "spring", "autumn", "differs"),
    [
        # The machine's clock does not change, so a zone of its own is followed minute by minute.
        ("UTC", "30 2 * * *", [], ["02:30+0200", "02:30+0100"], 0),
        # The machine has the same zone: what it skips is lost, and what it repeats does not run again.
        ("Europe/Berlin", "30 2 * * *", [], ["02:30+0200"], 0),
    ],
)
def test_a_zone_of_its_own_loses_the_care_for_clock_changes(
    machine: str, line: str, spring: list[str], autumn: list[str], differs: int
) -> None:
    one = job(crontab(f"CRON_TZ=Europe/Berlin\n{line} echo", machine))

    assert on(SPRING, one) == [f"{SPRING} {time}" for time in spring]
    assert on(AUTUMN, one) == [f"{AUTUMN} {time}" for time in autumn]
    assert one.body["timezone"] == "Europe/Berlin"
    assert len(compared(one).differences) == differs


def test_a_fixed_job_of_another_zone_rests_while_the_machine_repeats_an_hour() -> None:
    fixed = job(crontab("CRON_TZ=Europe/Berlin\n30 7 * * * echo", "America/New_York"))
    wildcard = job(crontab("CRON_TZ=Europe/Berlin\n*/30 7 * * * echo", "America/New_York"))

    assert on("11-07", fixed) == []  # New York repeats the hour from 07:00 to 08:00 in Berlin
    assert on("11-07", wildcard) == ["11-07 07:00+0100", "11-07 07:30+0100"]
    assert [(one.job, one.origin) for one in compared(fixed).differences] == [(1, 0)]


@pytest.mark.parametrize(
    ("written", "expression"),
    [
        ("*/90 3 * * *", "0 3 * * *"),  # a step beyond the field is its first value
        ("0 0 */40 * *", "0 0 1 * *"),
        ("0 5 * * fri-sun", "0 5 * * fri-sun"),
        ("0 5 * * 5-0", "0 5 * * 0,5-6"),  # cronie reads 0 at the end as 7
        ("0 0 1,15 * 5", "0 0 1,15 * 5"),
        ("0 0 */2 * mon", "0 0 */2 * mon"),
    ],
)
def test_what_only_cronie_accepts_is_rewritten(written: str, expression: str) -> None:
    one = job(crontab(f"{written} echo"))

    assert one.body["cronExpression"] == expression
    assert compared(one).differences == ()


@pytest.mark.parametrize(
    ("line", "part"),
    [
        ("5/15 * * * * echo", 'write "5-59/15" if that is meant'),
        ("0~30 * * * * echo", "draws the value of ~"),
        ("@reboot echo", "names no time"),
        ("@fortnightly echo", "refuses @fortnightly"),
        ("60 * * * * echo", 'refuses the minute "60"'),
        ("0 22-2 * * * echo", "runs backwards"),
        ("0 0 30 2 * echo", "never fires"),
        ("* * * * *", "no line of a crontab"),
        ("echo", "no line of a crontab"),
        ("0 5 L * * echo", 'refuses the day-of-month "L"'),
    ],
)
def test_a_line_that_becomes_no_job_has_a_sentence(line: str, part: str) -> None:
    assert part in reason(crontab(line))


def test_variables_hold_for_the_lines_below_them() -> None:
    early, late = crontab(
        "PATH=/usr/bin\n0 1 * * * a\nMAILTO=ops@example.com\nCRON_TZ=Asia/Tokyo\nNAME = 'two words'\n0 1 * * * b\n"
    )

    assert isinstance(early, ImportedJob)
    assert isinstance(late, ImportedJob)
    assert early.body["payload"] == {"command": "a", "environment": {"PATH": "/usr/bin"}}
    assert early.body["timezone"] == "Europe/Berlin"
    assert early.notes == ("The payload has the value of PATH, which each reader of the job sees.",)
    assert late.body["payload"]["environment"] == {"PATH": "/usr/bin", "NAME": "two words"}
    assert late.body["timezone"] == "Asia/Tokyo"
    assert "The payload has the values of PATH and NAME, which each reader of the job sees." in late.notes
    assert any("mailed to ops@example.com" in note for note in late.notes)


def test_tz_is_the_zone_of_the_machine_unless_another_one_is_given() -> None:
    counted = job(crontab("TZ=Asia/Tokyo\n0 1 * * * a", None))
    ignored = job(crontab("TZ=Asia/Tokyo\n0 1 * * * a", "Europe/Berlin"))

    assert (counted.body["timezone"], ignored.body["timezone"]) == ("Asia/Tokyo", "Europe/Berlin")
    assert any("TZ counts as the zone of the machine" in note for note in counted.notes)
    assert ignored.body["payload"]["environment"] == {"TZ": "Asia/Tokyo"}


def test_a_percent_sign_begins_the_standard_input() -> None:
    one = job(crontab(r"0 22 * * 1-5 mail -s 100\%  joe%Joe,%%Where are your kids?%"))

    assert one.body["payload"] == {"command": "mail -s 100%  joe", "stdin": "Joe,\n\nWhere are your kids?\n"}


def test_a_system_crontab_has_a_user() -> None:
    one = job(crontab("17 * * * * root cd / && run-parts /etc/cron.hourly", is_system=True))
    asked = job(crontab("17 * * * * root cd / && run-parts /etc/cron.hourly"))

    assert one.body["payload"] == {"command": "cd / && run-parts /etc/cron.hourly", "user": "root"}
    assert any("say --system" in note for note in asked.notes)
    assert "has a user" in reason(crontab("17 * * * * root", is_system=True))


def test_a_random_delay_becomes_jitter() -> None:
    one = job(crontab("RANDOM_DELAY=10\n0 1 * * * a"))

    assert one.body["jitterSeconds"] == 600


def test_the_id_depends_on_the_line_alone() -> None:
    first, second = crontab("0 1 * * * /opt/backup.sh\n0 2 * * * /opt/backup.sh")
    again = crontab("# moved\n\n0 2 * * * /opt/backup.sh")
    twice = crontab("0 1 * * * /opt/backup.sh\n0 1 * * * /opt/backup.sh")

    assert isinstance(first, ImportedJob)
    assert isinstance(second, ImportedJob)
    assert first.job_id != second.job_id == job(again).job_id
    assert first.job_id.startswith("cron-backup-")
    assert [one.job_id for one in twice if isinstance(one, ImportedJob)] == [first.job_id, f"{first.job_id}-2"]


@pytest.mark.parametrize(
    ("command", "word"),
    [
        ("/opt/backup.sh --password s3cret", "backup"),
        ("mysqldump -ps3cret db | curl -H 'Authorization: Bearer s3cret' https://x", "mysqldump"),
        ("PGPASSWORD=s3cret pg_dump db", "pg_dump"),
        ('TOKEN="x s3cret%" run', "command"),
    ],
)
def test_only_the_first_word_of_a_command_is_outside_the_payload(command: str, word: str) -> None:
    one = job(crontab(f"0 1 * * * {command}"))

    assert one.job_id.startswith(f"cron-{word}-")
    assert "s3cret" in str(one.body["payload"])
    assert "s3cret" not in f"{replace(one, body={**one.body, 'payload': {}})}"


def test_options_of_cronie_are_named_in_notes() -> None:
    one = job(crontab("-0 1 * * * -n a"))

    assert one.body["payload"] == {"command": "a"}
    assert any("option -n" in note for note in one.notes)
    assert any("The - before the schedule" in note for note in one.notes)
