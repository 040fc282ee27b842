"""What the API answers about dead letters, and about those that were replayed or discarded."""

from typing import Final

from pydantic import Field

from functions.api.http.reply import Answer, Time
from functions.api.runs.answers import RunAnswer, next_attempt_at, run_fields
from timeball.domain.model.runs.run import Run
from timeball.domain.time.instants import format_instant
from timeball.engine.runs.dead_letters import Dealt

MAX_SHOWN: Final = 100
"""Of the dead letters that were replayed or discarded, so many are shown."""


class DeadLetterAnswer(RunAnswer):
    """A run that failed for good, and what its last attempt came to."""

    died_at: Time
    error: str | None = Field(description="Of its last attempt, the first 200 bytes of it.")
    http_status: int | None = Field(description="Of its last attempt.")


class DeadLetterPageAnswer(Answer):
    """A page of the dead letters, the newest death first. A filter may leave a page short, or empty."""

    items: list[DeadLetterAnswer]
    next_cursor: str | None


class DealtRunAnswer(Answer):
    """A dead letter that was replayed or discarded."""

    run_id: str
    next_attempt_at: Time | None = Field(description="Of one that is replayed: its turn.")


class DealtAnswer(Answer):
    """What became of dead letters."""

    done: int = Field(description="So many were replayed, or discarded.")
    runs: list[DealtRunAnswer] = Field(description="The first 100 of them.")
    refused: list[str] = Field(description="Runs that are no dead letters (any more), or whose job cannot run again.")
    next_cursor: str | None = Field(description="Of a filter: by it the next request goes on; null at the end.")


def dead_letter_answer(run: Run) -> DeadLetterAnswer:
    """Return the answer about a dead letter."""
    return DeadLetterAnswer(
        **run_fields(run),
        died_at=format_instant(run.finished_at or 0),
        error=None if run.last is None else run.last.error,
        http_status=None if run.last is None else run.last.status,
    )


def dealt_answer(dealt: Dealt, next_cursor: str | None) -> DealtAnswer:
    """Return the answer about dead letters that were replayed or discarded."""
    return DealtAnswer(
        done=len(dealt.done),
        runs=[
            DealtRunAnswer(run_id=str(run.id), next_attempt_at=next_attempt_at(run)) for run in dealt.done[:MAX_SHOWN]
        ],
        refused=[str(run_id) for run_id in dealt.refused],
        next_cursor=next_cursor,
    )
