"""The broad story whose rows are kept: every kind of row, jobs of each timing, runs in each state.

It ends in the middle of everything: calls wait for their retry or their report, messages wait in queues, an operation
and a backfill go on.
"""

from tests.rows.world import Tables, World
from timeball.aws.deployments import Deployments
from timeball.domain.deployment import Deployment
from timeball.domain.sharing.submit_budget import Reservation
from timeball.domain.time.instants import HOUR_MS, MINUTE_MS, SECOND_MS, format_instant, parse_instant

START = parse_instant("2026-11-12T23:45:00.250Z")
LATER = parse_instant("2026-11-20T23:45:00.250Z")
"""Eight days after the start, so that a freeze is long over; an hour and a half later a day is drained."""
KEPT_AT = parse_instant("2026-11-21T01:03:30.000Z")

PLACED = {"id": "order-1", "source": "https://shop.example/orders", "specversion": "1.0", "type": "placed", "data": {}}
BERLIN = {"timezone": "Europe/Berlin"}
CALLBACK = {"completion": "callback", "timeoutSeconds": 86_400, "heartbeatSeconds": 3600}
FAILING = {"maxRetries": 0, "tags": {"team": "sales"}}


def broad(tables: Tables) -> World:
    """Play the story, and return its world as it stands at KEPT_AT."""
    tables.fill({})
    world = World(tables, START)
    _long_ago(world)
    world.moment()
    world.run_until(LATER)
    for part in (_resources, _schedules, _graphs, _events, _flow, _admin):
        part(world)
    world.run_until(KEPT_AT - 3 * MINUTE_MS)
    _in_the_end(world)
    world.run_until(KEPT_AT)
    return world


def _long_ago(world: World) -> None:
    dates = {"timezone": "UTC", "dates": ["2026-12-25"]}
    world.send("PUT", "/v1/calendars/holidays", dates)
    world.send("PUT", "/v1/calendars/holidays", {**dates, "ranges": [{"from": "2027-01-04", "to": "2027-01-08"}]})
    freeze = world.send("POST", "/v1/freezes", {"match": {"all": True}, "reason": "A move"})["freezeId"]
    world.run_until(START + MINUTE_MS)
    world.send("DELETE", f"/v1/freezes/{freeze}")
    Deployments(world.tables.jobs.client, world.tables.jobs.name).keep(Deployment("small", 4, 4, 0))


def _resources(world: World) -> None:
    world.send("PUT", "/v1/tasks/mail", {"handler": "https://shop.example/mail"})
    world.create("tasked", everySeconds=1800, handler="mail")
    world.send("PUT", "/v1/tasks/mail", {"handler": "https://shop.example/mail", "timeoutSeconds": 60})
    world.send(
        "POST", "/v1/freezes", {"match": {"tags": {"team": "frozen"}}, "from": format_instant(LATER + MINUTE_MS)}
    )
    world.create("frozen", everySeconds=1200, tags={"team": "frozen"})


def _schedules(world: World) -> None:
    create, send = world.create, world.send
    send("PUT", "/v1/jobs/interval", {"handler": "https://shop.example/a", "everySeconds": 600, "name": "Zürich ✓"})
    send("PATCH", "/v1/jobs/interval", {"everySeconds": 900, "payload": {"report": "sales"}})
    send("PUT", "/v1/jobs/cron", {"handler": "https://shop.example/b", "cronExpression": "*/20 * * * *", **BERLIN})
    send(
        "PUT",
        "/v1/jobs/holidays",
        {
            "handler": "https://shop.example/b",
            "cronExpression": "5 * * * *",
            **BERLIN,
            "calendar": {"name": "holidays"},
        },
    )
    create("large", everySeconds=3600, payload={"text": "ä" * 600}, jitterSeconds=60)
    create("long", everySeconds=1800, catchUp={"policy": "all", "maxRuns": 5}, startAt=format_instant(LATER - HOUR_MS))
    create("once", scheduleAt=format_instant(KEPT_AT + 10 * MINUTE_MS))
    create("now")
    create("404", **FAILING)
    create("ends", everySeconds=600, maxRuns=3)
    create("503", everySeconds=600, maxRetries=6, retryPolicy={"baseSeconds": 60, "jitter": "none"})
    dead = create("503", everySeconds=1800, notify={"onFailure": "https://shop.example/alarm"}, **FAILING)
    create("400", delivery="at_most_once", everySeconds=3600, **FAILING)
    send("PUT", "/v1/jobs/paused", {"handler": "https://shop.example/c", "everySeconds": 600})
    send("POST", "/v1/jobs/paused/pause")
    send("PUT", "/v1/jobs/cancelled", {"handler": "https://shop.example/c", "everySeconds": 600})
    send("DELETE", "/v1/jobs/cancelled")
    send("POST", "/v1/jobs/interval/trigger", {"payload": {"by": "hand"}}, headers={"idempotency-key": "trigger-1"})
    send("POST", "/v1/jobs/interval/skip-next")
    assert dead


def _graphs(world: World) -> None:
    send = world.send
    send("PUT", "/v1/jobs/extract", {"handler": "https://shop.example/extract", "everySeconds": 1800})
    send("PUT", "/v1/jobs/load", {"handler": "https://shop.example/load", "dependsOn": ["extract"]})
    send("PUT", "/v1/jobs/broken", {"handler": "https://shop.example/404", "everySeconds": 3600, **FAILING})
    send("PUT", "/v1/jobs/behind", {"handler": "https://shop.example/x", "dependsOn": ["broken"]})
    send(
        "PUT", "/v1/jobs/later", {"handler": "https://shop.example/x", "scheduleAt": format_instant(KEPT_AT + HOUR_MS)}
    )
    send("PUT", "/v1/jobs/waiting", {"handler": "https://shop.example/x", "dependsOn": ["later"]})
    send("PUT", "/v1/jobs/shops", {"handler": "https://shop.example/202", **CALLBACK})
    send("PUT", "/v1/jobs/each-shop", {"handler": "https://shop.example/x", "dependsOn": ["shops"], "forEach": "shops"})
    send("POST", "/v1/jobs/extract/trigger", {"downstream": True})
    world.moment()
    (run,) = send("GET", "/v1/jobs/shops/runs")["items"]
    path = f"/v1/runs/{run['runId']}"
    send("POST", f"{path}/fan-out", {"attempt": 1, "items": [{"shop": "Berlin"}, {"shop": "Kiel"}]})
    send("POST", f"{path}/complete", {"attempt": 1, "result": {"rows": 40}})


def _events(world: World) -> None:
    pattern = {"source": [PLACED["source"]]}
    world.send("PUT", "/v1/jobs/on-order", {"handler": "https://shop.example/invoice", "event": pattern})
    world.send(
        "PUT", "/v1/jobs/daily", {"handler": "https://shop.example/digest", "event": pattern, "everySeconds": 86_400}
    )
    world.send("POST", "/v1/events", PLACED)
    world.moment()


def _flow(world: World) -> None:
    send = world.send
    shared = {"concurrencyLimit": {"name": "warehouse", "limit": 1}}
    for name in ("first", "second", "third"):
        send(
            "PUT",
            f"/v1/jobs/{name}",
            {"handler": "https://shop.example/202", "everySeconds": 3600, **shared, **CALLBACK},
        )
    world.create("rated", everySeconds=900, rateLimit={"name": "api", "perSecond": 0.5})
    send("PUT", "/v1/limits/fixed", {"limit": 5})
    world.create("unique", everySeconds=900, uniqueKey="report", uniqueSeconds=86_400)
    for policy in ("skip", "queueOne", "cancelOther"):
        world.create("202", everySeconds=600, overlapPolicy=policy, **CALLBACK)
    send(
        "PUT",
        "/v1/jobs/collects",
        {"handler": "https://shop.example/x", "everySeconds": 86_400, "debounceSeconds": 3600},
    )
    send("POST", "/v1/jobs/collects/trigger")


def _admin(world: World) -> None:
    send = world.send
    send("POST", "/v1/admin/tenants", {"name": "initech", "weight": 2, "defaults": {**BERLIN}})
    quotas = {"activeJobs": 100, "submitsPerSecond": 10, "runsCreatedPerMinute": 100, "runsAtOnce": 3}
    send("PATCH", "/v1/admin/tenants/globex", {"quotas": quotas})
    for name in ("one", "two"):
        body = {"handler": f"https://globex.example/{name}", "everySeconds": 300, "event": {"source": ["x"]}}
        send("PUT", f"/v1/jobs/{name}", {key: body[key] for key in ("handler", "everySeconds")}, tenant="globex")
    send("PUT", "/v1/jobs/on-x", {"handler": "https://globex.example/x", "event": {"source": ["x"]}}, tenant="globex")
    send("POST", "/v1/events", {**PLACED, "source": "x"}, tenant="globex")
    key = send("POST", "/v1/admin/keys", {"role": "operator", "name": "Ada's key", "tags": {"team": "sales"}})["keyId"]
    key = send("POST", "/v1/admin/keys", {"role": "operator"})["keyId"]
    code = send("POST", "/v1/sessions/codes", key=key)["code"]
    send("POST", "/v1/sessions", {"code": code}, tenant=None)
    send("POST", "/v1/admin/signing-secret/rotate")
    assert world.store.submit_budgets.reserve(Reservation("globex", 2, world.now, per_second=10, active=0)) is None


def _in_the_end(world: World) -> None:
    """Begin what must be under way at the end."""
    send = world.send
    week = {"from": format_instant(LATER), "to": format_instant(KEPT_AT - HOUR_MS)}
    send("POST", "/v1/jobs/cron/backfills", week)
    gone = send("POST", "/v1/jobs/interval/backfills", week)["backfillId"]
    send("DELETE", f"/v1/jobs/interval/backfills/{gone}")
    letters = send("GET", "/v1/dead-letters")["items"]
    send("POST", "/v1/dead-letters:discard", {"runIds": [letters[0]["runId"]]})
    send("POST", f"/v1/runs/{letters[1]['runId']}/succeed", {"reason": "Done by hand."})
    send("POST", f"/v1/runs/{letters[2]['runId']}/retry", {})
    world.run_until(KEPT_AT - 30 * SECOND_MS)
    send("POST", "/v1/operations", {"action": "pause", "match": {"tags": {"team": "nobody"}}})
    send("POST", "/v1/operations", {"action": "trigger", "match": {"tags": {"team": "sales"}}, "perSecond": 1})
    world.create("soon", delaySeconds=33)
    retry = {"baseSeconds": 300, "jitter": "none"}
    world.create("tried again", handler="https://other.example/503", retryPolicy=retry)
