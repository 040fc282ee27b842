"""Names of tenants, and the API keys that are issued to them."""

import re

import pytest

from timeball.domain.model.tenants.key import Key, Role, fresh_key, hash_of, id_in, tenant_of
from timeball.domain.model.tenants.tenant import Tenant, new_tenant

SECRET = bytes(range(32))


def test_a_key_contains_its_id_and_its_secret_and_its_id_names_the_tenant() -> None:
    key = fresh_key("acme", SECRET)
    key_id = id_in(key)
    assert key_id is not None
    assert key == f"tb_{key_id}_{SECRET.hex()}"
    assert re.fullmatch(r"acme\.[0-9a-f]{12}", key_id)
    assert tenant_of(key_id) == "acme"


def test_neither_the_id_nor_the_hash_of_a_key_reveals_its_secret() -> None:
    key = fresh_key("acme", SECRET)
    name = (id_in(key) or "").partition(".")[2]
    assert name not in SECRET.hex()
    assert name not in hash_of(key)
    assert SECRET.hex() not in hash_of(key)


def test_too_little_randomness_makes_no_key() -> None:
    with pytest.raises(ValueError, match="32"):
        fresh_key("acme", SECRET[1:])


@pytest.mark.parametrize(
    "text",
    [
        "",
        "tb_",
        "tb_acme.0123456789ab",
        f"tb_acme_{'0' * 64}",
        f"tb_acme.0123456789ab_{'0' * 63}",
        f"tb_acme.0123456789ab_{'0' * 65}",
        f"tb_ac#me.0123456789ab_{'0' * 64}",
        f"tb_acme.0123456789ab_{'0' * 64}\n",
        f"tb_{'a' * 41}.0123456789ab_{'0' * 64}",
    ],
)
def test_a_text_that_is_no_key_has_no_id(text: str) -> None:
    assert id_in(text) is None


def key(*, expires_at: int | None = None, revoked_at: int | None = None) -> Key:
    return Key("acme.1", "hash", Role.VIEWER, 0, expires_at=expires_at, revoked_at=revoked_at)


# The key, an instant, and whether the key is valid then.
VALIDITY = [
    (key(), 10**15, True),  # without an end
    (key(expires_at=2000), 1999, True),
    (key(expires_at=2000), 2000, False),  # the end is exclusive
    (key(revoked_at=1), 0, False),
]


@pytest.mark.parametrize(("one", "now", "is_valid"), VALIDITY)
def test_a_key_is_valid_until_its_end_unless_it_is_revoked(one: Key, now: int, *, is_valid: bool) -> None:
    assert one.is_valid(now) is is_valid


@pytest.mark.parametrize("name", ["", "a#b", "a b", "a_b", "a.b", "x" * 41, "ä", "a\n"])
def test_a_tenant_name_that_would_break_keys_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="1 to 40"):
        new_tenant(name, 1000)


@pytest.mark.parametrize("name", ["a", "Acme-2", "x" * 40])
def test_a_tenant_name_of_letters_digits_and_hyphens_is_accepted(name: str) -> None:
    assert new_tenant(name, 1000) == Tenant(name, 1000)
