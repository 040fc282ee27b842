"""Which deployment may follow which, and the sentence of each refusal."""

import pytest

from timeball.domain.deployment import Deployment, refusal, too_few_at_once

SMALL = Deployment("small", 4, 4, 0)
LARGE = Deployment("large", 64, 32, 20)
MOVED = Deployment("small", 4, 32, 6)

# Each case: the deployment that the table records, the shards of its rows, the new deployment, and its confirmation;
# the refusal, or an empty text.
CASES = {
    "a first deployment": (None, 0, LARGE, "", []),
    "the same again": (LARGE, 64, LARGE, "", []),
    "the same, with other pollers": (LARGE, 64, Deployment("large", 64, 32, 30), "", []),
    "a forgotten stage": (LARGE, 64, MOVED, "", ["-c timeball:stage=large", "-c timeball:confirm=small-4"]),
    "a move that is meant": (LARGE, 64, MOVED, "small-4", []),
    "a confirmation of another move": (LARGE, 64, MOVED, "small-8", ["-c timeball:confirm=small-4"]),
    "a larger stage": (SMALL, 4, LARGE, "", ["-c timeball:stage=small", "-c timeball:confirm=large-64"]),
    "a larger stage that is meant": (SMALL, 4, LARGE, "large-64", []),
    "a forgotten number of shards": (
        Deployment("small", 8, 4, 0),
        8,
        SMALL,
        "",
        ["stage small with 8 shards", "-c timeball:stage=small -c timeball:shards=8", "-c timeball:confirm=small-4"],
    ),
    "jobs that would not be listed": (
        LARGE,
        64,
        Deployment("small", 4, 4, 6),
        "small-4",
        ["-c timeball:list_shards=32"],
    ),
    "more shards of listings": (SMALL, 4, Deployment("small", 4, 8, 0), "", []),
    "pollers that no update takes away": (
        LARGE,
        64,
        Deployment("small", 4, 32, 0),
        "small-4",
        ["-c timeball:pollers=6"],
    ),
    "all of this at once": (LARGE, 64, SMALL, "", ["confirm=small-4", "list_shards=32", "pollers=6"]),
    "a table from before deployments were kept": (None, 4, SMALL, "", []),
    "such a table, and a forgotten stage": (None, 64, SMALL, "", ["64 shards or more", "-c timeball:stage=large"]),
    "such a table, and more shards": (None, 4, LARGE, "", []),
}


@pytest.mark.parametrize("case", CASES)
def test_a_deployment_that_would_lose_something_is_refused_with_what_to_do(case: str) -> None:
    kept, used_shards, asked, confirmed, says = CASES[case]
    sentence = refusal(kept, used_shards, asked, confirmed)
    assert (sentence is None) == (not says)
    assert [part for part in says if part not in (sentence or "")] == []


def test_a_refusal_fits_into_an_answer_to_cloudformation() -> None:
    sentence = refusal(LARGE, 64, SMALL, "")
    assert sentence is not None
    assert sentence.startswith("Nothing was changed. ")
    assert len(sentence) < 1_000


def test_numbers_are_read_from_the_text_that_cloudformation_sends() -> None:
    told = {"stage": "large", "shards": "64", "list_shards": "32", "pollers": "20", "ServiceToken": "arn"}
    assert Deployment.read(told) == LARGE


@pytest.mark.parametrize(("limit", "is_refused"), [(10, True), (225, True), (226, False), (1_000, False)])
def test_an_account_with_too_little_concurrency_is_refused(limit: int, *, is_refused: bool) -> None:
    assert (too_few_at_once(limit, 226) is not None) == is_refused
