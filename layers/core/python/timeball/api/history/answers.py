"""The models of answers about changes: actor, time, action, and a job's document before and after.

Invariant: header values are never shown, because they may be secret; large payloads are left out.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from pydantic import Field

from timeball.api.http.bounds import are_within
from timeball.api.http.reply import AnswerModel, NextCursor, Time
from timeball.api.jobs.document import document_of
from timeball.api.jobs.notify import NOTICE_TARGETS
from timeball.api.targets.answers import is_long
from timeball.domain.model.jobs.revision import ChangeEntry, Revision
from timeball.domain.model.tenants.actor import NO_ACTOR, Action, Actor, ResourceKind
from timeball.domain.time.instants import format_instant

NO_BOUNDS: Final[Mapping[str, str]] = MappingProxyType({})


class ActorAnswer(AnswerModel):
    """The caller that made a change."""

    key_id: str | None = Field(description="The id of the API key.")
    role: str | None = Field(description="The role of the API key.")
    address: str | None = Field(description="The address that the request came from.")


class ResourceAnswer(AnswerModel):
    """The resource that a change was made to."""

    type: ResourceKind = Field(description="The kind of resource.")
    id: str | None = Field(description="The id of the resource; null for dead letters that a filter selected.")


class ChangeAnswer(AnswerModel):
    """A change."""

    resource: ResourceAnswer = Field(description="The resource that was changed.")
    job_id: str | None = Field(description="The job, also for a run or a backfill; null for resources without a job.")
    revision: int | None = Field(description="The version of the job that the change made; null if it made none.")
    at: Time = Field(description="When the change was requested.")
    actor: ActorAnswer | None = Field(description="The caller that made the change; null if Timeball itself made it.")
    action: Action = Field(description="The action.")
    operation_id: str | None = Field(description="The bulk operation by which the actor made the change, if any.")
    before: dict[str, Any] | None = Field(
        description=(
            "The job before the change in the form of a request; null if there was none, if it is no longer "
            "kept, and for other resources. Values of headers are null; a payload or a target's body over "
            "1000 bytes is left out."
        )
    )
    after: dict[str, Any] | None = Field(description="The job after the change, in the same form.")


class ChangePageAnswer(AnswerModel):
    """A page of changes, the newest first."""

    items: list[ChangeAnswer] = Field(description="The changes.")
    next_cursor: NextCursor


def change_answer(entry: ChangeEntry, bounds: Mapping[str, str] = NO_BOUNDS) -> ChangeAnswer:
    """Return the answer about a change, without the documents of a job outside of the bounds."""
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
    return None if by == NO_ACTOR else ActorAnswer(key_id=by.key_id, role=by.role, address=by.address)


def _document(revision: Revision | None, bounds: Mapping[str, str]) -> dict[str, Any] | None:
    if revision is None or not are_within(revision.spec.tags, bounds):
        return None
    document = document_of(revision.spec)
    notify = document.get("notify", {})
    shortened = {name: _without_values(part) if name in NOTICE_TARGETS else part for name, part in notify.items()}
    shown = {"target": _without_values(document["target"])} if "target" in document else {}  # otherwise it names a task
    return {**document, **shown, **({"notify": shortened} if shortened else {})}


def _without_values(target: Mapping[str, Any]) -> dict[str, Any]:
    shortened = {name: part for name, part in target.items() if name != "body" or not is_long(part)}
    return {**shortened, "headers": dict.fromkeys(target["headers"])} if "headers" in target else shortened
