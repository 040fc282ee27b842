"""How large a payload a target takes: AWS's limit, minus the facts of the run.

Where AWS's limit is above the limit of all payloads, there is none here.
"""

import json
from collections.abc import Mapping
from typing import Final

from timeball.domain.model.terms.target import Target, TargetType

_FACTS_BYTES: Final = 2048
"""Room for the facts of a run, however long its id: with names and quotes they have some 800 bytes."""

_MOST_BYTES: Final[Mapping[TargetType, int]] = {
    TargetType.SQS: 1024 * 1024,
    TargetType.SNS: 256 * 1024,
    TargetType.STEP_FUNCTIONS: 256 * 1024,
    TargetType.EVENT_BRIDGE: 256 * 1024,
    TargetType.ECS: 8192,
}
"""AWS's limits. Lambda takes 6 MB, and 1 MB as an event."""


def fits_all(payload: str) -> bool:
    """Return whether a payload (JSON text) is small enough for any target."""
    return len(json.dumps(payload)) <= min(_MOST_BYTES.values()) - _FACTS_BYTES


def too_large(target: Target, payload: str | None) -> str | None:
    """Return a sentence if a payload (JSON text) is too large for a target; None if it is not."""
    most = _MOST_BYTES.get(target.type)
    if payload is None or most is None:
        return None
    # ECS counts the characters of the overrides as JSON, in which a payload is a string.
    size = len(json.dumps(payload)) if target.type is TargetType.ECS else len(payload.encode())
    if size <= most - _FACTS_BYTES:
        return None
    return f"For a target of the type {target.type} this is too large: {size} bytes of {most - _FACTS_BYTES}."
