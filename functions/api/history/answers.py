"""What the API answers about changes: who, when, what, and a job's document before and after.

Invariant: what a header says is never shown, for it may be a secret; nor is a large payload.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from pydantic import Field

from functions.api.http.bounds import are_within
from functions.api.http.reply import Answer, Time
from functions.api.jobs.notify import WHOM
from functions.api.jobs.patch import document_of
from functions.api.targets.answers import is_long
from timeball.domain.model.jobs.revision import Entry, Revision
from timeball.domain.model.tenants.actor import NOBODY, Action, Actor, Kind
from timeball.domain.time.instants import format_instant

NO_BOUNDS: Final[Mapping[str, str]] = MappingProxyType({})


class ActorAnswer(Answer):
    """Who did it."""

    key_id: str | None = Field(description="The id of the API key.")
    role: str | None = Field(description="The role of the API key.")
    address: str | None = Field(description="The address that the request came from.")


class ResourceAnswer(Answer):
    """What it was done to."""

    type: Kind
    id: str | None = Field(description="Null for the dead letters that a filter named.")


class ChangeAnswer(Answer):
    """What a user did."""

    resource: ResourceAnswer
    job_id: str | None = Field(description="The job, also of a run or a backfill; null for what has none.")
    revision: int | None = Field(description="The version of the job that this made; null where it made none.")
    at: Time
    actor: ActorAnswer | None = Field(description="Null if no user did it, but Timeball.")
    action: Action
    operation_id: str | None = Field(description="The bulk operation by which the actor did it, if it was one.")
    before: dict[str, Any] | None = Field(
        description="The job as a request would ask for it, as it was before. Values of headers are null, and a "
        "payload, or a target's body, of more than 1000 bytes is left out. Null if there was none, if it is kept no "
        "longer, and for all but jobs."
    )
    after: dict[str, Any] | None = Field(description="The same, as it was from then on.")


class ChangePageAnswer(Answer):
    """A page of changes, the newest first."""

    items: list[ChangeAnswer]
    next_cursor: str | None


def change_answer(entry: Entry, bounds: Mapping[str, str] = NO_BOUNDS) -> ChangeAnswer:
    """Return the answer about a change; of what a job was outside of bounds it tells nothing."""
    return ChangeAnswer(
        resource=ResourceAnswer(type=entry.resource.kind, id=entry.resource.id or None),
        job_id=entry.resource.job_id or None,
        revision=entry.revision,
        at=format_instant(entry.at),
        actor=_actor(entry.by),
        action=entry.action,
        operation_id=entry.by.operation,
        before=_document(entry.before, bounds),
        after=_document(entry.after, bounds),
    )


def _actor(by: Actor) -> ActorAnswer | None:
    return None if by == NOBODY else ActorAnswer(key_id=by.key_id, role=by.role, address=by.address)


def _document(revision: Revision | None, bounds: Mapping[str, str]) -> dict[str, Any] | None:
    if revision is None or not are_within(revision.spec.tags, bounds):
        return None
    document = document_of(revision.spec)
    notify = document.get("notify", {})
    told = {name: _without_values(part) if name in WHOM else part for name, part in notify.items()}
    shown = {"target": _without_values(document["target"])} if "target" in document else {}  # else it names a task
    return {**document, **shown, **({"notify": told} if told else {})}


def _without_values(target: Mapping[str, Any]) -> dict[str, Any]:
    told = {name: part for name, part in target.items() if name != "body" or not is_long(part)}
    return {**told, "headers": dict.fromkeys(target["headers"])} if "headers" in target else told
