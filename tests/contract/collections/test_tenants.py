"""Tenants and API keys: one suite for the memory fake, moto and an endpoint, and the rows that DynamoDB stores."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.contract.backends import client, moto, new_table
from tests.contract.conftest import ENDPOINT
from timeball.aws.dynamodb.table.schema import SESSIONS, TENANTS
from timeball.aws.dynamodb.tenants import DynamoHolders, dynamo_tenants
from timeball.domain.model.tenants.key import Key, Role, fresh_key, hash_of, id_in
from timeball.domain.model.tenants.session import CODE_LASTS_MS, fresh_code, fresh_session_id, offered
from timeball.domain.model.tenants.tenant import Tenant, new_tenant
from timeball.ports.rows import Swap
from timeball.ports.tenants import ALL, Holders, Tenants
from timeball.testing.memory_store import MemoryTenants

TEXT = fresh_key("acme", bytes(range(32)))
KEY_ID = id_in(TEXT) or ""
KEYS = {
    "a plain one": Key(KEY_ID, hash_of(TEXT), Role.VIEWER, 1000),
    "one that says all": Key(
        KEY_ID, hash_of(TEXT), Role.WORKER, 1000, "ci", {"team": "blue"}, "acme.9", expires_at=2000, revoked_at=3000
    ),
}
NOW = 5000
CODE = fresh_code(fresh_session_id(KEY_ID, bytes(16)), b"secret of a code")


@dataclass
class Place:
    """The rows of one table, and the authorizer's reader of them."""

    tenants: Tenants
    holders: Holders


@pytest.fixture(params=["memory", "moto", *(["endpoint"] if ENDPOINT else [])])
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    if request.param == "memory":
        memory = MemoryTenants()
        yield Place(memory, memory)
    elif request.param == "moto":
        with moto():
            yield _on(client("dynamodb"))[0]
    else:
        dynamodb = client("dynamodb", ENDPOINT)
        there, table = _on(dynamodb)
        yield there
        dynamodb.delete_table(TableName=table)


def _on(dynamodb: Any) -> tuple[Place, str]:
    table = new_table(dynamodb, TENANTS)
    return Place(dynamo_tenants(dynamodb, table), DynamoHolders(dynamodb, table)), table


@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS)
def test_a_key_is_found_with_its_tenant_as_they_were_stored(place: Place, key: Key) -> None:
    tenant = new_tenant("acme", 1000)
    assert place.tenants.tenants.insert([tenant], NOW) == [None]
    assert place.tenants.keys.insert([key], NOW) == [None]
    assert place.holders.find_holder(KEY_ID) == (tenant, key)
    assert place.tenants.keys.read([KEY_ID]) == [key]


def test_an_unknown_key_is_none_and_its_tenant_is_found(place: Place) -> None:
    place.tenants.tenants.insert([new_tenant("acme", 1000)], NOW)
    assert place.holders.find_holder(KEY_ID) == (new_tenant("acme", 1000), None)
    assert place.holders.find_holder("globex.000000000000") == (None, None)


def test_a_standing_row_is_not_overwritten(place: Place) -> None:
    key = KEYS["a plain one"]
    place.tenants.keys.insert([key], NOW)
    assert place.tenants.keys.insert([replace(key, role=Role.ADMIN)], NOW) == [key]
    place.tenants.tenants.insert([new_tenant("acme", 1000)], NOW)
    assert place.tenants.tenants.insert([new_tenant("acme", 2000)], NOW) == [new_tenant("acme", 1000)]


def test_a_key_and_a_tenant_change_only_if_they_are_as_they_were_read(place: Place) -> None:
    key, tenant = KEYS["a plain one"], new_tenant("acme", 1000)
    place.tenants.keys.insert([key], NOW)
    place.tenants.tenants.insert([tenant], NOW)
    revoked = Swap(key, replace(key, revoked_at=9))
    (done,) = place.tenants.keys.swap([revoked], NOW)
    assert (done.done, done.row) == (True, replace(key, revoked_at=9, revision=2))
    (late,) = place.tenants.keys.swap([Swap(key, replace(key, role=Role.ADMIN))], NOW)
    assert (late.done, late.row) == (False, done.row)
    (disabled,) = place.tenants.tenants.swap([Swap(tenant, replace(tenant, disabled_at=7))], NOW)
    assert place.holders.find_holder(KEY_ID) == (disabled.row, done.row)


def test_tenants_and_a_tenants_keys_are_listed_in_order_page_by_page(place: Place) -> None:
    names = ["a", "a-b", "acme", "b", "bb"]
    place.tenants.tenants.insert([new_tenant(name, 1) for name in reversed(names)], NOW)
    ids = [f"{name}.{number:012x}" for name in names for number in range(3)]
    place.tenants.keys.insert([Key(one, "h", Role.VIEWER, 1) for one in ids], NOW)

    def named(after: str, limit: int) -> list[str]:
        return [one.name for one in place.tenants.tenants.of_owner(ALL, after, limit)]

    def of(tenant: str, after: str, limit: int) -> list[str]:
        return [one.key_id for one in place.tenants.keys.of_owner(tenant, after, limit)]

    assert named("", 10) == names
    assert named("a", 2) == ["a-b", "acme"]
    assert of("a", "", 10) == ids[:3]
    assert of("a", ids[0], 1) == [ids[1]]
    assert of("acme", "", 2) == ids[6:8]
    assert of("nobody", "", 2) == []


def test_only_the_hash_of_a_key_is_stored() -> None:
    with moto():
        dynamodb = client("dynamodb")
        place, table = _on(dynamodb)
        place.tenants.keys.insert([KEYS["a plain one"]], NOW)
        (row,) = dynamodb.scan(TableName=table)["Items"]
    assert len(row.pop("w")["S"]) == 8
    assert row == {
        "pk": {"S": "KEYS#acme"},
        "sk": {"S": KEY_ID},
        "v": {"N": "1"},
        "hashed": {"S": hash_of(TEXT)},
        "role": {"S": "viewer"},
        "created_at": {"N": "1000"},
        "revision": {"N": "1"},
    }
    assert TEXT.rpartition("_")[2] not in str(row)


def test_a_session_is_found_with_its_key_and_its_tenant_and_its_use_is_noted(place: Place) -> None:
    key, tenant = KEYS["a plain one"], new_tenant("acme", 1000)
    session = offered(fresh_session_id(KEY_ID, bytes(16)), CODE, NOW)
    assert place.holders.find_session(session.session_id) == (None, None, None)
    place.tenants.tenants.insert([tenant], NOW)
    place.tenants.keys.insert([key], NOW)
    assert place.tenants.sessions.insert([session], NOW) == [None]
    assert place.tenants.sessions.insert([session], NOW + 1) == [session]
    assert place.holders.find_session(session.session_id) == (tenant, key, session)
    place.holders.note_use(session, replace(session, used_at=NOW + 9), NOW + 9)
    noted = replace(session, used_at=NOW + 9, revision=2)
    assert place.tenants.sessions.read([session.session_id]) == [noted]
    place.holders.note_use(session, replace(session, used_at=NOW + 10), NOW + 10)  # its row has changed meanwhile
    assert place.holders.find_session(session.session_id) == (tenant, key, noted)
    assert place.tenants.keys.of_owner("acme", "", 9) == [key]  # sessions stand beside the keys, and not among them


def test_a_sessions_row_has_no_secret_and_is_removed_a_day_after_its_end() -> None:
    with moto():
        dynamodb = client("dynamodb")
        place, table = _on(dynamodb)
        place.tenants.sessions.insert([offered(fresh_session_id(KEY_ID, bytes(16)), CODE, NOW)], NOW)
        (row,) = dynamodb.scan(TableName=table)["Items"]
    assert row["pk"] == {"S": f"{SESSIONS}acme"}
    assert row["remove_at"] == {"N": str((NOW + CODE_LASTS_MS) // 1000 + 24 * 3600)}
    assert CODE.rpartition("_")[2] not in str(row)


def test_a_read_that_fails_raises() -> None:
    with moto(), pytest.raises(ClientError):
        DynamoHolders(client("dynamodb"), "no-such-table").find_holder(KEY_ID)


def test_a_tenant_without_settings_is_a_small_row() -> None:
    with moto():
        dynamodb = client("dynamodb")
        place, table = _on(dynamodb)
        place.tenants.tenants.insert([Tenant("acme", 1000)], NOW)
        (row,) = dynamodb.scan(TableName=table)["Items"]
    assert row.keys() == {"pk", "sk", "v", "created_at", "weight", "revision", "w"}
