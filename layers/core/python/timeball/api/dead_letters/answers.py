"""The models of answers about dead letters, and about those that were replayed or discarded."""

from typing import Final

from pydantic import Field

from timeball.api.http.reply import AnswerModel, NextCursor, Text, Time, attribute
from timeball.api.runs.answers import RunAnswer, next_attempt_at
from timeball.engine.runs.dead_letters import Dealt

MAX_SHOWN: Final = 100
"""The most replayed or discarded dead letters that an answer shows."""


class DeadLetterAnswer(RunAnswer):
    """A run that failed for good, with the result of its last attempt."""

    died_at: Time = attribute("finished_at", description="When it failed for good.")
    error: str | None = attribute("last.error", description="The first 200 bytes of the last attempt's error.")
    http_status: int | None = attribute("last.status", description="The HTTP status of the last attempt.")


class DeadLetterPageAnswer(AnswerModel):
    """A page of dead letters, the newest first. A filter may leave a page short or empty although more pages follow."""

    items: list[DeadLetterAnswer] = Field(description="The dead letters.")
    next_cursor: NextCursor


class DealtRunAnswer(AnswerModel):
    """A dead letter that was replayed or discarded."""

    run_id: Text = attribute("id", description="The id of the run.")
    next_attempt_at: Time | None = Field(description="When a replayed run starts; null for a discarded one.")


class DealtAnswer(AnswerModel):
    """The result of a replay or a discard."""

    done: int = Field(description="How many were replayed or discarded.")
    runs: list[DealtRunAnswer] = Field(description="The first 100 of them.")
    refused: list[Text] = Field(description="The ids of runs that are not dead letters, or whose job cannot run again.")
    next_cursor: str | None = Field(description="With a filter, the `cursor` of the next request; null at the end.")


def dealt_answer(dealt: Dealt, next_cursor: str | None) -> DealtAnswer:
    """Return the answer about dead letters that were replayed or discarded."""
    runs = [DealtRunAnswer.about(run, next_attempt_at=next_attempt_at(run)) for run in dealt.done[:MAX_SHOWN]]
    return DealtAnswer.about(dealt, done=len(dealt.done), runs=runs, next_cursor=next_cursor)
