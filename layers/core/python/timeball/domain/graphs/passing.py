"""What a call is handed beside its payload: how the job's parents ended, and what their targets answered.

Invariant: an answer is handed on whole or not at all, and nothing of it is put into a template.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from timeball.domain.model.ids import RunId

KEPT_BYTES = 16 * 1024
"""Of an answer so much is kept."""
MAX_PASSED_BYTES = 256 * 1024
"""So much may the answers of all parents come to together."""

_LONGEST_CHARACTER_BYTES = 4


@dataclass(frozen=True)
class Passed:
    """A parent by the name that the child has for it: the status of its run in the cycle, the run, and its answer.

    All is None of one that has no run there, or none yet; the answer is None unless it has succeeded.
    """

    name: str
    status: str | None = None
    run: RunId | None = None
    answer: str | None = None


def handed(payload: str | None, parents: Sequence[Passed]) -> str | None:
    """Return what a call is handed, as JSON text; None if the answers of its parents are too much together."""
    answers = [_as_json(parent.answer) if parent.answer else "null" for parent in parents]
    if sum(len(answer.encode()) for answer in answers if answer is not None) > MAX_PASSED_BYTES:
        return None
    told = ",".join(
        f"{json.dumps(parent.name)}:{_told(parent, answer)}" for parent, answer in zip(parents, answers, strict=True)
    )
    return f'{{"payload":{"null" if payload is None else payload},"parents":{{{told}}}}}'


def _told(parent: Passed, answer: str | None) -> str:
    run_id = None if parent.run is None else str(parent.run)
    facts: dict[str, Any] = {"status": parent.status, "runId": run_id}
    if answer is None:
        facts["resultTooLarge"] = True
    return f'{json.dumps(facts, separators=(",", ":"))[:-1]},"result":{answer or "null"}}}'


def _as_json(answer: str) -> str | None:
    """Return an answer as JSON: as it stands if it is that, else as a string; None if it is not whole."""
    if read_json(answer) is not None:
        return answer
    return None if is_cut(answer) else json.dumps(answer, ensure_ascii=False)


def is_cut(answer: str) -> bool:
    """Say whether an answer is as long as one that was cut, perhaps within a character."""
    return len(answer.encode()) > KEPT_BYTES - _LONGEST_CHARACTER_BYTES


def read_json(text: str) -> tuple[Any] | None:
    """Return the JSON value that a text is, in a tuple; None if it is none, or none that everybody can read."""
    try:
        return (json.loads(text, parse_constant=_refused),)
    except (ValueError, RecursionError):
        return None


def _refused(constant: str) -> None:
    raise ValueError(constant)  # NaN, Infinity: json reads them, and no other parser
