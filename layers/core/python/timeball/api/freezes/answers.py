"""The models of answers about freezes."""

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field

from timeball.api.http.reply import AnswerModel, CreatedAt, NextCursor, Time, time_of
from timeball.domain.model.jobs.freeze import Freeze
from timeball.domain.time.instants import format_instant


class MatchAnswer(AnswerModel):
    """Which jobs a freeze matches."""

    everything: bool = Field(alias="all", description="Whether it matches every job.")
    job_ids: list[str] = Field(description="The ids of the jobs; empty: any job.")
    task_id: str | None = Field(description="The task that the jobs name.")
    tags: Mapping[str, str] = Field(description="The tags that the jobs have, all of them.")


class FreezeAnswer(AnswerModel):
    """A freeze, scheduled or in force."""

    freeze_id: str = Field(description="The id of the freeze.")
    status: Literal["scheduled", "active", "lifted"] = Field(
        description="`scheduled` before it begins, `active` after; `lifted` only in the answer that lifts it."
    )
    from_at: Time = Field(alias="from", description="When it begins, some seconds after its creation at the earliest.")
    to_at: Time | None = Field(alias="to", description="When it ends; null: when it is lifted.")
    match: MatchAnswer = Field(description="Which jobs it freezes.")
    reason: str | None = Field(description="Why, for people.")
    created_at: CreatedAt


class FreezePageAnswer(AnswerModel):
    """A page of the freezes that are not over, the newest first."""

    items: list[FreezeAnswer] = Field(description="The freezes.")
    next_cursor: NextCursor


def freeze_answer(freeze: Freeze, now: int, *, is_lifted: bool = False) -> FreezeAnswer:
    """Return the answer about a freeze at an instant (ms)."""
    status: Literal["scheduled", "active", "lifted"] = "scheduled" if freeze.from_at > now else "active"
    # As mappings, because `all` and `from` are taken in Python.
    meant = freeze.match
    match: dict[str, Any] = {
        "all": meant.everything,
        "job_ids": list(meant.job_ids),
        "task_id": meant.task_id,
        "tags": meant.tags,
    }
    when: dict[str, Any] = {"from": format_instant(freeze.from_at), "to": time_of(freeze.to_at)}
    return FreezeAnswer(
        freeze_id=freeze.name,
        status="lifted" if is_lifted else status,
        **when,
        match=MatchAnswer(**match),
        reason=freeze.reason,
        created_at=format_instant(freeze.created_at),
    )
