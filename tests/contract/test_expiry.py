"""When rows are forgotten: only DynamoDB forgets, so this is asked of its rows, not of the stores' contract."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import pytest

from tests.contract.backends import client, moto, new_table
from tests.contract.rows import KEY, NOW, job, work
from timeball.aws.store import DynamoStore
from timeball.domain.host import Host, HostKey
from timeball.domain.instants import DAY_MS, LATEST, SECOND_MS
from timeball.ports import Swap

LARGE, OTHER = 5_000, 5_001
NEVER = LATEST // SECOND_MS


def days_after_now(days: int) -> int:
    return (NOW + days * DAY_MS) // SECOND_MS


@dataclass(frozen=True)
class Table:
    """A table, and the store on it."""

    dynamodb: Any
    name: str
    store: DynamoStore

    def expiries(self, begins: str) -> list[int | None]:
        """Return when each row is forgotten whose sort key begins so, in whole seconds."""
        items = self.dynamodb.scan(TableName=self.name)["Items"]
        found = [item.get("expires_at", {}).get("N") for item in items if item["sk"]["S"].startswith(begins)]
        return sorted((None if at is None else int(at) for at in found), key=lambda at: at or 0)

    def patch(self, characters: int, now: int) -> None:
        """Give the job another payload."""
        (before,) = self.store.read_jobs([KEY], with_work=True)
        assert before is not None
        after = replace(before, work=work(characters), revision=before.revision + 1)
        assert self.store.swap_jobs([Swap(before, after, with_work=True)], now)[0].done


@pytest.fixture
def table() -> Iterator[Table]:
    with moto():
        dynamodb = client("dynamodb")
        name = new_table(dynamodb)
        yield Table(dynamodb, name, DynamoStore(dynamodb, name))


def test_a_large_payload_that_a_job_leaves_and_takes_again_is_never_forgotten(table: Table) -> None:
    table.store.create_jobs([job(characters=LARGE)], NOW)
    assert table.expiries("PAYLOAD") == [None]
    table.patch(OTHER, NOW)
    assert table.expiries("PAYLOAD") == [None, days_after_now(90)]
    table.patch(LARGE, NOW)
    assert table.expiries("PAYLOAD") == [days_after_now(90), NEVER]


def test_a_payload_that_a_trigger_brought_is_kept_for_the_job_that_then_takes_it(table: Table) -> None:
    table.store.create_jobs([job(characters=20)], NOW)
    table.store.save_works([(KEY, work(LARGE))], NOW)
    table.patch(LARGE, NOW)
    assert table.expiries("PAYLOAD") == [NEVER]
    table.store.save_works([(KEY, work(LARGE))], NOW)
    assert table.expiries("PAYLOAD") == [NEVER]


def test_a_payload_of_a_runs_own_is_kept_for_as_long_as_the_last_run_that_brought_it_may_be_retried(
    table: Table,
) -> None:
    for now in (NOW, NOW + 50 * DAY_MS, NOW + 20 * DAY_MS):
        table.store.save_works([(KEY, work(LARGE))], now)
    assert table.expiries("PAYLOAD") == [days_after_now(50 + 2 * 90)]


def test_a_host_that_keeps_failing_is_forgotten_a_day_after_the_last_word_of_it(table: Table) -> None:
    host = Host(HostKey("acme", "dead.example"), failures=1)
    table.store.create_hosts([host], NOW)
    table.store.swap_hosts([Swap(host, replace(host, failures=2, revision=2))], NOW + DAY_MS)
    assert table.expiries("") == [days_after_now(2)]
