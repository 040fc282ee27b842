"""Counters of tenants' hours are exact under concurrent additions, and no addition counts twice."""

import pytest

from tests.contract.backends import client, moto, new_table
from tests.contract.conftest import Subject
from tests.contract.rows import NOW
from timeball.aws.dynamodb.store import dynamo_store
from timeball.domain.time.instants import DAY_MS, HOUR_MS, SECOND_MS
from timeball.domain.usage.hours import KEPT_DAYS, UNKNOWN_TENANT, HourKey, hour_of
from timeball.ports.store import Store

HOUR = HourKey("acme", hour_of(NOW), "normal")


def later(hours: int, subject: str = "normal", tenant: str = "acme") -> HourKey:
    return HourKey(tenant, HOUR.began_at + hours * HOUR_MS, subject)


def test_the_additions_of_several_processes_add_up(store: Store) -> None:
    assert store.usage.add([(HOUR, {"RunsStarted": 2, "Lateness.10": 1})], NOW) == [True]
    assert store.usage.add([(HOUR, {"RunsStarted": 3, "FiresSkipped.overlap": 7})], NOW + 1) == [True]
    ((key, counts),) = store.usage.between("acme", HOUR.began_at, NOW)
    assert key == HOUR
    assert dict(counts) == {"RunsStarted": 5, "Lateness.10": 1, "FiresSkipped.overlap": 7}


def test_hours_subjects_and_tenants_are_kept_apart(store: Store) -> None:
    keys = [
        HOUR,
        later(0, "high"),
        later(1),
        later(2, "job#daily"),
        later(0, tenant="other"),
        later(0, tenant=UNKNOWN_TENANT),
    ]
    assert store.usage.add([(key, {"n": number}) for number, key in enumerate(keys, 1)], NOW) == [True] * 6
    assert store.usage.add([], NOW) == []

    def told(tenant: str, first: int, last: int) -> list[tuple[HourKey, int]]:
        found = store.usage.between(tenant, HOUR.began_at + first * HOUR_MS, HOUR.began_at + last * HOUR_MS)
        return [(key, counts["n"]) for key, counts in found]

    assert told("acme", 0, 2) == [(keys[1], 2), (keys[0], 1), (keys[2], 3), (keys[3], 4)]
    assert told("acme", 1, 1) == [(keys[2], 3)]
    assert told("other", -1, 9) == [(keys[4], 5)]
    assert told(UNKNOWN_TENANT, -1, 9) == [(keys[5], 6)]
    assert told("acme", 3, 9) == []


def test_an_addition_whose_answer_was_lost_is_not_repeated(subject: Subject) -> None:
    subject.lose_answer()
    added = subject.store.usage.add([(HOUR, {"n": 1})], NOW)
    ((_, counts),) = subject.store.usage.between("acme", HOUR.began_at, NOW)
    assert counts["n"] == 1
    assert added == [subject.requests() == 0]  # memory loses no answer


@pytest.mark.parametrize("hours", [1, 5])
def test_an_hour_is_one_update_and_expires(hours: int) -> None:
    with moto():
        dynamodb = client("dynamodb")
        table = new_table(dynamodb)
        asked: list[str] = []
        dynamodb.meta.events.register("before-call.dynamodb", lambda model, **_: asked.append(model.name))
        dynamo_store(dynamodb, table).usage.add([(later(n), {"n": 1, "m": 2}) for n in range(hours)], NOW)
        assert asked == ["UpdateItem"] * hours
        rows = dynamodb.scan(TableName=table)["Items"]
    assert {int(row["expires_at"]["N"]) for row in rows} == {(NOW + KEPT_DAYS * DAY_MS) // SECOND_MS}
    assert {row["pk"]["S"] for row in rows} == {"acme#!"}
