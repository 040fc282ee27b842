"""The newest secret signs once each process knows it; the previous one is accepted while its tokens are in use."""

import pytest

from timeball.domain.attempts.callback import LONGEST_SECONDS
from timeball.domain.attempts.callback_token import (
    ACCEPTED_MS,
    SIGNS_AFTER_MS,
    SigningSecrets,
    read_token,
    rotated,
    token_of,
)
from timeball.domain.model.ids import JobKey, Origin, RunId
from timeball.domain.time.instants import SECOND_MS

RUN = RunId(JobKey("acme", "job_1"), 5000, Origin.SCHEDULE)
AT = 1_000_000_000_000
FIRST = SigningSecrets("first")


def after_rotation(secrets: SigningSecrets, fresh: str, at: int) -> SigningSecrets:
    after = rotated(secrets, fresh, at)
    assert after is not None
    return after


SECOND = after_rotation(FIRST, "second", AT)
AGAIN_AT = AT + ACCEPTED_MS
THIRD = after_rotation(SECOND, "third", AGAIN_AT)


def is_accepted(signed_by: str, secrets: SigningSecrets, at: int) -> bool:
    token = read_token(token_of(RUN, 1, signed_by))
    assert token is not None
    return token.is_of(RUN, secrets.accepted(at))


@pytest.mark.parametrize(
    ("secrets", "at", "signs", "accepted"),
    [
        (FIRST, AT, "first", {"first"}),
        # For some minutes a process may not know the new secret, so the previous one signs.
        (SECOND, AT, "first", {"first", "second"}),
        (SECOND, AT + SIGNS_AFTER_MS - 1, "first", {"first", "second"}),
        (SECOND, AT + SIGNS_AFTER_MS, "second", {"first", "second"}),
        # The last token of the previous secret is as old as an attempt may get.
        (SECOND, AT + ACCEPTED_MS - 1, "second", {"first", "second"}),
        (SECOND, AT + ACCEPTED_MS, "second", {"second"}),
        (THIRD, AGAIN_AT, "second", {"second", "third"}),
    ],
)
def test_one_secret_signs_and_the_secret_of_each_token_in_use_is_accepted(
    secrets: SigningSecrets, at: int, signs: str, accepted: set[str]
) -> None:
    assert secrets.signing(at) == signs
    assert set(secrets.accepted(at)) == accepted
    for secret in ("first", "second", "third"):
        assert is_accepted(secret, secrets, at) == (secret in accepted)


def test_the_last_token_of_a_secret_is_accepted_for_as_long_as_an_attempt_may_last() -> None:
    signed_at = AT + SIGNS_AFTER_MS - 1
    assert SECOND.signing(signed_at) == "first"
    assert is_accepted("first", SECOND, signed_at + LONGEST_SECONDS * SECOND_MS)


def test_a_second_rotation_waits_until_no_token_of_the_first_secret_is_in_use() -> None:
    assert rotated(SECOND, "third", AT + ACCEPTED_MS - 1) is None
    assert rotated(SECOND, "third", AT + ACCEPTED_MS) == SigningSecrets("third", "second", AT + ACCEPTED_MS)
