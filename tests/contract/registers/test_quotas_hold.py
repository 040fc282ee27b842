"""On every store, fifty concurrent clients, each with a function of its own, use exactly what a quota allows."""

import json
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from typing import Any, cast

import pytest
from aws_lambda_powertools.utilities.typing import LambdaContext

from tests.api.client import Api, event_of
from tests.contract.conftest import Subject
from tests.contract.rows import NOW, job, run
from timeball.api.app import build_api
from timeball.domain.attempts.claim import ClaimAction
from timeball.domain.backfill import BackfillStatus
from timeball.domain.model.jobs.job import JobStatus
from timeball.domain.model.jobs.job_states import Among
from timeball.domain.model.runs.run import Permit, Waiting
from timeball.domain.model.tenants.tenant import Quotas
from timeball.domain.time.instants import MINUTE_MS, SECOND_MS
from timeball.engine.backfills import advance_backfills
from timeball.engine.blackouts.freezes import note_quotas
from timeball.engine.execution.limits_gate import pass_limiters
from timeball.ports.rows import ListQuery, Swap
from timeball.ports.store import Store
from timeball.testing.memory_store import MemoryStore

JOB = {"handler": "https://example.com/hook", "delaySeconds": 3600}
CLIENTS = 50


@pytest.fixture
def api(subject: Subject) -> Api:
    return Api(store=cast(MemoryStore, subject.store))


def _ask(api: Api, quotas: Quotas, path: str, bodies: list[object]) -> list[int]:
    """Send all bodies from fifty clients at once; return the statuses of the answers."""
    functions = [build_api(api.edge) for _ in range(CLIENTS)]  # each API instance answers one request at a time

    def ask(number: int) -> list[int]:
        return [
            functions[number](_event(path, body, quotas), LambdaContext())["statusCode"]
            for body in bodies[number::CLIENTS]
        ]

    with ThreadPoolExecutor(CLIENTS) as clients:
        return [status for statuses in clients.map(ask, range(CLIENTS)) for status in statuses]


def _event(path: str, body: object, quotas: Quotas) -> dict[str, Any]:
    event = event_of("POST", path, "acme", {}, {}) | {"body": json.dumps(body)}
    event["requestContext"]["authorizer"]["lambda"]["quotas"] = json.dumps(asdict(quotas))
    return event


def _open(store: Store) -> int:
    return store.jobs.count("acme").parts[Among.OPEN].count


def test_fifty_clients_create_as_many_jobs_a_second_as_the_quota_says(api: Api) -> None:
    for seconds in range(1, 3):
        api.clock.advance(SECOND_MS)
        answered = Counter(_ask(api, Quotas(submits_per_second=100), "/v1/jobs", [JOB] * 150))
        assert answered == {201: 100, 429: 50}
        assert _open(api.store) == 100 * seconds


def test_fifty_clients_create_as_many_jobs_as_a_tenant_may_have_and_more_when_some_have_ended(api: Api) -> None:
    quotas = Quotas(active_jobs=100)
    assert Counter(_ask(api, quotas, "/v1/jobs", [JOB] * 150)) == {201: 100, 429: 50}
    assert _open(api.store) == 100
    api.clock.advance(MINUTE_MS)
    assert Counter(_ask(api, quotas, "/v1/jobs", [JOB] * 50)) == {429: 50}
    api.clock.advance(MINUTE_MS)
    _end(api.store, 30)
    assert Counter(_ask(api, quotas, "/v1/jobs", [JOB] * 100)) == {201: 30, 429: 70}
    assert _open(api.store) == 100


def test_two_quotas_hold_together_and_a_creation_costs_two_requests(api: Api, subject: Subject) -> None:
    quotas = Quotas(active_jobs=100, submits_per_second=60)
    assert Counter(_ask(api, quotas, "/v1/jobs", [JOB] * 90)) == {201: 60, 429: 30}
    api.clock.advance(SECOND_MS)
    before = subject.requests()
    assert Counter(_ask(api, quotas, "/v1/jobs", [JOB])) == {201: 1}
    assert subject.requests() - before in (0, 2)
    assert Counter(_ask(api, quotas, "/v1/jobs", [JOB] * 90)) == {201: 39, 429: 51}
    assert _open(api.store) == 100


def test_fifty_clients_ask_for_backfills_and_as_many_run_as_the_quota_says(api: Api) -> None:
    api.call("PATCH", "/v1/admin/tenants/acme", {"quotas": {"runningBackfills": 3}})
    api.create(everySeconds=60, startAt="2026-11-01T00:00:00Z")
    (job,) = api.store.jobs.read([key for _, key in _listed(api)])
    assert job is not None
    bodies: list[object] = [
        {"from": f"2026-11-02T00:{n:02d}:00Z", "to": "2026-11-02T01:00:00Z", "paceSeconds": 60} for n in range(50)
    ]
    asked = Counter(_ask(api, Quotas(), f"/v1/jobs/{job.key.job_id}/backfills", bodies))
    assert set(asked) == {201}
    for _ in range(3):
        api.clock.advance(SECOND_MS)
        advance_backfills(api.context, [one for one in api.store.backfills.of_owner(job.key) if one.is_open])
        statuses = Counter(one.status for one in api.store.backfills.of_owner(job.key))
        assert statuses == {BackfillStatus.RUNNING: 3, BackfillStatus.WAITING: 47}


@pytest.mark.parametrize(
    ("quotas", "permit", "most"),
    [(Quotas(runs_per_second=4), Permit.TOKEN, 9), (Quotas(runs_at_once=10), Permit.SLOT, 10)],
)
def test_fifty_concurrent_executors_begin_as_many_runs_as_the_quota_says(
    api: Api, quotas: Quotas, permit: Permit, most: int
) -> None:
    note_quotas(api.context, "acme", quotas)
    waiting = [replace(run(NOW + n), not_before=NOW) for n in range(CLIENTS)]
    api.store.runs.insert(waiting, NOW)
    begin, lined_up = list[int](), 0
    while waiting:
        with ThreadPoolExecutor(CLIENTS) as executors:
            told = list(executors.map(lambda one: pass_limiters(api.context, [(one, job())], NOW)[0], waiting))
        decided = [decision for decision in told if decision is not None]
        begin += [one.starts_at for one in decided if one.action is ClaimAction.CLAIM and one.starts_at is not None]
        lined_up += sum(one.waiting == Waiting("", permit) for one in decided)
        waiting = [one for one, decision in zip(waiting, decided, strict=True) if decision.action is ClaimAction.WAIT]
    assert (len(begin), lined_up) == (most, CLIENTS - most)
    assert permit is Permit.SLOT or max(Counter(at // SECOND_MS for at in begin).values()) <= 4


def _listed(api: Api) -> list[Any]:
    return api.store.jobs.listed([Among.OPEN], ListQuery("acme", 10))


def _end(store: Store, number: int) -> None:
    keys = [key for _, key in store.jobs.listed([Among.OPEN], ListQuery("acme", number))]
    jobs = [job for job in store.jobs.read(keys) if job is not None]
    ended = [Swap(job, replace(job, status=JobStatus.CANCELLED, due_at=None)) for job in jobs]
    assert all(one.done for one in store.jobs.swap(ended, 0))
