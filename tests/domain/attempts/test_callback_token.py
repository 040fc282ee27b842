"""The token of an attempt is valid for that attempt of that run of that tenant, and for nothing else."""

import pytest

from timeball.domain.attempts.callback_token import read_token, token_of
from timeball.domain.model.ids import JobKey, Origin, RunId

RUN = RunId(JobKey("acme", "job_1"), 5000, Origin.SCHEDULE)
TOKEN = token_of(RUN, 3, "secret")


def is_of(text: str, run: RunId = RUN, secret: str = "secret") -> bool:  # noqa: S107 - no real secret
    token = read_token(text)
    return token is not None and token.is_of(run, (secret,))


def test_a_token_names_its_tenant_and_attempt_and_is_valid_for_its_run() -> None:
    token = read_token(TOKEN)
    assert token is not None
    assert (token.tenant, token.attempt) == ("acme", 3)
    assert is_of(TOKEN)


@pytest.mark.parametrize(
    "run",
    [
        RunId(JobKey("globex", "job_1"), 5000, Origin.SCHEDULE),
        RunId(JobKey("acme", "job_2"), 5000, Origin.SCHEDULE),
        RunId(JobKey("acme", "job_1"), 5001, Origin.SCHEDULE),
        RunId(JobKey("acme", "job_1"), 5000, Origin.MANUAL),
        RunId(JobKey("acme", "job_1"), 5000, Origin.BACKFILL, "b1"),
    ],
)
def test_it_is_valid_for_no_other_run(run: RunId) -> None:
    assert not is_of(TOKEN, run)


def test_it_is_valid_for_no_other_attempt_and_only_its_secret_makes_it() -> None:
    assert not is_of(TOKEN.replace("_3_", "_4_"))
    assert not is_of(TOKEN.replace("acme", "globex"))
    assert not is_of(TOKEN, secret="another")


@pytest.mark.parametrize(
    "text", ["", "tba_", "tba_acme_3", TOKEN[:-1], f"{TOKEN}0", f"{TOKEN}\n", TOKEN.replace("_3_", "_0_"), f"x{TOKEN}"]
)
def test_a_malformed_token_is_read_as_none(text: str) -> None:
    assert read_token(text) is None
