"""Schemathesis finds nothing that explained.py does not explain.

This is a sample, because the 6,000 requests that cover every keyword of the document take a minute. `make fuzz` sends
them, and more.
"""

from typing import Any

import pytest

from tests.fuzz.campaign import fuzz
from tests.fuzz.world import World

LAZY = {"statusCode": 200, "headers": {"Content-Type": "application/json"}, "body": "{}"}
BROKEN = {**LAZY, "statusCode": 500}
ONE_PATH = "/v1/jobs$"
ODD = {**LAZY, "statusCode": 418}


def test_every_failure_that_is_found_is_explained() -> None:
    found = fuzz(1, 2, ["fuzzing", "stateful"])
    assert not found.complaints, "\n\n".join(found.complaints[:5])
    # The campaign went far enough to create, to change, and to be refused because of existing resources.
    assert {200, 201, 400, 404, 409, 412} <= found.statuses.keys(), found.statuses
    assert found.requests > 150


@pytest.mark.parametrize("answer", [LAZY, BROKEN, ODD], ids=["of another shape", "of a fault", "undocumented"])
def test_an_answer_that_the_document_lacks_is_found(answer: dict[str, Any]) -> None:
    world = World()
    world.api.handle = lambda _event, _context: answer
    assert fuzz(0, 1, ["fuzzing"], world, ONE_PATH).complaints


def test_the_same_seed_sends_the_same_requests() -> None:
    first, second = (fuzz(1, 5, ["fuzzing"], paths=ONE_PATH) for _ in range(2))
    assert first.statuses == second.statuses
