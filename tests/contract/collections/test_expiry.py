"""When rows expire: only DynamoDB deletes rows, so these tests read its rows and are not in the stores' contract."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import pytest

from tests.contract.backends import client, moto, new_table
from tests.contract.moves import CALENDAR, FREEZE
from tests.contract.rows import KEY, NOW, job, one_off, work
from timeball.aws.dynamodb.store import dynamo_store
from timeball.aws.dynamodb.table.mapper import Mapper
from timeball.domain.attempts.circuit_breaker import Circuit, CircuitKey
from timeball.domain.model.evolve import evolve
from timeball.domain.model.jobs.job import JobStatus, with_spec
from timeball.domain.model.jobs.revision import Announcement, revision_of
from timeball.domain.planning.era import DEPLOYMENT, Era
from timeball.domain.time.instants import DAY_MS, LATEST, SECOND_MS
from timeball.ports.rows import Swap
from timeball.ports.store import Store

LARGE, OTHER = 5_000, 5_001
NEVER = LATEST // SECOND_MS


def days_after_now(days: int) -> int:
    return (NOW + days * DAY_MS) // SECOND_MS


@dataclass(frozen=True)
class Table:
    """A table, and the store over it."""

    dynamodb: Any
    name: str
    store: Store

    def expiries(self, begins: str) -> list[int | None]:
        """Return the expiry of each row whose sort key begins with this text, in whole seconds."""
        items = self.dynamodb.scan(TableName=self.name)["Items"]
        found = [item.get("expires_at", {}).get("N") for item in items if item["sk"]["S"].startswith(begins)]
        return sorted((None if at is None else int(at) for at in found), key=lambda at: at or 0)

    def patch(self, characters: int, now: int) -> None:
        """Give the job another payload."""
        (before,) = self.store.jobs.read([KEY], with_work=True)
        assert before is not None
        after = with_spec(before, work=work(characters))
        assert self.store.jobs.swap([Swap(before, after)], now)[0].done


@pytest.fixture
def table() -> Iterator[Table]:
    with moto():
        dynamodb = client("dynamodb")
        name = new_table(dynamodb)
        yield Table(dynamodb, name, dynamo_store(dynamodb, name))


def test_a_large_payload_that_a_job_drops_and_takes_again_never_expires(table: Table) -> None:
    table.store.jobs.insert([job(characters=LARGE)], NOW)
    assert table.expiries("PAYLOAD") == [NEVER]
    table.patch(OTHER, NOW)
    assert table.expiries("PAYLOAD") == [days_after_now(Mapper().history_days), NEVER]
    table.patch(LARGE, NOW)
    assert table.expiries("PAYLOAD") == [days_after_now(Mapper().history_days), NEVER]


def test_a_triggers_payload_that_the_job_then_takes_is_kept(table: Table) -> None:
    table.store.jobs.insert([job(characters=20)], NOW)
    table.store.works.save([(KEY, work(LARGE))], NOW)
    table.patch(LARGE, NOW)
    assert table.expiries("PAYLOAD") == [NEVER]
    table.store.works.save([(KEY, work(LARGE))], NOW)
    assert table.expiries("PAYLOAD") == [NEVER]


def test_a_runs_own_payload_is_kept_for_as_long_as_the_last_run_with_it_may_be_retried(
    table: Table,
) -> None:
    for now in (NOW, NOW + 50 * DAY_MS, NOW + 20 * DAY_MS):
        table.store.works.save([(KEY, work(LARGE))], now)
    assert table.expiries("PAYLOAD") == [days_after_now(50 + 2 * 90)]


def test_a_host_that_keeps_failing_expires_a_day_after_its_last_write(table: Table) -> None:
    host = Circuit(CircuitKey("acme", "https://dead.example"), failures=1)
    table.store.circuits.insert([host], NOW)
    table.store.circuits.swap([Swap(host, replace(host, failures=2))], NOW + DAY_MS)
    assert table.expiries("") == [days_after_now(2)]


def test_revisions_are_kept_for_the_days_of_the_history_and_so_are_their_payloads(table: Table) -> None:
    store = dynamo_store(table.dynamodb, table.name, mapper=Mapper(retention_days=2, history_days=30))
    before = job(characters=LARGE)
    store.jobs.insert([before], NOW)
    store.changes.note([revision_of(before), Announcement(NOW, KEY, 2, 0, "", "key_1")], NOW)
    assert store.jobs.swap([Swap(before, with_spec(before, work=work(OTHER)))], NOW)[0].done
    assert table.expiries("REVISION") == table.expiries("CHANGE") == [days_after_now(30)]
    assert days_after_now(30) in table.expiries("PAYLOAD")


def test_former_calendars_and_freezes_expire_with_the_history_and_eras_never(table: Table) -> None:
    store = dynamo_store(table.dynamodb, table.name, mapper=Mapper(retention_days=2, history_days=30))
    store.former_calendars.note([(CALENDAR.key, CALENDAR)], NOW)
    store.former_freezes.note([("acme", FREEZE)], NOW)
    store.eras.note([(DEPLOYMENT, Era(NOW, 60_000, 5_000))], NOW)
    assert table.expiries("CALENDAR") == table.expiries("FREEZE") == [days_after_now(30)]
    assert table.expiries("ERA") == [None]


def test_an_ended_job_expires_unless_it_is_a_gate_of_recurring_jobs() -> None:
    ended = evolve(one_off(), status=JobStatus.COMPLETED, due_at=None)
    mapper = Mapper()
    assert "expires_at" in mapper.of_job(ended, NOW)
    assert "expires_at" not in mapper.of_job(evolve(ended, is_gate=True), NOW)
