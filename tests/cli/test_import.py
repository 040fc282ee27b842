"""`timeball import`: what it prints, what it puts, and its wrong inputs."""

import json
from pathlib import Path

import pytest

from tests.cli.commands import Shell
from tests.console.world import World
from tests.importing.imports import FUNCTION
from timeball.targets.aws.allowed import parse_arns

CRONTAB = "MAILTO=ops@example.com\n17 * * * * /opt/report.sh\n0,30 2 * * * /opt/x.sh\n@reboot /opt/start.sh\n"
CRON_JOB = """
kind: CronJob
metadata: {name: nightly, namespace: shop}
spec: {schedule: "30 2 * * *", timeZone: Europe/Berlin, suspend: true, startingDeadlineSeconds: 60}
"""
SCHEDULE = {"Name": "report", "ScheduleExpression": "cron(0 9 ? * 2-6 *)", "Target": {"Arn": FUNCTION}}
HANDLER = ("--handler", "https://shop.example/report")
BEAT = {"nightly": {"task": "shop.report", "schedule": {"crontab": {"hour": 3, "minute": 0}}}}


def test_a_crontab_is_printed_as_a_batch_and_reported_line_by_line(shell: Shell) -> None:
    done = shell("import", "crontab", "-", "--timezone", "Europe/Berlin", stdin=CRONTAB)

    assert done.status == 1
    assert [one["cronExpression"] for one in done.json["jobs"]] == ["17 * * * *", "0,30 2 * * *"]
    lines = done.stderr.splitlines()
    assert lines[0].startswith("line 2: cron-report-")
    assert lines[0].endswith("fires 9600 times in 400 days, as cronie would.")
    assert "  2027-03-28T03:00+02:00: cronie runs it twice, the job fires once." in lines
    assert any(line.startswith("line 4: no job. @reboot") for line in lines)
    assert lines[-1] == "3 definitions: 2 jobs, 1 without one, 1 that differs."
    assert shell("job", "list", "--json").json == []


@pytest.mark.parametrize(
    ("kind", "text", "more", "job_id", "status"),
    [
        ("crontab", "17 * * * * /opt/report.sh\n", HANDLER, "cron-report-2ff9aa33", "pending"),
        ("k8s", CRON_JOB, HANDLER, "shop-nightly", "paused"),
        ("celery", json.dumps(BEAT), HANDLER, "nightly", "pending"),
        ("eventbridge", json.dumps(SCHEDULE), (), "report", "pending"),
    ],
)
def test_the_api_accepts_each_job_and_a_repeat_changes_nothing(
    tmp_path: Path, kind: str, text: str, more: tuple[str, ...], job_id: str, status: str
) -> None:
    world = World(allowed=parse_arns(FUNCTION))
    shell = Shell(world, {"HOME": str(tmp_path)})

    done = shell("import", kind, "-", *more, "--apply", stdin=text)
    again = shell("import", kind, "-", *more, "--apply", stdin=text)

    assert (done.status, again.status) == (0, 0), done.stderr
    assert done.stdout == f"{job_id}\t{'paused' if status == 'paused' else 'put'}\n"
    (job,) = shell("job", "list", "--json").json
    assert (job["jobId"], job["status"], job["generation"]) == (job_id, status, 1)
    world.close()


@pytest.mark.parametrize(
    "body",
    [
        {"handler": HANDLER[1], "everySeconds": 60, "tags": {"team": "pay"}},  # of a person
        {
            "handler": HANDLER[1],
            "everySeconds": 60,
            "tags": {"imported-from": "k8s"},
            "name": "nightly",
        },  # of other origin
        {"handler": HANDLER[1], "everySeconds": 60, "tags": {"imported-from": "celery"}, "name": "night-ly"},
    ],
)
def test_a_job_that_another_maker_put_is_left_as_it_is(shell: Shell, body: dict[str, object]) -> None:
    shell.world.send("PUT", "/v1/jobs/nightly", body)

    done = shell("import", "celery", "-", *HANDLER, "--apply", stdin=json.dumps(BEAT | {"a": BEAT["nightly"]}))

    assert (done.status, done.stdout) == (5, "")
    assert "not of this definition: nightly" in done.stderr
    (job,) = shell("job", "list", "--json").json
    assert job["version"] == 1


def test_a_queue_waits_for_the_report_of_a_worker(shell: Shell) -> None:
    queue = "https://sqs.eu-west-1.amazonaws.com/123456789012/commands"
    (job,) = shell("import", "crontab", "-", "--queue", queue, stdin="0 1 * * * a\n").json["jobs"]

    assert job["target"] == {"type": "sqs", "queueUrl": queue}
    assert job["completion"] == "callback"


def test_a_module_is_imported_from_this_folder(shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "shop_beat.py").write_text("beat_schedule = {'a': {'task': 't', 'schedule': 90}}\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)

    done = shell("import", "celery", "shop_beat")

    assert (done.status, done.json["jobs"][0]["everySeconds"]) == (0, 90)


@pytest.mark.parametrize(
    ("arguments", "stdin", "part"),
    [
        (["crontab", "missing"], "", "missing cannot be read"),
        (["crontab", "-", "--queue", "https://q", "--task", "t"], "0 1 * * * a\n", "Give only one of"),
        (["k8s", "-"], "a: [", "neither JSON nor YAML"),
        (["k8s", "-"], "a: 1", "has no kind"),
        (["eventbridge", "-"], "{}", "no ScheduleExpression"),
        (["celery", "-"], "[]", "Give a JSON object"),
        (["celery", "no_such_module"], "", "cannot be imported"),
        (["celery", "json:nothing"], "", "cannot be imported"),
        (["celery", "json"], "", "no beat_schedule"),
        (["airflow", "-"], "", "airflow"),
    ],
)
def test_a_wrong_input_is_one_sentence(shell: Shell, arguments: list[str], stdin: str, part: str) -> None:
    done = shell("import", *arguments, stdin=stdin)

    assert (done.status, done.stdout) == (2, "")
    assert part in done.stderr
    assert done.stderr.count("\n") == 1
