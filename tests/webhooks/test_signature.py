"""Signatures, verified with the library that the authors of the standard maintain."""

from base64 import b64encode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.webhooks.targets import NOW
from tests.webhooks.verifying import is_accepted
from timeball.domain.time.instants import SECOND_MS
from timeball.targets.http.request import parse_key, signature_of

NEW, OLD, OTHER = "whsec_" + "MDEy" * 8, "whsec_" + "YWJj" * 16, "whsec_" + "eHl6" * 8
RUN = "nightly.1795253400023.s"


def key(text: str) -> bytes:
    found = parse_key(text)
    assert found is not None
    return found


def headers(body: str, *secrets: str, message_id: str = RUN) -> dict[str, str]:
    sent_at = NOW // SECOND_MS
    signature = signature_of(message_id, sent_at, body.encode(), [key(secret) for secret in secrets])
    return {"webhook-id": message_id, "webhook-timestamp": str(sent_at), "webhook-signature": signature}


def test_it_equals_the_signature_of_the_standards_own_example() -> None:
    secret, body = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", b'{"test": 2432232314}'
    signature = signature_of("msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, body, [key(secret)])
    assert signature == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


@given(st.text())
def test_either_of_two_live_keys_verifies_the_message_and_nothing_else(body: str) -> None:
    sent = headers(body, NEW, OLD)
    assert sent["webhook-signature"].count("v1,") == 2
    assert is_accepted(NEW, NOW, body, sent)
    assert is_accepted(OLD, NOW, body, sent)
    assert not is_accepted(OTHER, NOW, body, sent)
    assert not is_accepted(NEW, NOW, f"{body} ", sent)
    assert not is_accepted(NEW, NOW, body, {**sent, "webhook-id": "nightly.1795253400024.s"})


def test_the_dots_in_a_runs_id_allow_no_other_reading_of_the_message() -> None:
    body = '{"n": 1}'
    sent = headers(body, NEW)
    for readings in (
        ("nightly", "1795253400023", f"s.{sent['webhook-timestamp']}.{body}"),
        ("nightly.1795253400023", "s", body),
    ):
        message_id, sent_at, read = readings
        assert not is_accepted(NEW, NOW, read, {**sent, "webhook-id": message_id, "webhook-timestamp": sent_at})


@pytest.mark.parametrize("length", [23, 65])
def test_a_key_has_the_length_that_the_standard_requires(length: int) -> None:
    assert parse_key("whsec_" + b64encode(b"k" * length).decode()) is None
