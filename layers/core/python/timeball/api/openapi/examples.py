"""Examples of requests and answers, as `docs/examples.py` records them on the API itself."""

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

EXAMPLES: Final = Path(__file__).with_name("examples.json")
"""By the operation's id: `body`, and `answers` by status."""


@cache
def _examples() -> Mapping[str, Any]:
    examples: dict[str, Any] = json.loads(EXAMPLES.read_text(encoding="utf-8"))
    return examples


def example_of_body(operation_id: str) -> Mapping[str, Any]:
    """Return `{"example": ...}` for the body of an operation; empty if none is recorded."""
    one = _examples().get(operation_id, {})
    return {"example": one["body"]} if "body" in one else {}


def example_of_answer(operation_id: str, status: int) -> Mapping[str, Any]:
    """Return `{"example": ...}` for an answer of an operation; empty if none is recorded."""
    answers = _examples().get(operation_id, {}).get("answers", {})
    return {"example": answers[str(status)]} if str(status) in answers else {}
