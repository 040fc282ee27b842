"""The rows of each release are read by today's code, and what they began goes on."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from typing import Any

import pytest

from tests.contract.backends import moto
from tests.rows.drills import run_on_old_rows
from tests.rows.kept import KeptRelease, releases
from tests.rows.shapes import KINDS
from tests.rows.world import Row, Tables, World
from timeball.aws.dynamodb.table import keys
from timeball.aws.dynamodb.table.shapes import FIRST, SHAPES
from timeball.domain.attempts.circuit_breaker import Circuit
from timeball.domain.backfill import Backfill
from timeball.domain.backfill_slots import BackfillSlots
from timeball.domain.model.ids import JobKey
from timeball.domain.model.jobs.calendar import Calendar
from timeball.domain.model.jobs.freeze import Freeze, Freezes
from timeball.domain.model.jobs.job import Job, JobStatus
from timeball.domain.model.jobs.revision import Announcement, Revision
from timeball.domain.model.jobs.task import Task
from timeball.domain.model.runs.limiter import Limiter
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.runs.values import Attempt
from timeball.domain.model.tenants.key import Key
from timeball.domain.model.tenants.session import Session
from timeball.domain.model.tenants.tenant import Tenant
from timeball.domain.model.terms.event import Patterns, Subscription, WaitingEvent
from timeball.domain.model.terms.flow import UniqueKeyRow
from timeball.domain.model.terms.policies import Work
from timeball.domain.operation import Operation
from timeball.domain.planning.era import Era

BY_SK: Mapping[str, type] = {
    "JOB": Job,
    "RUN": Run,
    "RESULT": Attempt,
    "PAYLOAD": Work,
    "REVISION": Revision,
    "CHANGE": Announcement,
    "BACKFILL": Backfill,
    "HOST": Circuit,
    "TASK": Task,
    "VERSION": Task,
    "OPERATION": Operation,
    "SUBSCRIPTION": Subscription,
    "UNIQUE": UniqueKeyRow,
    "SLOTS": BackfillSlots,
    "PATTERNS": Patterns,
    "FREEZES": Freezes,
    "FREEZE": Freeze,
    "LIMITER": Limiter,
    "CALENDAR": Calendar,
    "ERA": Era,
}
"""The kinds of rows, by the first part of the sort key in the jobs table."""

PLAIN = frozenset(
    {"CHILD", "REQUEST", "WINDOW", "INTAKE", "USE", "HOUR", "OWNER", "SECRET", "OLDEST_DAY", "SETTLED", "MOST"}
)
"""The rows that have no dataclass, and one shape for ever."""

OF_THE_TABLE = {"pk", "sk", "v", "w", "due_bucket", "list_key", "listed_at", "state_key", "task_key", "expires_at"}
OF_THE_TABLE |= {"notable_key", "notable_at", "remove_at"}
WITHIN: Mapping[type, set[str]] = {
    Job: {"work", "work_digest"},
    Revision: {"work", "work_digest"},
    Attempt: {"attempt"},
    Work: {"work"},
}
"""The attributes that are no fields: those of tables and indexes, and the texts that hold a whole value."""


@pytest.fixture(scope="module")
def tables() -> Iterator[Tables]:
    with moto():
        yield Tables.new()


@pytest.fixture(params=releases(), scope="module")
def kept(request: pytest.FixtureRequest) -> KeptRelease:
    return KeptRelease.read(request.param)


def kind_of(row: Row) -> type | None:
    """Return the kind of a kept row; None: it has no dataclass."""
    first = row["sk"].partition("#")[0]
    if first == "EVENT":
        return WaitingEvent if "#" in row["sk"] else None
    return None if first in PLAIN else BY_SK[first]


def test_every_kind_of_row_is_kept(kept: KeptRelease) -> None:
    kinds = {kind_of(row) for row in kept.rows["jobs"]} - {None}
    tenants = {row["pk"].partition("#")[0] for row in kept.rows["tenants"]}
    assert kinds == {*KINDS} - {Tenant, Key, Session}
    assert tenants == {"TENANTS", "KEYS", "SESSIONS"}
    assert {row["sk"].partition("#")[0] for row in kept.rows["jobs"]} >= PLAIN


def test_runs_in_every_state_are_kept(kept: KeptRelease) -> None:
    states = {row["state"] for row in kept.rows["jobs"] if row["sk"].startswith(keys.RUN)}
    statuses = {row["status"] for row in kept.rows["jobs"] if row["sk"] == keys.JOB and "status" in row}
    assert {*RunState} - states == set()
    assert statuses >= {JobStatus.PAUSED, JobStatus.CANCELLED, JobStatus.COMPLETED, JobStatus.FAILED}


def test_no_attribute_of_a_kept_row_is_unknown_today(kept: KeptRelease) -> None:
    """An attribute that nothing reads is lost: its row lacks a reader."""
    unread: Counter[str] = Counter()
    for row in kept.rows["jobs"]:
        kind = kind_of(row)
        if kind is not None:
            known = {one.name for one in fields(kind)} | WITHIN.get(kind, set()) | OF_THE_TABLE
            unread.update(f"{kind.__name__}.{name}" for name in SHAPES.get(kind, FIRST).read(row).keys() - known)
    assert not unread


def test_every_kept_row_is_read(kept: KeptRelease, tables: Tables) -> None:
    tables.fill(kept.rows)
    world = World(tables, kept.at)
    store = world.store
    jobs = [keys.job_of(row["pk"]) for row in kept.rows["jobs"] if row["sk"] == keys.JOB]
    assert None not in store.jobs.read(jobs, with_work=True)
    for row in kept.rows["jobs"]:
        read = READ.get(kind_of(row) or object)
        assert read is None or read(world, row), row
    assert {*READ} | {Job, Work, Revision, Announcement, Freeze, Era, Session, Tenant, Key} == {*KINDS}
    for tenant in ("acme", "globex"):
        for path in ("/v1/jobs", "/v1/runs", "/v1/changes", "/v1/freezes", "/v1/operations", "/v1/tasks", "/v1/now"):
            world.send("GET", path, tenant=tenant)
    world.send("GET", "/v1/freezes", query={"over": "true"})
    world.send("GET", "/v1/calendars/holidays/revisions")
    assert len(world.send("GET", "/v1/jobs/interval/revisions")["items"]) > 1
    assert len(world.send("GET", "/v1/admin/tenants")["items"]) == 3
    assert len(world.send("GET", "/v1/admin/keys")["items"]) == 2
    assert store.eras.of_owner("deployment", 1)


def _one(rows: str, name: Callable[[Row], Any]) -> Callable[[World, Row], bool]:
    return lambda world, row: getattr(world.store, rows).read([name(row)])[0] is not None


def _attempt(world: World, row: Row) -> bool:
    _, fire_at, origin, number = row["sk"].split("#")
    job = keys.job_of(row["pk"])
    runs = [run for run in _ledger(world, job) if run.id.fire_at == int(fire_at) and origin.startswith(run.id.origin)]
    return any(one.number == int(number) for run in runs for one in world.store.attempts.of_run(run.id))


def _ledger(world: World, job: JobKey) -> list[Run]:
    return world.play.runs(job)


def _task(world: World, row: Row) -> bool:
    found = world.store.tasks.read([keys.TASKS.name_in(row["pk"], "")])[0]
    return found is not None and (row["sk"] == "TASK" or found.version > int(row["sk"].partition("#")[2]))


def _calendar(world: World, row: Row) -> bool:
    if row["pk"].endswith("#!"):
        return world.store.calendars.read([keys.calendar_in(row["pk"], row["sk"])])[0] is not None
    return True


READ: Mapping[type, Callable[[World, Row], bool]] = {
    Run: _one("runs", lambda row: keys.owner_of_row(row["pk"], row["sk"])),
    Backfill: _one("backfills", lambda row: keys.backfill_in(row["pk"], row["sk"])),
    BackfillSlots: _one("slots", lambda row: keys.tenant_in(row["pk"], "")),
    Circuit: _one("circuits", lambda row: keys.CIRCUITS.name_in(row["pk"], "")),
    Limiter: _one("limiters", lambda row: keys.LIMITERS.name_in(row["pk"], "")),
    Operation: _one("operations", lambda row: keys.OPERATIONS.name_in(row["pk"], "")),
    Freezes: _one("freezes", lambda row: keys.tenant_in(row["pk"], "")),
    Subscription: _one("subscriptions", lambda row: keys.SUBSCRIPTIONS.name_in(row["pk"], "")),
    WaitingEvent: _one("waiting_events", lambda row: keys.waiting_event_in(row["pk"], row["sk"])),
    Patterns: _one("patterns", lambda row: keys.tenant_in(row["pk"], "")),
    UniqueKeyRow: _one("uniques", lambda row: keys.UNIQUES.name_in(row["pk"], "")),
    Attempt: _attempt,
    Task: _task,
    Calendar: _calendar,
}
"""How a row of each kind is read through the store; the other kinds are read by a request."""


def test_what_a_release_began_goes_on(kept: KeptRelease, tables: Tables) -> None:
    tables.fill(kept.rows)
    world = World(tables, kept.at)
    found = run_on_old_rows(world, kept)
    assert not found, "\n".join(found)
    assert len(world.caller.calls) > 5
