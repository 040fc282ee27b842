from dataclasses import replace
from typing import Any

import pytest

from functions.authorize import CACHE_ENTRIES, CACHE_MS, FAILED, Authorizer
from timeball.domain.model.tenant import KeyHolder, hash_of
from timeball.ports.errors import UnavailableError
from timeball.testing.kept_telemetry import KeptTelemetry
from timeball.testing.memory_tenants import MemoryTenants
from timeball.testing.virtual_clock import VirtualClock

HOLDER = KeyHolder("acme", "key_1", 0)
KNOWN = {"isAuthorized": True, "context": {"tenant": "acme", "keyId": "key_1"}}
UNKNOWN: dict[str, Any] = {"isAuthorized": True, "context": {}}


class Keys(MemoryTenants):
    """Two keys that are known, and which were looked up; `broken` is how often that still fails."""

    def __init__(self) -> None:
        super().__init__()
        self.create_key(hash_of("tb_good"), HOLDER)
        self.create_key(hash_of("tb_short"), KeyHolder("acme", "key_2", 0, expires_at=30_000))
        self.asked: list[str] = []
        self.broken = 0

    def find_holder(self, hashed: str) -> KeyHolder | None:
        self.asked.append(hashed)
        if self.broken:
            self.broken -= 1
            raise UnavailableError("no table")
        return super().find_holder(hashed)


@pytest.fixture
def keys() -> Keys:
    return Keys()


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock(0)


@pytest.fixture
def telemetry() -> KeptTelemetry:
    return KeptTelemetry()


@pytest.fixture
def authorizer(keys: Keys, clock: VirtualClock, telemetry: KeptTelemetry) -> Authorizer:
    return Authorizer(keys, clock, telemetry)


def event(authorization: str | None) -> dict[str, Any]:
    headers = {} if authorization is None else {"authorization": authorization}
    return {"version": "2.0", "type": "REQUEST", "headers": headers}


@pytest.mark.parametrize("header", ["Bearer tb_good", "bearer tb_good", "BEARER  tb_good "])
def test_a_known_key_names_its_tenant(authorizer: Authorizer, header: str) -> None:
    assert authorizer(event(header)) == KNOWN


@pytest.mark.parametrize(
    "header",
    [
        None,
        "",
        "Bearer",
        "Bearer ",
        "tb_good",
        "Basic tb_good",
        "Bearer good",
        "Bearer tb_ä",
        f"Bearer tb_{'x' * 300}",
    ],
)
def test_what_is_no_key_is_not_even_looked_up(authorizer: Authorizer, keys: Keys, header: str | None) -> None:
    assert authorizer(event(header)) == UNKNOWN
    assert keys.asked == []


def test_an_event_without_headers_names_nobody(authorizer: Authorizer) -> None:
    assert authorizer({"version": "2.0"}) == UNKNOWN
    assert authorizer({"version": "2.0", "headers": None}) == UNKNOWN


@pytest.mark.parametrize(("header", "answer"), [("Bearer tb_good", KNOWN), ("Bearer tb_bad", UNKNOWN)])
def test_known_and_unknown_keys_are_remembered_for_a_minute(
    authorizer: Authorizer, keys: Keys, clock: VirtualClock, header: str, answer: dict[str, Any]
) -> None:
    for _ in range(3):
        assert authorizer(event(header)) == answer
    clock.advance(CACHE_MS - 1)
    assert authorizer(event(header)) == answer
    assert len(keys.asked) == 1
    clock.advance(1)
    keys.holders = {hash_of("tb_bad"): HOLDER}
    assert authorizer(event(header)) == (UNKNOWN if answer == KNOWN else KNOWN)
    assert CACHE_MS <= 60_000


def test_a_key_that_expires_while_it_is_remembered_opens_nothing(authorizer: Authorizer, clock: VirtualClock) -> None:
    assert authorizer(event("Bearer tb_short"))["context"]["keyId"] == "key_2"
    clock.advance(30_000)
    assert authorizer(event("Bearer tb_short")) == UNKNOWN


def test_memory_is_bounded_and_the_oldest_goes_first(authorizer: Authorizer, keys: Keys) -> None:
    for number in range(CACHE_ENTRIES + 1):
        authorizer(event(f"Bearer tb_{number}"))
    keys.asked.clear()
    authorizer(event(f"Bearer tb_{CACHE_ENTRIES}"))
    assert keys.asked == []
    authorizer(event("Bearer tb_0"))
    assert keys.asked == [hash_of("tb_0")]


def test_a_table_that_cannot_be_read_lets_nobody_in_and_is_asked_again(authorizer: Authorizer, keys: Keys) -> None:
    keys.broken = 1
    with pytest.raises(UnavailableError):
        authorizer(event("Bearer tb_good"))
    assert authorizer(event("Bearer tb_good")) == KNOWN


def test_a_key_that_disabled_opens_nothing(authorizer: Authorizer, keys: Keys) -> None:
    keys.holders[hash_of("tb_good")] = replace(HOLDER, disabled=True)
    assert authorizer(event("Bearer tb_good")) == UNKNOWN


@pytest.mark.parametrize(
    ("header", "reason"),
    [
        (None, None),
        ("Bearer tb_good", None),
        ("", "malformed"),
        ("Basic tb_good", "malformed"),
        ("Bearer tb_bad", "unknown"),
        ("Bearer tb_short", "expired"),
        ("Bearer tb_off", "disabled"),
    ],
)
def test_a_key_that_opens_nothing_is_counted_each_time_and_no_key_at_all_is_not(
    authorizer: Authorizer,
    keys: Keys,
    clock: VirtualClock,
    telemetry: KeptTelemetry,
    header: str | None,
    reason: str | None,
) -> None:
    keys.create_key(hash_of("tb_off"), replace(HOLDER, disabled=True))
    clock.advance(30_000)
    for _ in range(3):
        authorizer(event(header))
    assert telemetry.counts == ({} if reason is None else {(FAILED, reason): 3})


def test_no_key_is_ever_logged_or_kept(authorizer: Authorizer, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(0):
        authorizer(event("Bearer tb_good"))
    assert "tb_good" not in caplog.text
    assert "tb_good" not in repr(vars(authorizer)["_known"])
