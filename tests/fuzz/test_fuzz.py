"""Schemathesis finds nothing that explained.py does not explain; `make fuzz` looks longer."""

from typing import Any

import pytest

from tests.fuzz.campaign import fuzz
from tests.fuzz.world import World

LAZY = {"statusCode": 200, "headers": {"Content-Type": "application/json"}, "body": "{}"}
BROKEN = {**LAZY, "statusCode": 500}
ODD = {**LAZY, "statusCode": 418}


@pytest.mark.parametrize(
    ("phases", "examples"), [(["examples", "coverage"], 1), (["fuzzing", "stateful"], 5)], ids=["covered", "drawn"]
)
def test_nothing_is_found_that_is_not_explained(phases: list[str], examples: int) -> None:
    found = fuzz(0, examples, phases)
    assert not found.complaints, "\n\n".join(found.complaints[:5])
    # It came far enough to create, to change, and to be refused for what there was.
    assert {200, 201, 400, 404, 409, 412} <= found.statuses.keys(), found.statuses
    assert found.requests > 150


@pytest.mark.parametrize("answer", [LAZY, BROKEN, ODD], ids=["of another shape", "of a fault", "undocumented"])
def test_an_answer_that_the_document_does_not_know_is_found(answer: dict[str, Any]) -> None:
    world = World()
    world.api.handle = lambda _event, _context: answer
    assert fuzz(0, 1, ["examples"], world).complaints


def test_the_same_seed_sends_the_same() -> None:
    first, second = (fuzz(1, 1, ["fuzzing"]) for _ in range(2))
    assert first.statuses == second.statuses
