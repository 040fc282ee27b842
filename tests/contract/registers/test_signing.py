"""The signing secret: one for all, whoever comes first, in the memory store and over DynamoDB."""

from collections.abc import Iterator

import pytest

from tests.contract.backends import client, moto, new_table
from timeball.aws.dynamodb.store import dynamo_store
from timeball.aws.dynamodb.table.schema import JOBS
from timeball.ports.store import Store
from timeball.testing.memory_store import MemoryStore


@pytest.fixture(params=["memory", "moto"])
def stores(request: pytest.FixtureRequest) -> Iterator[tuple[Store, Store]]:
    """Return two ways to one table."""
    if request.param == "memory":
        memory = MemoryStore()
        yield memory, memory
    else:
        with moto():
            dynamodb = client("dynamodb")
            table = new_table(dynamodb, JOBS)
            yield dynamo_store(dynamodb, table), dynamo_store(dynamodb, table)


def test_whoever_comes_first_stores_the_secret_and_all_others_get_that(stores: tuple[Store, Store]) -> None:
    one, other = stores
    assert one.signing.secret("a" * 64) == "a" * 64
    assert other.signing.secret("b" * 64) == "a" * 64
    assert one.signing.secret("c" * 64) == "a" * 64
