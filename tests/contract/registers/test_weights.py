"""Weights of tenants are read from their rows once a minute, and are only advice."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from tests.contract.backends import client, moto, new_table
from timeball.aws.dynamodb.store import DynamoWeights
from timeball.aws.dynamodb.table.queries import TableReader
from timeball.aws.dynamodb.table.schema import TENANTS
from timeball.aws.dynamodb.tenants import dynamo_tenants
from timeball.aws.request_retries import BRISKLY
from timeball.domain.model.tenants.tenant import new_tenant
from timeball.domain.time.instants import MINUTE_MS
from timeball.ports.errors import UnavailableError
from timeball.testing.virtual_clock import VirtualClock


class FailingReader(TableReader):
    """A reader that can be made to fail, and counts its requests."""

    fails, requests = False, 0

    def get(self, keys: object, *, strong: bool = True) -> list[dict[str, object] | None]:
        self.requests += 1
        if self.fails:
            raise UnavailableError("a test lets it fail")
        return super().get(keys, strong=strong)  # type: ignore[arg-type]


@pytest.fixture
def reader() -> Iterator[FailingReader]:
    with moto():
        dynamodb = client("dynamodb")
        table = new_table(dynamodb, TENANTS)
        heavy, plain = replace(new_tenant("heavy", 1000), weight=5), new_tenant("plain", 1000)
        dynamo_tenants(dynamodb, table).tenants.insert([heavy, plain], 1000)
        yield FailingReader(dynamodb, table, BRISKLY)


def test_a_tenant_has_the_weight_of_its_row_and_1_by_default(reader: FailingReader) -> None:
    weights_of = DynamoWeights(reader, VirtualClock(1000))
    assert weights_of(["heavy", "plain", "nobody"]) == {"heavy": 5, "plain": 1, "nobody": 1}


def test_weights_are_kept_for_a_minute(reader: FailingReader) -> None:
    weights_of = DynamoWeights(reader, clock := VirtualClock(1000))
    for _ in range(5):
        weights_of(["heavy", "plain"])
        clock.advance(MINUTE_MS // 5)
    assert reader.requests == 1
    weights_of(["heavy"])
    assert reader.requests == 2


def test_an_unreadable_table_leaves_weights_as_they_were(reader: FailingReader) -> None:
    weights_of = DynamoWeights(reader, clock := VirtualClock(1000))
    weights_of(["heavy"])
    reader.fails = True
    clock.advance(MINUTE_MS)
    assert weights_of(["heavy", "plain"]) == {"heavy": 5, "plain": 1}
