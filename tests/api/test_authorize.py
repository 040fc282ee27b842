import json
from dataclasses import replace
from typing import Any

import pytest

from timeball.api.authorizer import CACHE_ENTRIES, CACHE_MS, Authorizer
from timeball.domain.model.tenants.key import Key, Role, fresh_key, hash_of, id_in
from timeball.domain.model.tenants.tenant import Defaults, Quotas, Tenant, new_tenant
from timeball.ports.errors import UnavailableError
from timeball.testing.memory_store import MemoryTenants
from timeball.testing.virtual_clock import VirtualClock


def text_of(number: int) -> str:
    return fresh_key("acme", number.to_bytes(32))


def key_of(text: str, **fields: Any) -> Key:
    return Key(**{"key_id": id_in(text), "hashed": hash_of(text), "role": Role.OPERATOR, "created_at": 0, **fields})


GOOD, BAD, SHORT = map(text_of, range(3))
KEY_AT = GOOD.rindex("_") + 1
GOOD_ID, SHORT_ID = id_in(GOOD), id_in(SHORT)
KNOWN: dict[str, Any] = {"isAuthorized": True, "context": {"tenant": "acme", "keyId": GOOD_ID, "role": "operator"}}
NOBODY: dict[str, Any] = {"isAuthorized": True, "context": {}}


def refused(why: str, tenant: str | None = None) -> dict[str, Any]:
    """Return the authorizer's answer for a key that opens nothing."""
    return {"isAuthorized": True, "context": {"refused": why, **({"refusedOf": tenant} if tenant else {})}}


UNKNOWN = refused("unknown")


class Keys(MemoryTenants):
    """Two known keys, and the ids that were looked up; the next `broken` look-ups fail."""

    def __init__(self) -> None:
        super().__init__()
        self.tenants.insert([new_tenant("acme", 0)], 0)
        self.keys.insert([key_of(GOOD), key_of(SHORT, expires_at=30_000)], 0)
        self.asked: list[str] = []
        self.broken = 0

    def find_holder(self, key_id: str) -> tuple[Tenant | None, Key | None]:
        self.asked.append(key_id)
        if self.broken:
            self.broken -= 1
            raise UnavailableError("no table")
        return super().find_holder(key_id)

    def change(self, text: str, **fields: Any) -> None:
        """Change the stored row of a key."""
        key = key_of(text)
        self.keys[key.key_id] = replace(self.keys.get(key.key_id, key), **fields)


@pytest.fixture
def keys() -> Keys:
    return Keys()


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock(0)


@pytest.fixture
def authorizer(keys: Keys, clock: VirtualClock) -> Authorizer:
    return Authorizer(keys, clock)


def event(authorization: str | None) -> dict[str, Any]:
    headers = {} if authorization is None else {"authorization": authorization}
    return {"version": "2.0", "type": "REQUEST", "headers": headers}


@pytest.mark.parametrize("header", [f"Bearer {GOOD}", f"bearer {GOOD}", f"BEARER  {GOOD} "])
def test_a_known_key_names_its_tenant(authorizer: Authorizer, header: str) -> None:
    assert authorizer(event(header)) == KNOWN


@pytest.mark.parametrize(
    "header",
    [
        None,
        "",
        "Bearer",
        "Bearer ",
        GOOD,
        f"Basic {GOOD}",
        f"Bearer {GOOD[3:]}",
        f"Bearer {GOOD}0",
        f"Bearer {GOOD[:-1]}",
        "Bearer tb_ä",
        f"Bearer tb_{'x' * 300}",
    ],
)
def test_a_malformed_key_is_not_even_looked_up(authorizer: Authorizer, keys: Keys, header: str | None) -> None:
    assert authorizer(event(header)) == (NOBODY if header is None else refused("malformed"))
    assert keys.asked == []


@pytest.mark.parametrize("place", [KEY_AT, KEY_AT + 31, len(GOOD) - 1])
def test_a_key_with_one_wrong_digit_is_refused_by_its_checksum(authorizer: Authorizer, keys: Keys, place: int) -> None:
    digit = "1" if GOOD[place] == "0" else "0"
    assert authorizer(event(f"Bearer {GOOD[:place]}{digit}{GOOD[place + 1 :]}")) == refused("malformed")
    assert keys.asked == []


def test_an_event_without_headers_names_no_tenant(authorizer: Authorizer) -> None:
    assert authorizer({"version": "2.0"}) == NOBODY
    assert authorizer({"version": "2.0", "headers": None}) == NOBODY


@pytest.mark.parametrize(("header", "answer"), [(f"Bearer {GOOD}", KNOWN), (f"Bearer {BAD}", UNKNOWN)])
def test_known_and_unknown_keys_are_remembered_for_a_minute(
    authorizer: Authorizer, keys: Keys, clock: VirtualClock, header: str, answer: dict[str, Any]
) -> None:
    for _ in range(3):
        assert authorizer(event(header)) == answer
    clock.advance(CACHE_MS - 1)
    assert authorizer(event(header)) == answer
    assert len(keys.asked) == 1
    clock.advance(1)
    keys.change(GOOD, revoked_at=1)
    keys.change(BAD)
    told = authorizer(event(header))["context"]
    assert told.get("keyId") == (None if answer == KNOWN else id_in(BAD))
    assert CACHE_MS <= 60_000


def test_a_key_that_expires_while_it_is_cached_opens_nothing(authorizer: Authorizer, clock: VirtualClock) -> None:
    assert authorizer(event(f"Bearer {SHORT}"))["context"]["keyId"] == SHORT_ID
    clock.advance(30_000)
    assert authorizer(event(f"Bearer {SHORT}")) == refused("expired", "acme")


def test_the_cache_is_bounded_and_drops_the_oldest_first(authorizer: Authorizer, keys: Keys) -> None:
    for number in range(CACHE_ENTRIES + 3):  # two of them are valid
        authorizer(event(f"Bearer {text_of(number)}"))
    keys.asked.clear()
    authorizer(event(f"Bearer {text_of(CACHE_ENTRIES + 2)}"))
    assert keys.asked == []
    authorizer(event(f"Bearer {text_of(1)}"))
    assert keys.asked == [id_in(text_of(1))]


def test_an_unreadable_table_authorizes_no_request_and_is_read_again_by_the_next(
    authorizer: Authorizer, keys: Keys
) -> None:
    keys.broken = 1
    with pytest.raises(UnavailableError):
        authorizer(event(f"Bearer {GOOD}"))
    assert authorizer(event(f"Bearer {GOOD}")) == KNOWN


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"revoked_at": 1}, refused("revoked", "acme")),
        ({"expires_at": 0}, refused("expired", "acme")),
        ({"hashed": hash_of(BAD)}, UNKNOWN),
    ],
)
def test_a_revoked_or_expired_key_opens_nothing_and_its_tenant_is_named(
    authorizer: Authorizer, keys: Keys, change: dict[str, Any], told: dict[str, Any]
) -> None:
    keys.change(GOOD, **change)
    assert authorizer(event(f"Bearer {GOOD}")) == told


def test_a_revoked_key_opens_nothing_a_minute_later_in_any_process(
    authorizer: Authorizer, keys: Keys, clock: VirtualClock
) -> None:
    assert authorizer(event(f"Bearer {GOOD}")) == KNOWN
    keys.change(GOOD, revoked_at=1)
    assert Authorizer(keys, clock)(event(f"Bearer {GOOD}")) == refused("revoked", "acme")
    clock.advance(60_000)
    assert authorizer(event(f"Bearer {GOOD}")) == refused("revoked", "acme")


def test_the_bounds_of_a_key_and_that_its_tenant_is_disabled_are_handed_on(authorizer: Authorizer, keys: Keys) -> None:
    keys.change(GOOD, role=Role.WORKER, tags={"team": "blue"}, name="Büro 1")
    keys.tenants["acme"] = replace(keys.tenants["acme"], disabled_at=1)
    told = authorizer(event(f"Bearer {GOOD}"))["context"]
    assert json.loads(told.pop("tags")) == {"team": "blue"}
    assert json.loads(told.pop("keyName")) == "Büro 1"
    assert told == {**KNOWN["context"], "role": "worker", "disabled": "true"}


def test_the_keys_of_a_tenant_that_is_deleted_or_was_never_made_open_nothing(keys: Keys, clock: VirtualClock) -> None:
    keys.tenants["acme"] = replace(keys.tenants["acme"], deleted_at=1)
    assert Authorizer(keys, clock)(event(f"Bearer {GOOD}")) == UNKNOWN
    keys.tenants.clear()
    assert Authorizer(keys, clock)(event(f"Bearer {GOOD}")) == UNKNOWN


def test_the_token_of_an_attempt_is_left_to_the_api(authorizer: Authorizer) -> None:
    assert authorizer(event(f"Bearer tba_acme_1_{64 * '0'}")) == NOBODY


def test_no_key_is_ever_logged_or_cached(authorizer: Authorizer, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(0):
        authorizer(event(f"Bearer {GOOD}"))
    secret = GOOD.rpartition("_")[2]
    assert secret not in caplog.text
    assert secret not in repr(vars(authorizer)["_known"])


@pytest.mark.parametrize("header", [None, "Bearer tb_x", f"Bearer {BAD}"])
def test_requests_without_a_valid_key_together_have_the_rate_of_one_tenant(
    keys: Keys, clock: VirtualClock, header: str | None
) -> None:
    authorizer = Authorizer(keys, clock, 10)
    answers = [authorizer(event(header)) for _ in range(1_000)]
    assert [one["isAuthorized"] for one in answers] == [True] * 20 + [False] * 980
    assert authorizer(event(f"Bearer {GOOD}")) == KNOWN
    assert authorizer(event("Bearer tba_acme_1_0"))["isAuthorized"]
    clock.advance(1_000)
    assert authorizer(event(header))["isAuthorized"]


def test_a_flood_of_unknown_keys_displaces_no_known_one(authorizer: Authorizer, keys: Keys) -> None:
    authorizer(event(f"Bearer {GOOD}"))
    for number in range(10, CACHE_ENTRIES + 100):
        authorizer(event(f"Bearer {text_of(number)}"))
    keys.asked.clear()
    assert authorizer(event(f"Bearer {GOOD}")) == KNOWN
    assert keys.asked == []


def with_quota(per_second: int | None) -> Keys:
    keys = Keys()
    quotas = Quotas(requests_per_second=per_second)
    keys.tenants.insert([replace(new_tenant("globex", 0), quotas=quotas)], 0)
    return keys


def test_a_tenants_defaults_are_handed_on_and_a_tenant_without_hands_on_none(clock: VirtualClock) -> None:
    keys, text = Keys(), fresh_key("globex", bytes(32))
    keys.tenants.insert([replace(new_tenant("globex", 0), defaults=Defaults(priority_ceiling="low"))], 0)
    keys.keys.insert([key_of(text)], 0)
    context = Authorizer(keys, clock)(event(f"Bearer {text}"))["context"]
    assert json.loads(context["defaults"]) == {"timezone": None, "priority_ceiling": "low"}
    assert "defaults" not in KNOWN["context"]


# Each case: the default quota, a tenant's own, and how many of its hundred simultaneous requests pass.
RATES: dict[str, tuple[int, int | None, int]] = {
    "that of the settings": (25, None, 50),
    "its own": (25, 5, 10),
    "its own, which is larger": (25, 40, 80),
    "none of its own": (25, 0, 100),
    "none": (0, None, 100),
}


@pytest.mark.parametrize("rates", RATES.values(), ids=RATES)
def test_a_tenants_keys_share_one_rate_per_process(clock: VirtualClock, rates: tuple[int, int | None, int]) -> None:
    of_all, own, expected = rates
    keys, texts = with_quota(own), [fresh_key("globex", number.to_bytes(32)) for number in range(4)]
    keys.keys.insert([key_of(text) for text in texts], 0)
    authorizer = Authorizer(keys, clock, of_all)
    contexts = [authorizer(event(f"Bearer {texts[number % 4]}"))["context"] for number in range(100)]
    assert sum("tenant" in one for one in contexts) == expected
    told = {"throttled": str(of_all if own is None else own)}
    assert all(one == told for one in contexts[expected:])
    assert authorizer(event(f"Bearer {GOOD}")) == KNOWN
    clock.advance(1_000)
    assert "tenant" in authorizer(event(f"Bearer {texts[0]}"))["context"]
