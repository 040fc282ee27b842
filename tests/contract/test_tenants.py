"""Tenants and the holders of keys: one suite for the memory fake, moto and an endpoint, and what DynamoDB stores."""

from collections.abc import Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.contract.backends import client, moto, new_table
from tests.contract.conftest import ENDPOINT
from timeball.aws.dynamodb.table.schema import TENANTS
from timeball.aws.dynamodb.tenants import DynamoTenants
from timeball.domain.model.tenant import KeyHolder, issue_key, new_tenant
from timeball.ports.tenants import Tenants
from timeball.testing.memory_tenants import MemoryTenants

ISSUED = issue_key("acme", bytes(range(32)), 1000)
HOLDERS = {
    "a plain one": ISSUED.holder,
    "one that expires": KeyHolder("acme", "key_2", 1000, expires_at=2000),
    "one that is disabled": KeyHolder("acme", "key_3", 1000, disabled=True),
}


@pytest.fixture(params=["memory", "moto", *(["endpoint"] if ENDPOINT else [])])
def tenants(request: pytest.FixtureRequest) -> Iterator[Tenants]:
    if request.param == "memory":
        yield MemoryTenants()
    elif request.param == "moto":
        with moto():
            yield _on(client("dynamodb"))
    else:
        dynamodb = client("dynamodb", ENDPOINT)
        table = new_table(dynamodb, TENANTS)
        yield DynamoTenants(dynamodb, table)
        dynamodb.delete_table(TableName=table)


def _on(dynamodb: Any) -> DynamoTenants:
    return DynamoTenants(dynamodb, new_table(dynamodb, TENANTS))


@pytest.mark.parametrize("holder", HOLDERS.values(), ids=HOLDERS)
def test_a_holder_is_found_by_the_hash_of_its_key_as_it_was_stored(tenants: Tenants, holder: KeyHolder) -> None:
    assert tenants.create_key(ISSUED.hashed, holder)
    assert tenants.find_holder(ISSUED.hashed) == holder


def test_a_key_that_was_never_made_has_no_holder(tenants: Tenants) -> None:
    assert tenants.create_key(ISSUED.hashed, ISSUED.holder)
    assert tenants.find_holder(ISSUED.hashed[:-1]) is None


def test_a_key_keeps_its_first_holder(tenants: Tenants) -> None:
    assert tenants.create_key(ISSUED.hashed, ISSUED.holder)
    assert not tenants.create_key(ISSUED.hashed, KeyHolder("globex", "key_9", 1000))
    assert tenants.find_holder(ISSUED.hashed) == ISSUED.holder


def test_a_tenant_is_created_once(tenants: Tenants) -> None:
    assert tenants.create_tenant(new_tenant("acme", 1000))
    assert not tenants.create_tenant(new_tenant("acme", 2000))
    assert tenants.create_tenant(new_tenant("globex", 2000))


def test_a_key_is_stored_as_its_hash_alone() -> None:
    with moto():
        dynamodb = client("dynamodb")
        tenants = _on(dynamodb)
        tenants.create_key(ISSUED.hashed, ISSUED.holder)
        (row,) = dynamodb.scan(TableName=tenants._table)["Items"]
    assert row == {
        "pk": {"S": f"KEY#{ISSUED.hashed}"},
        "sk": {"S": "KEY"},
        "v": {"N": "1"},
        "tenant": {"S": "acme"},
        "key_id": {"S": ISSUED.holder.key_id},
        "created_at": {"N": "1000"},
    }
    assert ISSUED.key.removeprefix("tb_") not in str(row)


def test_a_read_that_fails_raises() -> None:
    with moto(), pytest.raises(ClientError):
        DynamoTenants(client("dynamodb"), "no-such-table").find_holder(ISSUED.hashed)
