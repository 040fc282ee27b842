"""Tenants' names, and the keys that are issued to them."""

import pytest

from timeball.domain.model.tenant import KEY_PREFIX, KeyHolder, Tenant, hash_of, issue_key, new_tenant

SECRET = bytes(range(32))


def test_a_key_is_its_random_bytes_and_its_id_tells_nothing_of_them() -> None:
    issued = issue_key("acme", SECRET, 1000, expires_at=2000)
    assert issued.key == KEY_PREFIX + SECRET.hex()
    assert issued.hashed == hash_of(issued.key)
    assert issued.holder == KeyHolder("acme", f"key_{issued.hashed[:16]}", 1000, 2000)


def test_randomness_that_is_short_makes_no_key() -> None:
    with pytest.raises(ValueError, match="32"):
        issue_key("acme", SECRET[1:], 1000)


# The key, an instant, whether the key opens anything then.
VALIDITY = [
    (KeyHolder("acme", "key_1", 0), 10**15, True),  # for good
    (KeyHolder("acme", "key_1", 0, expires_at=2000), 1999, True),
    (KeyHolder("acme", "key_1", 0, expires_at=2000), 2000, False),  # its end is not part of its time
    (KeyHolder("acme", "key_1", 0, disabled=True), 0, False),
]


@pytest.mark.parametrize(("holder", "now", "is_valid"), VALIDITY)
def test_a_key_is_valid_until_its_end_unless_it_disabled(holder: KeyHolder, now: int, *, is_valid: bool) -> None:
    assert holder.is_valid(now) is is_valid


@pytest.mark.parametrize("name", ["", "a#b", "a b", "x" * 65, "ä"])
def test_a_name_that_would_break_keys_is_no_tenants(name: str) -> None:
    with pytest.raises(ValueError, match="1 to 64"):
        new_tenant(name, 1000)


@pytest.mark.parametrize("name", ["a", "Acme_2-b", "x" * 64])
def test_a_name_of_letters_digits_hyphens_and_underscores_is_a_tenants(name: str) -> None:
    assert new_tenant(name, 1000) == Tenant(name, 1000)
