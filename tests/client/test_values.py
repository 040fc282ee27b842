"""The values that jobs are written with: the JSON that they become, and the nonsense that they refuse."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import timeball.client
from tests.console.world import World
from timeball.client import (
    After,
    At,
    CatchUp,
    ConcurrencyLimit,
    Cron,
    Ecs,
    EventBridge,
    Every,
    Http,
    Job,
    Lambda,
    Notify,
    OnCalendar,
    OnEvent,
    Parent,
    RateLimit,
    Retries,
    Slack,
    Sns,
    Sqs,
    StepFunctions,
    Task,
    Timeball,
)
from timeball.client.values.encoding import json_of
from timeball.targets.http.request import request_of

HOOK = "https://example.com/hook"
ARN = "arn:aws:x:eu-central-1:123456789012:thing"
AT = datetime(2027, 3, 28, 3, tzinfo=UTC)
ROOT = Path(__file__).parents[2]
SCHEMAS = json.loads((ROOT / "docs/openapi.json").read_text(encoding="utf-8"))["components"]

ANY: Any = timeball.client
"""The client without its types, which refuse the same nonsense before it runs."""

EVERYTHING = Job(
    call=Http(HOOK, method="PUT", headers={"X-Team": "web"}, body="{}", secret="timeball/acme/hook"),
    when=Cron(
        "0 2 * * *",
        "Europe/Berlin",
        start_at=AT,
        end_at=AT + timedelta(days=9),
        max_runs=9,
        gap="skip",
        repeated="both",
    ),
    payload=None,
    name="Nightly report",
    owner="sales",
    tags={"team": "web"},
    priority="high",
    retries=Retries(5, 2, 1.5, 60, "none", 900, ["timeout", "5xx"]),
    timeout_seconds=timedelta(minutes=5),
    completion="callback",
    heartbeat_seconds=60,
    delivery="at_least_once",
    overlap="queueOne",
    catch_up=CatchUp("all", 5, timedelta(hours=1)),
    jitter_seconds=30,
    calendar=OnCalendar("holidays", "next"),
    depends_on=["extract", Parent("load", as_="loaded", on="done")],
    trigger_rule="allDone",
    dependency_timeout_seconds=3600,
    pass_parents=True,
    for_each="loaded",
    concurrency_limit=ConcurrencyLimit("warehouse", 2, "skip"),
    rate_limit=RateLimit("warehouse", 0.5, 2),
    unique_key="report",
    unique_seconds=60,
    debounce_seconds=5,
    debounce_max_seconds=50,
    supersede=True,
    notify=Notify(HOOK, HOOK, HOOK, HOOK, HOOK, 2, 4, 60, timedelta(hours=2)),
    pause_after_failures=5,
    ref="report",
)


def test_a_job_becomes_the_json_of_the_api() -> None:
    assert json_of(EVERYTHING) == {
        "target": {
            "type": "http",
            "url": HOOK,
            "method": "PUT",
            "headers": {"X-Team": "web"},
            "body": "{}",
            "secretId": "timeball/acme/hook",
        },
        "cronExpression": "0 2 * * *",
        "timezone": "Europe/Berlin",
        "startAt": "2027-03-28T03:00:00.000Z",
        "endAt": "2027-04-06T03:00:00.000Z",
        "maxRuns": 9,
        "dstPolicy": {"gap": "skip", "overlap": "both"},
        "payload": None,
        "name": "Nightly report",
        "owner": "sales",
        "tags": {"team": "web"},
        "priority": "high",
        "maxRetries": 5,
        "retryPolicy": {
            "baseSeconds": 2,
            "factor": 1.5,
            "maxSeconds": 60,
            "jitter": "none",
            "maxAgeSeconds": 900,
            "retryOn": ["timeout", "5xx"],
        },
        "timeoutSeconds": 300,
        "completion": "callback",
        "heartbeatSeconds": 60,
        "delivery": "at_least_once",
        "overlapPolicy": "queueOne",
        "catchUp": {"policy": "all", "maxRuns": 5, "maxAgeSeconds": 3600},
        "jitterSeconds": 30,
        "calendar": {"name": "holidays", "policy": "next"},
        "dependsOn": ["extract", {"jobId": "load", "as": "loaded", "on": "done"}],
        "triggerRule": "allDone",
        "dependencyTimeoutSeconds": 3600,
        "passParents": True,
        "forEach": "loaded",
        "concurrencyLimit": {"name": "warehouse", "limit": 2, "onFull": "skip"},
        "rateLimit": {"name": "warehouse", "perSecond": 0.5, "burst": 2},
        "uniqueKey": "report",
        "uniqueSeconds": 60,
        "debounceSeconds": 5,
        "debounceMaxSeconds": 50,
        "supersede": True,
        "notify": {
            **dict.fromkeys(("onFailure", "onRecovery", "onLate", "onBlocked", "onSuccess"), HOOK),
            "afterFailures": 2,
            "afterBlocked": 4,
            "lateAfterSeconds": 60,
            "deadlineSeconds": 7200,
        },
        "pauseAfterFailures": 5,
        "ref": "report",
    }


TASK = Task(
    call=Http(HOOK),
    name="Report",
    payload_schema={"type": "object"},
    tags={"team": "web"},
    priority="low",
    retries=Retries(1, 1),
    timeout_seconds=60,
    completion="callback",
    heartbeat_seconds=5,
)


def test_every_field_of_a_job_can_be_written() -> None:
    others: list[Any] = [
        At(AT, past="reject"),
        After(5),
        Every(60, AT),
        OnEvent({"source": ["shop"]}),
        Job(call="mail"),
    ]
    written = {field for one in (EVERYTHING, *others) for field in one.to_json()}
    # `handler` names a task, too, and a batch gives each job its id.
    assert set(SCHEMAS["schemas"]["BatchJob"]["properties"]) - {"taskId", "jobId"} == written


def test_every_field_of_a_task_can_be_written() -> None:
    written = {*TASK.to_json(), *Task(call=HOOK).to_json()}
    assert set(SCHEMAS["schemas"]["TaskRequest"]["properties"]) - {"type"} == written  # the type is the target's


@pytest.mark.parametrize(
    "value",
    [
        Lambda(ARN, "event"),
        Sqs(ARN, "group"),
        Sqs("https://sqs.eu-central-1.amazonaws.com/123456789012/q"),
        Sns(ARN, "News", "group"),
        StepFunctions(ARN, follow=True),
        Ecs(ARN, ARN, "main", subnets=["subnet-1"], security_groups=["sg-1"], assign_public_ip=True, follow=True),
        EventBridge(ARN, "shop", "order"),
        Slack("https://hooks.slack.com/services/T/B/x"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_target_has_only_fields_of_its_type(value: Any) -> None:
    found = value.to_json()
    kind = {field["properties"]["type"]["const"]: field for name, field in _target_fields()}[found["type"]]
    assert set(found) <= set(kind["properties"])
    assert set(kind["required"]) <= set(found)


def _target_fields() -> list[tuple[str, Any]]:
    return [(name, schema) for name, schema in SCHEMAS["schemas"].items() if name.endswith("TargetField")]


@pytest.mark.parametrize(
    ("when", "shown"),
    [
        (Cron("0 2 * * MON-FRI", "Europe/Berlin"), "cron"),
        (Every(timedelta(minutes=5)), "interval"),
        (At(AT), "once"),
        (After(60), "once"),
        (OnEvent({"source": ["shop"]}), "event"),
        (None, "once"),
    ],
)
def test_the_api_takes_each_schedule(timeball: Timeball, when: Any, shown: str) -> None:
    assert timeball.jobs.put("report", Job(call=HOOK, when=when)).schedule_type == shown


def test_an_event_with_a_schedule_has_both(timeball: Timeball) -> None:
    made = timeball.jobs.put("report", Job(call=HOOK, when=OnEvent({"source": ["shop"]}, Every(3600))))
    assert (made.event, made.every_seconds) == ({"source": ["shop"]}, 3600)


def test_the_api_takes_a_job_with_many_policies(timeball: Timeball) -> None:
    timeball.calendars.put("holidays", "UTC", dates=["2026-12-25"])
    made = timeball.jobs.put(
        "report",
        Job(
            call=Http(HOOK, headers={"X-Team": "web"}),
            when=Cron("0 2 * * *"),
            retries=5,
            overlap="skip",
            catch_up="all",
            calendar="holidays",
            tags={"team": "web"},
            concurrency_limit=ConcurrencyLimit("warehouse", 2),
            notify=Notify(on_failure=Slack("https://hooks.slack.com/services/T/B/x")),
        ),
    )
    assert (made.max_retries, made.overlap_policy) == (5, "skip")
    assert made.calendar is not None
    assert made.calendar.name == "holidays"
    assert made.target is not None
    assert made.target.type == "http"


def test_slack_gets_a_text_about_a_failure(world: World, timeball: Timeball) -> None:
    slack = Slack("https://hooks.slack.com/services/T/B/x", text='"{{jobName}}" \\o/ {{type}}: {{reason}}')
    fails = "https://example.com/fail/400"
    timeball.jobs.put("report", Job(call=fails, name='The "report"', retries=0, notify=Notify(on_failure=slack)))
    world.advance(20)
    (call,) = world.target.calls[1:]
    body = json.loads(request_of(call, world.clock.now()).body or b"")
    assert body["blocks"][0]["text"] == {"type": "plain_text", "text": '"The "report"" \\o/ failure: not_retriable'}
    jsonschema.validate(body, json.loads((ROOT / "tests/docs/services/slack.json").read_text(encoding="utf-8")))


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: ANY.Http("example.com/hook"), "begins with https://"),
        (lambda: ANY.Http(HOOK, method="FETCH"), "is one of DELETE, GET"),
        (lambda: ANY.Http(HOOK, secret="whsec_abcd"), "it is not the key itself"),
        (lambda: ANY.Slack("hooks.slack.com"), "incoming webhook"),
        (lambda: ANY.Lambda("my-function"), "function_arn is an ARN"),
        (lambda: ANY.Lambda(ARN, "later"), "invocation is one of"),
        (lambda: ANY.Sqs("my-queue"), "named by its ARN or by its https:// URL"),
        (lambda: ANY.Ecs(ARN, ARN, "main", launch_type="LAMBDA"), "launch_type is one of"),
        (lambda: ANY.Cron("0 0 2 * * *"), "has five fields, and '0 0 2 * * *' has 6"),
        (lambda: ANY.Cron(""), "has 0"),
        (lambda: ANY.Cron("0 2 * * *", ""), "is a name, such as Europe/Berlin"),
        (lambda: ANY.Cron("0 2 * * *", gap="both"), "gap is one of next, skip"),
        (lambda: ANY.Cron("0 2 * * *", start_at=AT, end_at=AT - timedelta(1)), "end_at is before start_at"),
        (lambda: ANY.Cron("0 2 * * *", start_at=AT.replace(tzinfo=None)), "has no time zone"),
        (lambda: ANY.Cron("0 2 * * *", max_runs=0), "max_runs is 1 or more, and not 0"),
        (lambda: ANY.Every(0), "An interval in seconds is 1 or more"),
        (lambda: ANY.Every("5m"), "is a number, and not '5m'"),
        (lambda: ANY.Every(60, anchor_at=AT.replace(tzinfo=None)), "has no time zone"),
        (lambda: ANY.At(AT.replace(tzinfo=None)), "has no time zone"),
        (lambda: ANY.At(AT, past="fail"), "past is one of run, reject"),
        (lambda: ANY.After(-1), "A delay in seconds is 0 or more"),
        (lambda: ANY.OnEvent({}), "names a field"),
        (lambda: ANY.Retries(101), "Retries is from 0 to 100"),
        (lambda: ANY.CatchUp("none"), "is one of skip, latest, all"),
        (lambda: ANY.OnCalendar("holidays", "later"), "is one of skip, next"),
        (lambda: ANY.ConcurrencyLimit("warehouse", 0), "is 1 or more"),
        (lambda: ANY.RateLimit("warehouse", 0), "per_second is more than 0"),
        (lambda: ANY.Parent(""), "is the id of a job"),
        (lambda: ANY.Parent("load", on="never"), "on is one of"),
        (lambda: ANY.Notify(on_late=HOOK), "needs late_after_seconds or deadline_seconds"),
        (lambda: ANY.Notify(after_failures=0), "after_failures is from 1 to 100"),
        (lambda: ANY.Job(call=""), "A job calls something"),
        (lambda: ANY.Job(call=HOOK, retries=-1), "Retries is from 0 to 100"),
        (lambda: ANY.Job(call=HOOK, overlap="wait"), "overlap is one of allow, skip, queueOne, cancelOther"),
        (lambda: ANY.Job(call=HOOK, catch_up="none"), "is one of skip, latest, all"),
        (lambda: ANY.Job(call=HOOK, priority="urgent"), "priority is one of"),
        (lambda: ANY.Job(call=HOOK, heartbeat_seconds=5), "is for completion='callback' alone"),
        (lambda: ANY.Job(call=HOOK, depends_on="extract"), "a list of ids, and not one text"),
        (lambda: ANY.Job(call=HOOK, tags={"team:web": "x"}), "Tags are texts by texts"),
        (lambda: ANY.Job(call=HOOK, tags={"team": 1}), "Tags are texts by texts"),
        (lambda: ANY.Job(call=HOOK, timeout_seconds=0), "timeout_seconds is from 1 to"),
        (lambda: ANY.Task(call=HOOK, priority="urgent"), "priority is one of"),
    ],
)
def test_nonsense_is_refused_with_a_sentence(make: Callable[[], object], sentence: str) -> None:
    with pytest.raises(ValueError, match=r".") as refused:
        make()
    assert sentence in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda t: t.jobs.get(""), "'' is no id"),
        (lambda t: t.jobs.get(".."), "'..' is no id"),
        (lambda t: t.operations.create("pause"), "or give all_jobs=True"),
        (lambda t: t.operations.create("pause", tags={"team": "web"}, all_jobs=True), "or give all_jobs=True"),
        (lambda t: t.freezes.create(), "or give all_jobs=True"),
        (lambda t: t.jobs.put("a", {"handler": HOOK, "payload": object()}), "cannot be sent as JSON"),
        (lambda t: t.jobs.put("a", {"handler": HOOK, "payload": float("nan")}), "cannot be sent as JSON"),
        (lambda t: t.jobs.list(next_run_before=datetime(2026, 1, 1)).first(), "has no time zone"),  # noqa: DTZ001
        (lambda t: t.request("GET", "v1/jobs"), "begins without a slash"),
        (lambda _: Timeball("example.com", "tb_x"), "is https:// and its host"),
        (lambda _: Timeball("https://example.com", "tb_x\n"), "characters that no key has"),
        (lambda _: Timeball(key="tb_x"), "Give the url with the key"),
        (lambda t: t.jobs.edit("a", Every(timedelta(seconds=1.5))), "is not a number of whole seconds"),
    ],
)
def test_a_wrong_argument_is_refused_with_a_sentence(
    timeball: Timeball, call: Callable[[Timeball], object], sentence: str
) -> None:
    with pytest.raises(ValueError, match=r".") as refused:
        call(timeball)
    assert sentence in str(refused.value)


@pytest.mark.parametrize(
    "secret", [Slack("https://hooks.slack.com/s3cret"), Http(HOOK, headers={"A": "Bearer s3cret"})]
)
def test_no_text_of_a_value_has_its_secret(secret: Slack | Http) -> None:
    assert "s3cret" not in repr(Job(call=HOOK, payload="s3cret", notify=Notify(on_failure=secret)))
