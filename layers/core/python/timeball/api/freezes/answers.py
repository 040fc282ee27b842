"""The models of answers about freezes."""

from collections.abc import Mapping
from typing import Literal

from pydantic import Field

from timeball.api.http.reply import AnswerModel, CreatedAt, NextCursor, Time, attribute
from timeball.domain.model.jobs.freeze import Freeze


class MatchAnswer(AnswerModel):
    """Which jobs a freeze matches."""

    everything: bool = Field(serialization_alias="all", description="Whether it matches every job.")
    job_ids: list[str] = Field(description="The ids of the jobs; empty: any job.")
    task_id: str | None = Field(description="The task that the jobs name.")
    tags: Mapping[str, str] = Field(description="The tags that the jobs have, all of them.")


class FreezeAnswer(AnswerModel):
    """A freeze, scheduled or in force."""

    freeze_id: str = attribute("name", description="The id of the freeze.")
    status: Literal["scheduled", "active", "lifted"] = Field(
        description="`scheduled` before it begins, `active` after; `lifted` only in the answer that lifts it."
    )
    from_at: Time = Field(
        serialization_alias="from", description="When it begins, some seconds after its creation at the earliest."
    )
    to_at: Time | None = Field(serialization_alias="to", description="When it ends; null: when it is lifted.")
    match: MatchAnswer = Field(description="Which jobs it freezes.")
    reason: str | None = Field(description="Why, for people.")
    created_at: CreatedAt


class FreezePageAnswer(AnswerModel):
    """A page of the freezes that are not over, the newest first."""

    items: list[FreezeAnswer] = Field(description="The freezes.")
    next_cursor: NextCursor


def freeze_answer(freeze: Freeze, now: int, *, is_lifted: bool = False) -> FreezeAnswer:
    """Return the answer about a freeze at an instant (ms)."""
    return FreezeAnswer.about(
        freeze, status="lifted" if is_lifted else "scheduled" if freeze.from_at > now else "active"
    )
