"""CronJobs: the rule of robfig/cron where clocks change, and what becomes of each field."""

import json
from typing import Any

import pytest

from tests.importing.imports import compared, cron_job, given, job, on, reason
from timeball.importing.definitions import ImportedJob, RefusedDefinition, UnreadableError
from timeball.importing.kubernetes import read_kubernetes

NEW_YORK = "America/New_York"


@pytest.mark.parametrize(
    ("schedule", "day", "fires"),
    [
        # Cases of robfig/cron's own tests, at the changes of 2027: the 14th of March and the 7th of November.
        ("0 2 * * *", "03-14", []),
        ("0 1 * * *", "03-14", ["01:00-0500"]),
        ("0 1 * * *", "11-07", ["01:00-0400", "01:00-0500"]),
        ("30 1 * * *", "11-07", ["01:30-0400", "01:30-0500"]),
        ("0 2 * * *", "11-07", ["02:00-0500"]),
        ("0 0-3 * * *", "03-14", ["00:00-0500", "01:00-0500", "03:00-0400"]),
        ("0 0-2 * * ?", "11-07", ["00:00-0400", "01:00-0400", "01:00-0500", "02:00-0500"]),
    ],
)
def test_a_skipped_time_is_lost_and_a_repeated_one_runs_twice(schedule: str, day: str, fires: list[str]) -> None:
    one = job(cron_job(schedule, timeZone=NEW_YORK))

    assert on(day, one, NEW_YORK) == [f"{day} {time}" for time in fires]
    assert compared(one).differences == ()


@pytest.mark.parametrize(
    ("schedule", "expression"),
    [
        ("5/20 3 * * *", "5/20 3 * * *"),
        ("*/90 3 * * *", "0 3 * * *"),
        ("0 0 */5 * Mon", "0 0 1-31/5 * 1"),  # a step restricts the field, so either day matches
        ("0 0 * * Mon/2", "0 0 * * Mon/2"),
        ("0 0 1 * ?", "0 0 1 * ?"),
        ("@monthly", "0 0 1 * *"),
    ],
)
def test_an_expression_keeps_its_meaning(schedule: str, expression: str) -> None:
    one = job(cron_job(schedule))

    assert one.body["cronExpression"] == expression
    assert compared(one).differences == ()


@pytest.mark.parametrize(
    ("schedule", "spec", "part"),
    [
        ("0 0 * * 7", {}, 'refuses the day-of-week "7"'),
        ("60 0 * * *", {}, 'refuses the minute "60"'),
        ("xyz", {}, "refuses the schedule"),
        ("@reboot", {}, "refuses the schedule"),
        ("0 0 31 4 *", {}, "never fires"),
        ("0 0 * * *", {"timeZone": "Europe/Berln"}, "Europe/Berlin"),
        ("0 0 * * *", {"concurrencyPolicy": "Never"}, "no concurrencyPolicy"),
    ],
)
def test_a_cron_job_that_becomes_no_job_has_a_sentence(schedule: str, spec: dict[str, Any], part: str) -> None:
    assert part in reason(cron_job(schedule, **spec))


@pytest.mark.parametrize(
    ("schedule", "spec", "timezone", "zone"),
    [
        ("0 0 * * *", {"timeZone": "Asia/Tokyo"}, "Europe/Berlin", "Asia/Tokyo"),
        ("TZ=Asia/Tokyo 0 0 * * *", {}, "Europe/Berlin", "Asia/Tokyo"),
        ("CRON_TZ=Asia/Tokyo 0 0 * * *", {}, None, "Asia/Tokyo"),
        ("0 0 * * *", {}, "Europe/Berlin", "Europe/Berlin"),
        ("0 0 * * *", {}, None, "UTC"),
    ],
)
def test_the_zone_is_the_schedules_own_or_the_controllers(
    schedule: str, spec: dict[str, Any], timezone: str | None, zone: str
) -> None:
    one = job(cron_job(schedule, timezone, **spec))

    assert one.body["timezone"] == zone
    assert any("clock of the controller" in note for note in one.notes) == (zone == "UTC")


def test_the_policies_are_taken_over() -> None:
    template = {
        "spec": {
            "backoffLimit": 2,
            "activeDeadlineSeconds": 9000,
            "parallelism": 3,
            "template": {
                "spec": {
                    "initContainers": [{"name": "dump"}],
                    "containers": [{"name": "a", "image": "busybox", "command": ["sh"], "args": ["-c"], "env": []}],
                }
            },
        }
    }
    one = job(
        cron_job(
            "0 5 * * *",
            concurrencyPolicy="Replace",
            startingDeadlineSeconds=300,
            suspend=True,
            jobTemplate=template,
            surprise=1,
        )
    )

    assert one.is_paused
    assert one.body["overlapPolicy"] == "cancelOther"
    assert one.body["catchUp"] == {"policy": "latest", "maxAgeSeconds": 300}
    assert (one.body["maxRetries"], one.body["timeoutSeconds"]) == (2, 840)
    assert one.body["payload"] == {"cronJob": "report", "image": "busybox", "command": ["sh"], "args": ["-c"]}
    for part in ("starts no Job", "env stay", "Only the first", "parallelism of 3", "cut to 840", "surprise is not"):
        assert any(part in note for note in one.notes), part


def test_an_interval_counts_from_the_creation_of_the_cron_job() -> None:
    document = {
        "kind": "CronJob",
        "metadata": {"name": "a", "namespace": "b", "creationTimestamp": "2026-11-21T09:30:00Z"},
        "spec": {"schedule": "@every 1h30m"},
    }
    one = job(read_kubernetes(json.dumps(document), given()))

    assert (one.job_id, one.body["everySeconds"], one.body["anchorAt"]) == ("b-a", 5400, "2026-11-21T09:30:00.000Z")
    assert compared(one).differences == ()


def test_other_objects_are_named() -> None:
    nightly_yaml = "kind: CronJob\nmetadata: {name: nightly}\nspec: {schedule: 0 2 * * *, concurrencyPolicy: Forbid}\n"
    list_yaml = "kind: List\nitems: [{kind: Service, metadata: {name: web, namespace: shop}}]\n"
    nightly, service = read_kubernetes(f"{nightly_yaml}---\n{list_yaml}", given())

    assert isinstance(nightly, ImportedJob)
    assert (nightly.body["overlapPolicy"], nightly.body["cronExpression"]) == ("skip", "0 2 * * *")
    assert service == RefusedDefinition("shop/web", "Service", "A Service is no CronJob.")


@pytest.mark.parametrize("text", ["", "[]", "a: 1", "{", "- 7"])
def test_a_text_without_cron_jobs_is_refused(text: str) -> None:
    with pytest.raises(UnreadableError):
        read_kubernetes(text, given())


@pytest.mark.parametrize(
    ("schedule", "zone", "fires"),
    [
        # robfig/cron itself was run for these, with the same time zone data.
        ("0 6 * * *", "Australia/Lord_Howe", []),  # its clocks change by half an hour: the rest of the day is lost
        ("*/30 1 * * *", "Australia/Lord_Howe", ["01:00+1100", "01:30+1100", "01:30+1030"]),
    ],
)
def test_half_an_hour_breaks_the_librarys_walk(schedule: str, zone: str, fires: list[str]) -> None:
    one = job(cron_job(schedule, timeZone=zone))

    assert on("04-04", one, zone) == [f"04-04 {time}" for time in fires]


def test_a_walk_that_the_library_never_ends_is_left() -> None:
    one = job(cron_job("5/20 3 * * *", timeZone="Pacific/Chatham"))

    assert compared(one).differences
