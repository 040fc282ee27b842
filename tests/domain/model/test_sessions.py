"""Sessions: what each of a session's keys may do, and until when; and the form of session keys and codes."""

from typing import Any

import pytest

from timeball.domain.model.tenants.key import Key, Role, fresh_key, hash_of, id_in
from timeball.domain.model.tenants.session import (
    CODE_LASTS_MS,
    IDLE_MS,
    LASTS_MS,
    USE_NOTED_EVERY_MS,
    Session,
    begun,
    fresh_code,
    fresh_session_id,
    fresh_session_key,
    is_offer,
    offered,
    role_of,
    session_in,
    session_of_code,
    used,
    with_changes,
)
from timeball.domain.time.instants import HOUR_MS, MINUTE_MS

NOW = 1_000_000
TEXT = fresh_key("acme", bytes(32))
KEY_ID = id_in(TEXT) or ""
SESSION_ID = fresh_session_id(KEY_ID, bytes(range(16)))
READER, CHANGER, CODE = (
    fresh_session_key(SESSION_ID, b"r" * 32),
    fresh_session_key(SESSION_ID, b"c" * 32),
    fresh_code(SESSION_ID, b"o" * 16),
)


def key(role: Role = Role.OPERATOR, **fields: Any) -> Key:
    return Key(KEY_ID, hash_of(TEXT), role, 0, **fields)


def opened(of: Key | None = None) -> Session:
    return begun(offered(SESSION_ID, CODE, NOW), READER, of or key(), NOW)


CHANGING = with_changes(opened(), CHANGER, 1800, NOW)


@pytest.mark.parametrize(
    ("session", "of", "text", "at", "role"),
    [
        (opened(), key(), READER, NOW, Role.VIEWER),  # whatever its API key may do
        (opened(), key(Role.ADMIN), READER, NOW, Role.VIEWER),
        (opened(), key(Role.WORKER), READER, NOW, None),  # a worker's key may not read, so its session may not
        (opened(), key(), CHANGER, NOW, None),  # no session key of this session
        (opened(), key(), TEXT, NOW, None),
        (opened(), key(), CODE, NOW, None),  # a code never authorizes
        (offered(SESSION_ID, CODE, NOW), key(), READER, NOW, None),
        (CHANGING, key(), CHANGER, NOW, Role.OPERATOR),
        (CHANGING, key(), READER, NOW, Role.VIEWER),  # the first session key stays what it was
        (CHANGING, key(Role.VIEWER), CHANGER, NOW, Role.VIEWER),  # its API key was given a smaller role since
        (CHANGING, key(), CHANGER, NOW + 30 * MINUTE_MS - 1, Role.OPERATOR),
        (CHANGING, key(), CHANGER, NOW + 30 * MINUTE_MS, None),
        (opened(), key(), READER, NOW + IDLE_MS - 1, Role.VIEWER),
        (opened(), key(), READER, NOW + IDLE_MS, None),  # idle
        (opened(), key(revoked_at=NOW), READER, NOW, None),  # it dies with its API key
        (opened(), key(expires_at=NOW + 5), READER, NOW + 4, Role.VIEWER),
        (opened(), key(expires_at=NOW + 5), READER, NOW + 5, None),
    ],
)
def test_a_session_key_has_the_role_that_its_session_and_its_api_key_give_it_now(
    session: Session, of: Key, text: str, at: int, role: Role | None
) -> None:
    assert role_of(session, of, hash_of(text), at) == role


def test_a_session_ends_after_eight_hours_however_much_it_is_used_and_not_after_its_api_key() -> None:
    session, now = opened(), NOW
    while now < NOW + LASTS_MS - HOUR_MS:
        now += HOUR_MS // 2
        session = used(session, now) or session
    assert session.is_open(NOW + LASTS_MS - 1)
    assert not session.is_open(NOW + LASTS_MS)
    assert opened(key(expires_at=NOW + 5)).expires_at == NOW + 5
    late = with_changes(session, CHANGER, 1800, NOW + LASTS_MS - MINUTE_MS)
    assert late.changes_until == NOW + LASTS_MS  # changes end with the session


def test_a_use_is_noted_only_once_in_some_minutes() -> None:
    assert used(opened(), NOW + USE_NOTED_EVERY_MS - 1) is None
    noted = used(opened(), NOW + USE_NOTED_EVERY_MS)
    assert noted is not None
    assert noted.used_at == NOW + USE_NOTED_EVERY_MS


def test_a_code_begins_one_session_within_ten_minutes() -> None:
    offer = offered(SESSION_ID, CODE, NOW)
    assert is_offer(offer, CODE, NOW + CODE_LASTS_MS - 1)
    assert not is_offer(offer, CODE, NOW + CODE_LASTS_MS)
    assert not is_offer(offer, fresh_code(SESSION_ID, b"x" * 16), NOW)
    assert not is_offer(begun(offer, READER, key(), NOW), CODE, NOW)
    assert not is_offer(begun(offer, READER, key(), NOW), "", NOW)


@pytest.mark.parametrize("text", [READER, CODE])
def test_a_text_with_one_wrong_character_is_refused_by_its_checksum(text: str) -> None:
    reads = (session_in, session_of_code)
    assert [read(text) for read in reads] == ([SESSION_ID, None] if text is READER else [None, SESSION_ID])
    for place in range(len(text)):
        wrong = text[:place] + ("0" if text[place] != "0" else "1") + text[place + 1 :]
        assert not any(read(wrong) for read in reads)


def test_a_code_has_128_random_bits_and_a_session_key_256() -> None:
    with pytest.raises(ValueError, match="16 random bytes"):
        fresh_code(SESSION_ID, b"o" * 15)
    with pytest.raises(ValueError, match="32 random bytes"):
        fresh_session_key(SESSION_ID, b"o" * 16)
