"""The keys that sign calls: read seldom, cached for a while, and never another tenant's."""

import asyncio

import pytest

from tests.webhooks.targets import NOW
from timeball.targets.http.signing_keys import (
    ASKED_AGAIN_MS,
    KEPT_MS,
    KEPT_UNANSWERED_MS,
    MOST_KEPT,
    KeyFetcher,
    KeyRing,
    NoKeyError,
)
from timeball.testing.memory_services import MemorySecrets
from timeball.testing.virtual_clock import VirtualClock

NAME = "timeball/acme/orders"
ONE, TWO = "whsec_" + "MDEy" * 8, "whsec_" + "YWJj" * 8
KEYS = {ONE: b"012" * 8, TWO: b"abc" * 8}


class Desk:
    """A process with its keys, on a clock that a test moves."""

    def __init__(self) -> None:
        self.secrets, self.clock = MemorySecrets(), VirtualClock(NOW)
        self.ring = KeyRing(self.secrets, "timeball/", self.clock)

    def keys(self, name: str = NAME, tenant: str = "acme", times: int = 1) -> list[tuple[bytes, ...]]:
        """Ask for the keys of a secret this many times at once, in a separate loop."""

        async def main() -> list[tuple[bytes, ...]]:
            signing = KeyFetcher(self.ring)
            return await asyncio.gather(*(signing.keys(tenant, name) for _ in range(times)))

        return asyncio.run(main())

    def later(self, ms: int) -> None:
        self.clock.advance(ms)


@pytest.fixture
def desk() -> Desk:
    return Desk()


def test_a_hundred_simultaneous_calls_read_a_secret_once_and_so_do_later_ones(desk: Desk) -> None:
    desk.secrets.put(NAME, ONE)
    assert desk.keys(times=100) == [(KEYS[ONE],)] * 100
    desk.later(KEPT_MS - 1)
    assert desk.keys() == [(KEYS[ONE],)]
    assert desk.secrets.asked == 1


def test_after_a_rotation_both_keys_are_live_within_five_minutes(desk: Desk) -> None:
    desk.secrets.put(NAME, ONE)
    desk.keys()
    desk.secrets.put(NAME, TWO)
    desk.later(KEPT_MS)
    assert desk.keys() == [(KEYS[TWO], KEYS[ONE])]


def test_a_secret_of_another_tenant_is_not_even_read(desk: Desk) -> None:
    desk.secrets.put(NAME, ONE)
    desk.keys()
    for tenant, name in [
        ("globex", NAME),
        ("acm", NAME),
        ("acme", "timeball/globex/orders"),
        ("acme", "timeball/acme/"),
        ("acme", "timeball/acme"),
        ("acme", "orders"),
        ("acme", "timeball/acme/or ders"),
    ]:
        with pytest.raises(NoKeyError, match="is none of this tenant's"):
            desk.keys(name, tenant)
    assert desk.secrets.asked == 1


@pytest.mark.parametrize(
    "value",
    ["", "whsec_", "secret", ONE.removeprefix("whsec_"), "whsec_MDEy", "whsec_" + "!" * 40, "whsec_" + "é" * 40],
)
def test_an_invalid_key_is_reported_and_not_shown(value: str, desk: Desk) -> None:
    desk.secrets.put(NAME, value)
    with pytest.raises(NoKeyError) as raised:
        desk.keys()
    assert str(raised.value) == (
        f"The secret {NAME} could not be read: its value is no key: that is whsec_, and 24 to 64 bytes in base64."
    )


@pytest.mark.parametrize("value", [f"{ONE}\n", ONE, "whsec_" + "QUJD" * 8 + "RA", "whsec_" + "QUJD" * 21 + "RA=="])
def test_a_key_may_end_in_a_line_feed_and_lack_its_padding(value: str, desk: Desk) -> None:
    desk.secrets.put(NAME, value)
    assert len(desk.keys()[0]) == 1


def test_an_invalid_previous_value_does_no_harm(desk: Desk) -> None:
    desk.secrets.put(NAME, "drawn by a template")
    desk.secrets.put(NAME, ONE)
    assert desk.keys() == [(KEYS[ONE],)]


def test_an_unreadable_secret_is_read_again_after_ten_seconds(desk: Desk) -> None:
    for _ in range(3):
        with pytest.raises(NoKeyError, match="could not be read: there is no such secret, or it has no value yet"):
            desk.keys()
    assert desk.secrets.asked == 1
    desk.secrets.put(NAME, ONE)
    desk.later(ASKED_AGAIN_MS)
    assert desk.keys() == [(KEYS[ONE],)]


def test_known_keys_are_used_for_an_hour_while_secrets_manager_does_not_answer(desk: Desk) -> None:
    desk.secrets.put(NAME, ONE)
    desk.keys()
    desk.secrets.is_away = True
    desk.later(KEPT_MS)
    assert desk.keys() == [(KEYS[ONE],)]
    assert desk.keys() == [(KEYS[ONE],)]
    assert desk.secrets.asked == 2  # and not at each call
    desk.later(KEPT_UNANSWERED_MS - KEPT_MS)
    with pytest.raises(NoKeyError, match="Secrets Manager did not answer"):
        desk.keys()


def test_the_secrets_that_were_read_longest_ago_are_dropped_from_a_full_cache(desk: Desk) -> None:
    names = [f"timeball/acme/{number}" for number in range(MOST_KEPT + 1)]
    for name in names:
        desk.secrets.put(name, ONE)
        desk.ring.keep(name, desk.ring.find(name))
    assert desk.ring.known("acme", names[0]) is None
    assert desk.ring.known("acme", names[-1]) == (KEYS[ONE],)
