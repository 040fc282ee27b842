"""Every method of the client once: what must be there first, the call, and what is true of its answer."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from tests.console.world import World
from timeball.client import After, Cron, Every, Http, Job, Task

HOOK = "https://example.com/hook"
NIGHT = datetime(2026, 11, 20, tzinfo=UTC)
NEXT_YEAR = datetime(2027, 11, 20, tzinfo=UTC)

Asked = tuple[str, str, object]


@dataclass(frozen=True)
class Case:
    """One call of a method."""

    name: str
    """The name of the method, such as `jobs.get`."""
    call: Callable[[Any], Any]
    """The call on a client, sync or async."""
    holds: Callable[[Any], object]
    """Whether the answer, or the first item of a list, is right."""
    before: Sequence[Asked] = ()
    """Requests that make what the call needs."""
    seconds: int = 0
    """How long the engine works then."""


def put(job_id: str, **fields: object) -> Asked:
    return ("PUT", f"/v1/jobs/{job_id}", {"handler": HOOK, **fields})


NIGHTLY = put("report", cronExpression="0 2 * * *")
NOW = put("once")
FAILED = put("once", handler="https://example.com/fail/400", maxRetries=0)
ACCEPTED = put("once", handler="https://example.com/accept", completion="callback", timeoutSeconds=600)
CALENDAR: Asked = ("PUT", "/v1/calendars/holidays", {"timezone": "UTC", "dates": ["2026-12-25"]})
TASK: Asked = ("PUT", "/v1/tasks/mail", {"handler": HOOK})
TENANT: Asked = ("POST", "/v1/admin/tenants", {"name": "initech"})
BACKFILL = lambda t: t.backfills.create("report", NIGHT, datetime(2026, 11, 22, tzinfo=UTC))  # noqa: E731


def run_of(world: World, job_id: str = "once") -> str:
    return str(world.send("GET", f"/v1/jobs/{job_id}/runs")["items"][0]["runId"])


def _first_run(t: Any) -> str:
    """Return the run of the job `once`, whichever client asks: its id follows from the start of the world."""
    return str(t.known["run"])


CASES = [
    Case("jobs.put", lambda t: t.jobs.put("a", Job(call=HOOK, when=Every(60))), lambda a: a.every_seconds == 60),
    Case("jobs.create", lambda t: t.jobs.create({"handler": HOOK}), lambda a: a.id.startswith("job_")),
    Case(
        "jobs.batch",
        lambda t: t.jobs.batch({"a": Job(call=HOOK, when=After(60)), "b": {"handler": HOOK, "dependsOn": ["a"]}}),
        lambda a: [item.job.id for item in a.items] == ["a", "b"],
    ),
    Case("jobs.get", lambda t: t.jobs.get("report"), lambda a: a.cron_expression == "0 2 * * *", [NIGHTLY]),
    Case("jobs.list", lambda t: t.jobs.list(status="pending", limit=1), lambda a: a.id == "report", [NIGHTLY]),
    Case(
        "jobs.edit",
        lambda t: t.jobs.edit("report", Cron("0 3 * * *", "Europe/Berlin")),
        lambda a: (a.cron_expression, a.timezone) == ("0 3 * * *", "Europe/Berlin"),
        [NIGHTLY],
    ),
    Case("jobs.pause", lambda t: t.jobs.pause("report", if_version=1), lambda a: a.status == "paused", [NIGHTLY]),
    Case(
        "jobs.resume",
        lambda t: t.jobs.resume("report"),
        lambda a: a.status == "pending",
        [NIGHTLY, ("POST", "/v1/jobs/report/pause", None)],
    ),
    Case(
        "jobs.skip_next",
        lambda t: t.jobs.skip_next("report"),
        lambda a: a.latest_run.reason == "skipped_manually",
        [NIGHTLY],
    ),
    Case(
        "jobs.trigger",
        lambda t: t.jobs.trigger("report", payload={"rows": 1}),
        lambda a: a.answer.origin == "manual" and a.id.startswith("report."),
        [NIGHTLY],
    ),
    Case("jobs.delete", lambda t: t.jobs.delete("report"), lambda a: a.status == "cancelled", [NIGHTLY]),
    Case("jobs.runs", lambda t: t.jobs.runs("once"), lambda a: a.status == "succeeded", [NOW], 10),
    Case("jobs.executions", lambda t: t.jobs.executions("once"), lambda a: a.http_status == 200, [NOW], 10),
    Case("jobs.graph", lambda t: t.jobs.graph("report"), lambda a: a.descendants == [], [NIGHTLY]),
    Case("jobs.history", lambda t: t.jobs.history("report"), lambda a: a.action in ("create", "put"), [NIGHTLY]),
    Case(
        "jobs.restore",
        lambda t: t.jobs.restore("report", 1),
        lambda a: a.cron_expression == "0 2 * * *",
        [NIGHTLY, ("PATCH", "/v1/jobs/report", {"cronExpression": "0 4 * * *"})],
    ),
    Case("jobs.cost", lambda t: t.jobs.cost("report"), lambda a: a.job_id == "report", [NIGHTLY]),
    Case("runs.list", lambda t: t.runs.list(job_id="once"), lambda a: a.job_id == "once", [FAILED], 10),
    Case("runs.get", lambda t: t.runs.get(_first_run(t)), lambda a: len(a.attempts) == 1, [NOW], 10),
    Case("runs.wait", lambda t: t.runs.wait(_first_run(t), timeout=60), lambda a: a.status == "succeeded", [NOW]),
    Case("runs.follow", lambda t: t.runs.follow(_first_run(t)), lambda a: a[-1].status == "succeeded", [NOW]),
    Case("runs.retry", lambda t: t.runs.retry(_first_run(t)), lambda a: a.answer.job_id == "once", [FAILED], 10),
    Case("runs.cancel", lambda t: t.runs.cancel(_first_run(t)), lambda a: a.job_id == "once", [ACCEPTED], 10),
    Case(
        "runs.succeed",
        lambda t: t.runs.succeed(_first_run(t), reason="Done by phone."),
        lambda a: a.succeeded_because == "Done by phone.",
        [FAILED],
        10,
    ),
    Case(
        "runs.complete",
        lambda t: t.runs.complete(_first_run(t), 1, result={"rows": 17}),
        lambda a: a.status == "succeeded",
        [ACCEPTED],
        10,
    ),
    Case(
        "runs.fail",
        lambda t: t.runs.fail(_first_run(t), 1, error="No disk.", retriable=False),
        lambda a: a.status == "failed",
        [ACCEPTED],
        10,
    ),
    Case(
        "runs.heartbeat",
        lambda t: t.runs.heartbeat(_first_run(t), 1),
        lambda a: a.cancel_requested is False,
        [ACCEPTED],
        10,
    ),
    Case(
        "runs.fan_out",
        lambda t: t.runs.fan_out(_first_run(t), 1, [{"shop": 1}]),
        lambda a: a.job_id == "once",
        [ACCEPTED],
        10,
    ),
    Case(
        "cycles.get",
        lambda t: t.cycles.get("child", t.known["fire"]),
        lambda a: [item.run.status for item in a.items] == ["succeeded", "succeeded"],
        [NOW, put("child", dependsOn=["once"])],
        20,
    ),
    Case(
        "cycles.rerun",
        lambda t: t.cycles.rerun("child", t.known["fire"], "all"),
        lambda a: a.answer.action == "rerun",
        [put("once", everySeconds=3600), put("child", dependsOn=["once"])],
        20,
    ),
    Case("failures.list", lambda t: t.failures.list(), lambda a: a.http_status == 400, [FAILED], 10),
    Case("failures.groups", lambda t: t.failures.groups(), lambda a: a.count == 1, [FAILED], 10),
    Case(
        "failures.replay",
        lambda t: t.failures.replay(run_ids=[_first_run(t)], per_second=5),
        lambda a: a.done == 1,
        [FAILED],
        10,
    ),
    Case(
        "failures.replay",
        lambda t: t.failures.replay(filter={"jobId": "once"}, limit=1),
        lambda a: a.done == 1,
        [FAILED],
        10,
    ),
    Case("failures.discard", lambda t: t.failures.discard(filter={}, limit=1), lambda a: a.done == 1, [FAILED], 10),
    Case(
        "failures.discard", lambda t: t.failures.discard(filter={"jobId": "once"}), lambda a: a.done == 1, [FAILED], 10
    ),
    Case("backfills.create", BACKFILL, lambda a: a.answer.total == 2, [NIGHTLY]),
    Case(
        "backfills.preview",
        lambda t: t.backfills.preview("report", NIGHT, datetime(2026, 11, 22, tzinfo=UTC)),
        lambda a: a.total == 2,
        [NIGHTLY],
    ),
    Case("backfills.list", lambda t: t.backfills.list("report"), lambda a: a is None, [NIGHTLY]),
    Case(
        "backfills.get",
        lambda t: t.then(BACKFILL, lambda a: t.backfills.get("report", a.id)),
        lambda a: a.total == 2,
        [NIGHTLY],
    ),
    Case(
        "backfills.cancel",
        lambda t: t.then(BACKFILL, lambda a: t.backfills.cancel("report", a.id)),
        lambda a: a.status == "cancelled",
        [NIGHTLY],
    ),
    Case(
        "operations.create",
        lambda t: t.operations.create("pause", tags={"team": "web"}),
        lambda a: a.answer.action == "pause",
    ),
    Case("operations.list", lambda t: t.operations.list(), lambda a: a is None),
    Case(
        "operations.get",
        lambda t: t.then(lambda t: t.operations.create("pause", all_jobs=True), lambda a: t.operations.get(a.id)),
        lambda a: a.status == "running",
    ),
    Case(
        "operations.handle",
        lambda t: t.then(
            lambda t: t.operations.create("pause", all_jobs=True), lambda a: t.operations.handle(a.answer).wait()
        ),
        lambda a: a.progress.done == 1,
        [NIGHTLY],
    ),
    Case(
        "operations.cancel",
        lambda t: t.then(lambda t: t.operations.create("pause", all_jobs=True), lambda a: t.operations.cancel(a.id)),
        lambda a: a.status == "cancelled",
    ),
    Case("events.publish", lambda t: t.events.publish("shop", "order", {"total": 1}, id="7"), lambda a: a.id == "7"),
    Case(
        "events.publish_many",
        lambda t: t.events.publish_many([{"source": "shop", "type": "order"}]),
        lambda a: a.items[0].event,
    ),
    Case("tasks.create", lambda t: t.tasks.create(Task(call=Http(HOOK), retries=1)), lambda a: a.max_retries == 1),
    Case("tasks.put", lambda t: t.tasks.put("mail", {"handler": HOOK}), lambda a: a.id == "mail"),
    Case("tasks.get", lambda t: t.tasks.get("mail"), lambda a: a.id == "mail", [TASK]),
    Case("tasks.list", lambda t: t.tasks.list(), lambda a: a.task_id == "mail", [TASK]),
    Case("tasks.delete", lambda t: t.tasks.delete("mail"), lambda a: a.task_id == "mail", [TASK]),
    Case(
        "calendars.create",
        lambda t: t.calendars.create("holidays", "UTC", dates=[datetime(2026, 12, 25, tzinfo=UTC).date()]),
        lambda a: a.name == "holidays",
    ),
    Case(
        "calendars.put",
        lambda t: t.calendars.put("holidays", "UTC", ranges=[("2026-12-24", "2026-12-26")]),
        lambda a: a.version == 1,
    ),
    Case("calendars.get", lambda t: t.calendars.get("holidays"), lambda a: a.timezone == "UTC", [CALENDAR]),
    Case("calendars.list", lambda t: t.calendars.list(), lambda a: a.name == "holidays", [CALENDAR]),
    Case("calendars.delete", lambda t: t.calendars.delete("holidays"), lambda a: a.name == "holidays", [CALENDAR]),
    Case("calendars.history", lambda t: t.calendars.history("holidays"), lambda a: a.revision == 1, [CALENDAR]),
    Case(
        "freezes.create",
        lambda t: t.freezes.create(to=NEXT_YEAR, tags={"team": "web"}, reason="Move"),
        lambda a: a.reason == "Move" and a.to == NEXT_YEAR,
    ),
    Case(
        "freezes.preview",
        lambda t: t.freezes.preview(to=NEXT_YEAR, all_jobs=True),
        lambda a: a.items[0].job_id == "report",
        [NIGHTLY],
    ),
    Case(
        "freezes.list",
        lambda t: t.freezes.list(),
        lambda a: a.reason == "Move",
        [("POST", "/v1/freezes", {"match": {"all": True}, "reason": "Move"})],
    ),
    Case(
        "freezes.get",
        lambda t: t.then(lambda t: t.freezes.create(all_jobs=True), lambda a: t.freezes.get(a.id)),
        lambda a: a.match,
    ),
    Case(
        "freezes.lift",
        lambda t: t.then(lambda t: t.freezes.create(all_jobs=True), lambda a: t.freezes.lift(a.id)),
        lambda a: a.status == "lifted",
    ),
    Case(
        "limits.get",
        lambda t: t.limits.get("warehouse"),
        lambda a: a.name == "warehouse",
        [("PUT", "/v1/limits/warehouse", {"limit": 2})],
    ),
    Case("limits.put", lambda t: t.limits.put("warehouse", limit=2, per_second=0.5), lambda a: a.limit == 2),
    Case("sessions.create", lambda t: t.sessions.create(), lambda a: a.key.startswith("tbs_")),
    Case("sessions.code", lambda t: t.sessions.code(), lambda a: a.code),
    Case("sessions.end", lambda t: t.as_session().sessions.end(), lambda a: a.ended_at),
    Case("keys.create", lambda t: t.keys.create("viewer", name="The wall"), lambda a: a.key.startswith("tb_")),
    Case("keys.list", lambda t: t.keys.list(tenant="acme"), lambda a: a.role),
    Case("keys.get", lambda t: t.then(_new_key, lambda a: t.keys.get(a.id)), lambda a: a.role == "viewer"),
    Case(
        "keys.edit",
        lambda t: t.then(_new_key, lambda a: t.keys.edit(a.id, {"name": "The other wall"})),
        lambda a: a.name == "The other wall",
    ),
    Case("keys.revoke", lambda t: t.then(_new_key, lambda a: t.keys.revoke(a.id)), lambda a: a.revoked_at),
    Case(
        "keys.rotate",
        lambda t: t.then(_new_key, lambda a: t.keys.rotate(a.id, overlap_seconds=60)),
        lambda a: a.key.startswith("tb_"),
    ),
    Case("tenants.create", lambda t: t.tenants.create("initech", weight=2), lambda a: a.weight == 2),
    Case("tenants.list", lambda t: t.tenants.list(), lambda a: a.name == "acme"),
    Case("tenants.get", lambda t: t.tenants.get("initech"), lambda a: a.name == "initech", [TENANT]),
    Case("tenants.edit", lambda t: t.tenants.edit("initech", {"weight": 3}), lambda a: a.weight == 3, [TENANT]),
    Case(
        "tenants.delete",
        lambda t: t.tenants.delete("initech"),
        lambda a: a.name == "initech",
        [TENANT, ("PATCH", "/v1/admin/tenants/initech", {"disabled": True})],
    ),
    Case("tenants.health", lambda t: t.tenants.health(), lambda a: a.dead == 0),
    Case("admin.recover", lambda t: t.admin.recover(NIGHT), lambda a: a.action == "recover"),
    Case(
        "admin.operation",
        lambda t: t.then(lambda t: t.admin.recover(NIGHT), lambda a: t.admin.operation(a.operation_id)),
        lambda a: a.action == "recover",
    ),
    Case("admin.rotate_signing_secret", lambda t: t.admin.rotate_signing_secret(), lambda a: a.signs_from),
    Case("now", lambda t: t.now(), lambda a: a.health.last_tick_at),
    Case("me", lambda t: t.me(), lambda a: a.role == "admin"),
    Case("health", lambda t: t.health(), lambda a: a.status == "ok"),
    Case("stats", lambda t: t.stats(), lambda a: a.jobs["pending"].count == 0),
    Case("slo", lambda t: t.slo(), lambda a: a.windows["fiveMinutes"].total.started == 0),
    Case(
        "preview",
        lambda t: t.preview(Cron("0 2 * * *"), count=3),
        lambda a: [one.fire_time.hour for one in a.items] == [2, 2, 2],
    ),
    Case(
        "test_call",
        lambda t: t.test_call(HOOK, payload={"a": 1}, timeout_seconds=5),
        lambda a: a.verdict == "succeeded",
    ),
    Case("upcoming", lambda t: t.upcoming(job_id="report"), lambda a: a.job_id == "report", [NIGHTLY]),
    Case("changes", lambda t: t.changes(job_id="report"), lambda a: a.actor.role == "admin", [NIGHTLY]),
    Case("request", lambda t: t.request("GET", "/v1/me"), lambda a: a["role"] == "admin"),
    Case("send", lambda t: t.send("GET", "/v1/me"), lambda a: a.status == 200 and a.headers["etag"]),
    Case("pages", lambda t: t.pages("/v1/jobs"), lambda a: a["jobId"] == "report", [NIGHTLY]),
]


def _new_key(t: Any) -> Any:
    return t.keys.create("viewer")
