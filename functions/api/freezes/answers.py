"""What the API answers about freezes."""

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field

from functions.api.http.reply import Answer, Time, time_of
from timeball.domain.model.jobs.freeze import Freeze
from timeball.domain.time.instants import format_instant


class MatchAnswer(Answer):
    """Which jobs a freeze means."""

    everything: bool = Field(alias="all")
    job_ids: list[str]
    task_id: str | None
    tags: Mapping[str, str]


class FreezeAnswer(Answer):
    """A freeze that is to come, or in force."""

    freeze_id: str
    status: Literal["scheduled", "active", "lifted"]
    from_at: Time = Field(alias="from", description="When it begins: some seconds after it was made at the earliest.")
    to_at: Time | None = Field(alias="to", description="When it ends; null: when it is lifted.")
    match: MatchAnswer
    reason: str | None
    created_at: Time


class FreezePageAnswer(Answer):
    """A page of the freezes that are not over, the newest first."""

    items: list[FreezeAnswer]
    next_cursor: str | None


def freeze_answer(freeze: Freeze, now: int, *, is_lifted: bool = False) -> FreezeAnswer:
    """Return the answer about a freeze at an instant (ms)."""
    status: Literal["scheduled", "active", "lifted"] = "scheduled" if freeze.from_at > now else "active"
    # As mappings, for `all` and `from` are words of Python's.
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
