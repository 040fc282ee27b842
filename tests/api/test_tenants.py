from collections.abc import Iterator
from typing import TYPE_CHECKING

import boto3
import pytest
from botocore.exceptions import ClientError
from moto import mock_aws

from timeball.aws.schema import TENANTS
from timeball.aws.tenants import KEY_PREFIX, KeyHolder, Tenants, hash_of

if TYPE_CHECKING:
    from types_boto3_dynamodb import DynamoDBClient

SECRET = bytes(range(32))


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> "Iterator[DynamoDBClient]":
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    with mock_aws():
        client = boto3.client("dynamodb")
        client.create_table(
            TableName="tenants",
            BillingMode="PAY_PER_REQUEST",
            AttributeDefinitions=[
                {"AttributeName": TENANTS.partition.name, "AttributeType": "S"},
                {"AttributeName": TENANTS.sort.name, "AttributeType": "S"},
            ],
            KeySchema=[
                {"AttributeName": TENANTS.partition.name, "KeyType": "HASH"},
                {"AttributeName": TENANTS.sort.name, "KeyType": "RANGE"},
            ],
        )
        yield client


@pytest.fixture
def tenants(client: "DynamoDBClient") -> Tenants:
    return Tenants(client, "tenants")


def test_a_key_is_found_by_its_text_alone_and_stored_as_a_hash(client: "DynamoDBClient", tenants: Tenants) -> None:
    issued = tenants.create_key("acme", 1000, lambda: SECRET)
    assert issued.key == KEY_PREFIX + SECRET.hex()
    assert tenants.find_key(issued.key) == KeyHolder("acme", issued.key_id)
    assert tenants.find_key(issued.key[:-1]) is None
    (row,) = client.scan(TableName="tenants")["Items"]
    assert row == {
        "pk": {"S": f"KEY#{hash_of(issued.key)}"},
        "sk": {"S": "KEY"},
        "v": {"N": "1"},
        "tenant": {"S": "acme"},
        "key_id": {"S": issued.key_id},
        "created_at": {"N": "1000"},
    }
    assert SECRET.hex() not in str(row)


def test_a_key_with_an_end_is_valid_until_then(tenants: Tenants) -> None:
    issued = tenants.create_key("acme", 1000, lambda: SECRET, expires_at=2000)
    holder = tenants.find_key(issued.key)
    assert holder is not None
    assert (holder.is_valid(1999), holder.is_valid(2000)) == (True, False)


def test_a_disabled_key_is_none(client: "DynamoDBClient", tenants: Tenants) -> None:
    issued = tenants.create_key("acme", 1000, lambda: SECRET)
    client.update_item(
        TableName="tenants",
        Key={"pk": {"S": f"KEY#{hash_of(issued.key)}"}, "sk": {"S": "KEY"}},
        UpdateExpression="SET disabled = :yes",
        ExpressionAttributeValues={":yes": {"BOOL": True}},
    )
    assert tenants.find_key(issued.key) is None


def test_randomness_that_is_short_or_was_used_makes_no_key(tenants: Tenants) -> None:
    tenants.create_key("acme", 1000, lambda: SECRET)
    with pytest.raises(ValueError, match="before"):
        tenants.create_key("globex", 1000, lambda: SECRET)
    with pytest.raises(ValueError, match="32"):
        tenants.create_key("globex", 1000, lambda: b"short")
    assert tenants.find_key(KEY_PREFIX + SECRET.hex()) == KeyHolder(
        "acme", f"key_{hash_of(KEY_PREFIX + SECRET.hex())[:16]}"
    )


def test_a_tenant_is_created_once(tenants: Tenants) -> None:
    assert tenants.create_tenant("acme", 1000) is True
    assert tenants.create_tenant("acme", 2000) is False


@pytest.mark.parametrize("name", ["", "a#b", "a b", "x" * 65, "ä"])
def test_a_name_that_would_break_keys_is_no_tenants(tenants: Tenants, name: str) -> None:
    with pytest.raises(ValueError, match="1 to 64"):
        tenants.create_tenant(name, 1000)


def test_a_read_that_fails_raises(client: "DynamoDBClient") -> None:
    with pytest.raises(ClientError):
        Tenants(client, "no-such-table").find_key("tb_x")
