"""List changes, the newest first: those of one job, or all in a tenant."""

import re
from typing import Final

from timeball.api.history.answers import ChangePageAnswer, change_answer
from timeball.api.http.access import Access
from timeball.api.http.edge import ApiContext, job_key, read_job_row
from timeball.api.http.paging import FOREIGN, QueryReader, cursor_of, page_of, position_in
from timeball.api.http.problems import FieldError, invalid
from timeball.api.http.reply import Reply
from timeball.api.http.request import Request
from timeball.api.http.route import Router
from timeball.domain.model.ids import JOB_ID, JobKey
from timeball.domain.model.jobs.revision import Announcement
from timeball.domain.time.instants import LATEST
from timeball.engine.changes import history as engine
from timeball.engine.changes.history import ChangeFilter

router = Router()

REVISION_PARAMETERS: Final = ("limit", "cursor")
CHANGES_PARAMETERS: Final = ("jobId", "actor", "from", "to", "limit", "cursor")

_KEY_ID: Final = re.compile(r"[!-~]{1,100}", re.ASCII)
_VERSION: Final = re.compile(r"[1-9][0-9]{0,8}", re.ASCII)
_POSITION: Final = re.compile(
    rf"(\d{{1,14}})/((?:{JOB_ID.pattern})?)/(\d{{1,9}})/(\d{{1,14}})/([!-~]*) ({_KEY_ID.pattern})?", re.ASCII
)


@router.get(
    "/v1/jobs/{jobId}/revisions",
    "List the changes that made a job, the newest first",
    ChangePageAnswer,
    query=REVISION_PARAMETERS,
    access=Access.READ,
)
def list_revisions(edge: ApiContext, request: Request) -> Reply:
    """List the changes that made a job's versions."""
    reader = QueryReader(request.query, REVISION_PARAMETERS)
    limit = reader.limit()
    if reader.errors:
        raise invalid(reader.errors)
    job = read_job_row(edge, job_key(request), with_work=True)
    bound = ("revisions", job.key.tenant, job.key.job_id, job.created_at)
    through = None
    if "cursor" in request.query:
        position = position_in(request.query["cursor"])
        if not _VERSION.fullmatch(position) or cursor_of(bound, position) != request.query["cursor"]:
            raise invalid([FOREIGN])
        through = int(position)
    entries, next_through = engine.list_revisions(edge.context, job, limit, through)
    cursor = None if next_through is None else cursor_of(bound, str(next_through))
    shown = ((change_answer(one, request.bounds), cursor_of(bound, str((one.revision or 1) - 1))) for one in entries)
    return page_of(shown, cursor, edge.page_bytes)


@router.get(
    "/v1/changes",
    "List changes and their actors, the newest first",
    ChangePageAnswer,
    query=CHANGES_PARAMETERS,
    access=Access.READ,
)
def list_changes(edge: ApiContext, request: Request) -> Reply:
    """List the changes in a tenant."""
    reader = QueryReader(request.query, CHANGES_PARAMETERS)
    limit = reader.limit()
    asked = _filter(request, reader)
    if reader.errors:
        raise invalid(reader.errors)
    page = engine.list_changes(edge.context, asked, limit, _after(asked, request))
    cursor = None if page.next_after is None else _cursor(asked, page.next_after[1])
    cursors = (_cursor(asked, last) for _, last in page.positions)
    return page_of(zip(map(change_answer, page.items), cursors, strict=True), cursor, edge.page_bytes)


def _filter(request: Request, reader: QueryReader) -> ChangeFilter:
    from_at, to_at = reader.instant("from"), reader.instant("to")
    job_id, key_id = request.query.get("jobId"), request.query.get("actor")
    if from_at is not None and to_at is not None and to_at < from_at:
        reader.errors.append(FieldError("to", "This is before from; give a later time."))
    if job_id is not None and not JOB_ID.fullmatch(job_id):
        reader.errors.append(FieldError("jobId", "Give the id of a job: 1 to 64 letters, digits, - or _."))
    if key_id is not None and not _KEY_ID.fullmatch(key_id):
        reader.errors.append(FieldError("actor", "Give the id of an API key, such as acme.0123456789ab."))
    return ChangeFilter(
        request.tenant,
        from_at=from_at or 0,
        to_at=LATEST if to_at is None else to_at,
        job=None if job_id is None else JobKey(request.tenant, job_id),
        key_id=key_id,
    )


def _cursor(asked: ChangeFilter, last: Announcement) -> str:
    bound = (asked.tenant, asked.job and asked.job.job_id, asked.key_id, asked.from_at, asked.to_at)
    position = f"{last.at}/{last.job.job_id}/{last.version}/{last.fire_at}/{last.asked} {last.key_id}"
    return cursor_of(("changes", *bound), position)


def _after(asked: ChangeFilter, request: Request) -> tuple[int, Announcement] | None:
    """Return the position at which the page before ended. Raises ProblemError for a cursor of another query."""
    if "cursor" not in request.query:
        return None
    match = _POSITION.fullmatch(position_in(request.query["cursor"]))
    if match is not None:
        job = JobKey(asked.tenant, match[2])
        last = Announcement(int(match[1]), job, int(match[3]), int(match[4]), match[5], match[6] or "")
        if _cursor(asked, last) == request.query["cursor"]:
            return last.at, last
    raise invalid([FOREIGN])
