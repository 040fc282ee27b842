"""List changes, the newest first: those of one job, or all in a tenant; and restore a revision of a job.

A change has its actor, time and action, and a job's document before and after.

Invariant: header values are never shown, because they may be secret; large payloads are left out.
"""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from pydantic import Field

from timeball.api.http.access import Access, are_within, check_job
from timeball.api.http.cursor import PAGE, PageQuery, Position, foreign_cursor, number, text_like
from timeball.api.http.edge import ApiContext, job_key, read_job_row
from timeball.api.http.exchange import (
    ActorAnswer,
    AnswerModel,
    Filled,
    NextCursor,
    Reply,
    Request,
    Time,
    attribute,
    check_version,
    expected_version,
    ok,
    refuse_fields,
)
from timeball.api.http.problems import Problem, ProblemError, invalid, not_found
from timeball.api.http.route import Router
from timeball.api.jobs.answers import JobAnswer
from timeball.api.jobs.changing import ended, replace_job
from timeball.api.jobs.document import document_of
from timeball.api.jobs.notify import NOTICE_TARGETS, kept_default
from timeball.api.jobs.patch import kept_times
from timeball.api.jobs.request import read_job_request
from timeball.api.schedules.fields import text_of_schedule
from timeball.api.targets.models import is_long
from timeball.domain.model.ids import JOB_ID, JobKey
from timeball.domain.model.jobs.job import Job
from timeball.domain.model.jobs.revision import Announcement, ChangeEntry, Revision, RevisionId, revision_of
from timeball.domain.model.tenants.actor import NO_ACTOR, Action, ResourceKind
from timeball.domain.time.instants import LATEST
from timeball.engine.changes import history as engine
from timeball.engine.changes.history import ChangeFilter

router = Router()

NO_BOUNDS: Final[Mapping[str, str]] = MappingProxyType({})
_KEY_ID: Final = re.compile(r"[!-~]{1,100}", re.ASCII)
_JOB_ID_OR_NONE: Final = re.compile(f"({JOB_ID.pattern})?")
_TEXT: Final = re.compile(r"[!-~]*", re.ASCII)


class ResourceAnswer(AnswerModel):
    """The resource that a change was made to."""

    type: ResourceKind = attribute("kind", description="The kind of resource.")
    id: Filled = Field(description="The id of the resource; null for dead letters that a filter selected.")


class ChangeAnswer(AnswerModel):
    """A change."""

    resource: ResourceAnswer = Field(description="The resource that was changed.")
    job_id: Filled = attribute(
        "resource.job_id", description="The job, also for a run or a backfill; null for resources without a job."
    )
    revision: int | None = Field(description="The version of the job that the change made; null if it made none.")
    at: Time = Field(description="When the change was requested.")
    actor: ActorAnswer | None = Field(description="The caller that made the change; null if Timeball itself made it.")
    action: Action = Field(description="The action.")
    operation_id: str | None = attribute(
        "by.operation", description="The bulk operation by which the actor made the change, if any."
    )
    before: dict[str, Any] | None = Field(
        description=(
            "The job before the change in the form of a request; null if there was none, if it is no longer "
            "kept, and for other resources. Values of headers are null; a payload or a target's body over "
            "1000 bytes is left out."
        )
    )
    after: dict[str, Any] | None = Field(description="The job after the change, in the same form.")
    schedule_text: str | None = Field(description="The schedule after the change in words; null without `after`.")


class ChangePageAnswer(AnswerModel):
    """A page of changes, the newest first."""

    items: list[ChangeAnswer] = Field(description="The changes.")
    next_cursor: NextCursor


@router.get(
    "/v1/jobs/{jobId}/revisions",
    "List the changes that made a job, the newest first",
    ChangePageAnswer,
    query=PAGE,
    access=Access.READ,
)
def list_revisions(edge: ApiContext, request: Request) -> Reply:
    """List the changes that made a job's versions."""
    asked = PageQuery(request)
    created_at, through = asked.after(number, number) or (None, None)
    job = read_job_row(edge, job_key(request), with_work=True)
    if created_at not in (None, job.created_at):
        raise foreign_cursor()
    entries, next_through = engine.list_revisions(edge.context, job, asked.limit, through)
    shown = ((change_answer(one, request.bounds), (job.created_at, (one.revision or 1) - 1)) for one in entries)
    return asked.page(edge, shown, None if next_through is None else (job.created_at, next_through))


@router.get(
    "/v1/changes",
    "List changes and their actors, the newest first",
    ChangePageAnswer,
    query=("jobId", "actor", "from", "to", *PAGE),
    access=Access.READ,
)
def list_changes(edge: ApiContext, request: Request) -> Reply:
    """List the changes in a tenant."""
    asked = PageQuery(request)
    wanted = _filter(request, asked)
    page = engine.list_changes(edge.context, wanted, asked.limit, _after(request.tenant, asked))
    positions = (_position(last) for _, last in page.positions)
    next_after = page.next_after and _position(page.next_after[1])
    return asked.page(edge, zip(map(change_answer, page.items), positions, strict=True), next_after)


@router.post(
    "/v1/jobs/{jobId}/revisions/{revision}:restore",
    "Change a job back to one of its revisions",
    JobAnswer,
    headers=("If-Match",),
    problems=(Problem.JOB_ENDED, Problem.QUOTA_EXCEEDED),
    access=Access.OPERATE,
)
def restore_job(edge: ApiContext, request: Request) -> Reply:
    """Change a job to one of its revisions; a paused job stays paused. Restoring the newest changes nothing."""
    refuse_fields(request)
    version, job = expected_version(request), read_job_row(edge, job_key(request), with_work=True)
    check_version("job", job.version, version, "restore")
    revision = _revision(edge, job, request.path["revision"])
    if not job.is_open:
        raise ended(job, "restore")
    document, default = document_of(revision.spec), kept_default(revision.spec.notify)
    if default is not None:
        del document["notify"]
    wanted, errors, errors_now = read_job_request(document, edge.context.clock.now())
    kept = kept_times(job, wanted)
    errors_now = [error for error in errors_now if error.field not in kept]
    if errors or errors_now:
        raise invalid([*errors, *errors_now])
    check_job(request, wanted.tags)
    done = replace_job(edge, job, wanted, Action.RESTORE, request, default)
    return ok(done.answer, version=done.job.version)


def _revision(edge: ApiContext, job: Job, name: str) -> Revision:
    """Return a revision with all of its payload. Raises ProblemError if it does not exist or is no longer kept."""
    if not re.fullmatch(r"[1-9][0-9]{0,8}", name, re.ASCII):
        raise _no_revision()
    if int(name) == job.version:
        return revision_of(job)
    found = edge.context.store.changes.read([RevisionId(job.key, job.created_at, int(name))], whole=True)[0]
    if found is None:
        raise _no_revision()
    if found.lacks_payload:
        raise not_found("The payload of this revision is no longer kept; send the job as you want it with PUT.")
    return found


def _no_revision() -> ProblemError:
    return not_found("The job has no such revision, or it is no longer kept; list the kept revisions at .../revisions.")


def _filter(request: Request, asked: PageQuery) -> ChangeFilter:
    from_at, to_at = asked.window()
    job_id = asked.text("jobId", JOB_ID, "Give the id of a job: 1 to 64 letters, digits, - or _.")
    return ChangeFilter(
        request.tenant,
        from_at=from_at or 0,
        to_at=LATEST if to_at is None else to_at,
        job=None if job_id is None else JobKey(request.tenant, job_id),
        key_id=asked.text("actor", _KEY_ID, "Give the id of an API key, such as acme.0123456789ab."),
    )


def _position(last: Announcement) -> Position:
    return last.at, last.job.job_id, last.version, last.fire_at, last.asked, last.key_id


def _after(tenant: str, asked: PageQuery) -> tuple[int, Announcement] | None:
    text = text_like(_TEXT)
    position = asked.after(number, text_like(_JOB_ID_OR_NONE), number, number, text, text)
    if position is None:
        return None
    at, job_id, version, fire_at, request_text, key_id = position
    return at, Announcement(at, JobKey(tenant, job_id), version, fire_at, request_text, key_id)


def change_answer(entry: ChangeEntry, bounds: Mapping[str, str] = NO_BOUNDS) -> ChangeAnswer:
    """Return the answer about a change, without the documents of a job outside of the bounds."""
    after = _document(entry.after, bounds)
    return ChangeAnswer.about(
        entry,
        actor=None if entry.by == NO_ACTOR else entry.by,
        before=_document(entry.before, bounds),
        after=after,
        schedule_text=None if entry.after is None or after is None else text_of_schedule(entry.after.spec),
    )


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
