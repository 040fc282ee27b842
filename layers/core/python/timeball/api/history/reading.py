"""List changes, the newest first: those of one job, or all in a tenant."""

import re
from typing import Final

from timeball.api.history.answers import ChangePageAnswer, change_answer
from timeball.api.http.access import Access
from timeball.api.http.cursor import PAGE, PageQuery, Position, foreign_cursor, number, text_like
from timeball.api.http.edge import ApiContext, job_key, read_job_row
from timeball.api.http.reply import Reply
from timeball.api.http.request import Request
from timeball.api.http.route import Router
from timeball.domain.model.ids import JOB_ID, JobKey
from timeball.domain.model.jobs.revision import Announcement
from timeball.domain.time.instants import LATEST
from timeball.engine.changes import history as engine
from timeball.engine.changes.history import ChangeFilter

router = Router()

_KEY_ID: Final = re.compile(r"[!-~]{1,100}", re.ASCII)
_JOB_ID_OR_NONE: Final = re.compile(f"({JOB_ID.pattern})?")
_TEXT: Final = re.compile(r"[!-~]*", re.ASCII)


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
