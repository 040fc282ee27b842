"""All processes have the same signing secrets, and a rotation refuses no token; in memory and over DynamoDB."""

from collections.abc import Iterator
from typing import cast

import pytest

from tests.contract.backends import client, moto, new_table
from timeball.aws.dynamodb.notes import DynamoSigning
from timeball.aws.dynamodb.store import dynamo_store
from timeball.aws.dynamodb.table.schema import JOBS
from timeball.domain.attempts.callback_token import ACCEPTED_MS, SIGNS_AFTER_MS, SigningSecrets
from timeball.ports.errors import UnavailableError
from timeball.ports.store import Store
from timeball.runtime.wiring import KEPT_MS, KEPT_UNANSWERED_MS, KnownSecrets
from timeball.testing.memory_store import MemoryStore
from timeball.testing.virtual_clock import VirtualClock

NOW = 1_800_000_000_000


@pytest.fixture(params=["memory", "moto"])
def stores(request: pytest.FixtureRequest) -> Iterator[tuple[Store, Store]]:
    """Yield two stores over one table."""
    if request.param == "memory":
        memory = MemoryStore()
        yield memory, memory
    else:
        with moto():
            dynamodb = client("dynamodb")
            table = new_table(dynamodb, JOBS)
            yield dynamo_store(dynamodb, table), dynamo_store(dynamodb, table)


def test_the_first_process_stores_the_secret_and_all_others_get_the_same(stores: tuple[Store, Store]) -> None:
    one, other = stores
    assert one.signing.secrets("a" * 64) == SigningSecrets("a" * 64)
    assert other.signing.secrets("b" * 64) == SigningSecrets("a" * 64)
    assert one.signing.secrets("c" * 64) == SigningSecrets("a" * 64)


def test_a_rotation_keeps_the_previous_secret_and_the_next_one_drops_it(stores: tuple[Store, Store]) -> None:
    one, other = stores
    one.signing.secrets("first")
    second = SigningSecrets("second", "first", NOW)
    assert one.signing.rotate("second", NOW) == second
    assert other.signing.secrets("any") == second
    assert other.signing.rotate("third", NOW + ACCEPTED_MS - 1) == second
    third = SigningSecrets("third", "second", NOW + ACCEPTED_MS)
    assert other.signing.rotate("third", NOW + ACCEPTED_MS) == third
    assert one.signing.secrets("any") == third


def test_a_rotation_without_a_secret_makes_the_first(stores: tuple[Store, Store]) -> None:
    one, other = stores
    assert one.signing.rotate("first", NOW) == SigningSecrets("first")
    assert other.signing.secrets("any") == SigningSecrets("first")


def test_only_one_of_two_simultaneous_rotations_counts() -> None:
    with moto():
        dynamodb = client("dynamodb")
        table = new_table(dynamodb, JOBS)
        one, other = dynamo_store(dynamodb, table), dynamo_store(dynamodb, table)
        first = one.signing.secrets("first")
        slow = cast("DynamoSigning", other.signing)
        one.signing.rotate("second", NOW)
        slow.secrets = lambda _: first  # type: ignore[method-assign, assignment]
        assert slow.rotate("third", NOW) == SigningSecrets("second", "first", NOW)
        assert one.signing.secrets("any") == SigningSecrets("second", "first", NOW)


@pytest.mark.parametrize("waits_ms", [0, KEPT_MS // 2, KEPT_MS, SIGNS_AFTER_MS - 1, SIGNS_AFTER_MS, ACCEPTED_MS // 2])
def test_no_process_refuses_a_token_that_another_signs_around_a_rotation(
    stores: tuple[Store, Store], waits_ms: int
) -> None:
    clock = VirtualClock(NOW)
    held, fresh = (KnownSecrets(store.signing, clock, lambda: "first") for store in stores)
    held.signing()  # it reads the old secret just before the rotation
    stores[1].signing.rotate("second", NOW)
    early = fresh.signing()
    clock.advance(waits_ms)
    for signer in (held, fresh):
        signed_by = signer.signing()
        for verifier in (held, fresh):
            assert {early, signed_by} <= set(verifier.accepted())


def test_a_secret_of_two_rotations_ago_is_refused_within_a_minute_by_a_process_that_held_it(
    stores: tuple[Store, Store],
) -> None:
    clock = VirtualClock(NOW)
    held = KnownSecrets(stores[0].signing, clock, lambda: "first")
    assert held.accepted() == ("first",)
    stores[1].signing.rotate("second", clock.now())
    clock.advance(ACCEPTED_MS)
    assert held.accepted() == ("second",)
    stores[1].signing.rotate("third", clock.now())
    clock.advance(KEPT_MS)
    assert held.accepted() == ("third", "second")


class Silent:
    """A store that no longer answers."""

    def secrets(self, fresh: str) -> SigningSecrets:
        raise UnavailableError(fresh)

    def rotate(self, fresh: str, now: int) -> SigningSecrets:
        raise UnavailableError(f"{fresh} {now}")


def test_without_the_store_a_process_uses_its_secrets_only_until_they_may_be_out_of_date() -> None:
    clock, memory = VirtualClock(NOW), MemoryStore()
    known = KnownSecrets(memory.signing, clock, lambda: "first")
    assert known.signing() == "first"
    known._signing = Silent()
    clock.advance(KEPT_UNANSWERED_MS - 1)
    assert known.accepted() == ("first",)
    clock.advance(1)
    with pytest.raises(UnavailableError):
        known.accepted()
