"""The parents' results that a call receives beside its payload: how each parent ended, and its target's answer.

Invariant: an answer is passed on whole or not at all, and no part of it is put into a template.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from timeball.domain.model.ids import RunId

KEPT_BYTES = 16 * 1024
"""How many bytes of an answer are stored."""
MAX_PASSED_BYTES = 256 * 1024
"""The largest size of all parents' answers together, in bytes."""

_LONGEST_CHARACTER_BYTES = 4


@dataclass(frozen=True)
class PassedParent:
    """The result of a parent."""

    name: str
    """The name that the child has for it."""
    status: str | None = None
    """The status of its run in the cycle; None: it has no run there yet."""
    run: RunId | None = None
    """Its run in the cycle; None: it has none there yet."""
    answer: str | None = None
    """The answer of its target; None: it has not succeeded, or there is none."""


def handed(payload: str | None, parents: Sequence[PassedParent]) -> str | None:
    """Return what a call receives, as JSON text; None if the answers of its parents are too large together."""
    answers = [_as_json(parent.answer) if parent.answer else "null" for parent in parents]
    if sum(len(answer.encode()) for answer in answers if answer is not None) > MAX_PASSED_BYTES:
        return None
    parts = ",".join(
        f"{json.dumps(parent.name)}:{_parent_json(parent, answer)}"
        for parent, answer in zip(parents, answers, strict=True)
    )
    return f'{{"payload":{"null" if payload is None else payload},"parents":{{{parts}}}}}'


def _parent_json(parent: PassedParent, answer: str | None) -> str:
    run_id = None if parent.run is None else str(parent.run)
    facts: dict[str, Any] = {"status": parent.status, "runId": run_id}
    if answer is None:
        facts["resultTooLarge"] = True
    return f'{json.dumps(facts, separators=(",", ":"))[:-1]},"result":{answer or "null"}}}'


def _as_json(answer: str) -> str | None:
    """Return an answer as JSON: unchanged if it is JSON, else as a string; None if it was cut."""
    if read_json(answer) is not None:
        return answer
    return None if is_cut(answer) else json.dumps(answer, ensure_ascii=False)


def is_cut(answer: str) -> bool:
    """Say whether an answer is so long that it was cut, perhaps within a character."""
    return len(answer.encode()) > KEPT_BYTES - _LONGEST_CHARACTER_BYTES


def read_json(text: str) -> tuple[Any] | None:
    """Return the JSON value of a text, in a tuple; None if the text is not JSON that every parser reads."""
    try:
        return (json.loads(text, parse_constant=_refused),)
    except (ValueError, RecursionError):
        return None


def _refused(constant: str) -> None:
    raise ValueError(constant)  # NaN, Infinity: json reads them, but other parsers do not
