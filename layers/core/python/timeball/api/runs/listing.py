"""List runs of all jobs: those that run, wait, failed or are late, and, within an hour, those that succeeded too."""

from collections.abc import Iterable
from functools import partial
from typing import Any, Final

from timeball.api.http.access import Access
from timeball.api.http.cursor import PAGE, PageQuery, Part, number, tags_of
from timeball.api.http.edge import ApiContext
from timeball.api.http.exchange import Reply, Request
from timeball.api.http.problems import FieldError, ProblemError, invalid
from timeball.api.http.route import Router
from timeball.api.runs.answers import RunPageAnswer, run_answer
from timeball.domain.model.ids import JOB_ID, JobKey, RunId
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.run import RunState
from timeball.domain.time.instants import HOUR_MS, LATEST
from timeball.engine.runs import list_runs as engine
from timeball.engine.runs.list_runs import Listed, RunsCursor, RunsQuery, TooManyError
from timeball.engine.runs.notable_runs import RunFilter

router = Router()

SORTS: Final = ("-finishedAt", "finishedAt", "-fireTime", "fireTime")
"""The orders of a list; the first is the default."""
_NONE: Final = "-"
"""Stands in a cursor for a part that it does not have."""


@router.get(
    "/v1/runs",
    "List runs of all jobs",
    RunPageAnswer,
    query=("status", "reason", "jobId", "tag", "taskId", "from", "to", "sort", *PAGE),
    keeps_bounds=True,
    access=Access.READ,
)
def list_runs(edge: ApiContext, request: Request) -> Reply:
    """List a tenant's runs, the newest first."""
    asked = PageQuery(request)
    where, sort = _filter(request, asked), asked.choice("sort", SORTS) or SORTS[0]
    from_at, to_at = asked.window()
    start = _cursor(asked.after(*_parts(request.tenant)))
    now = edge.context.clock.now() if start is None else start.began_at
    query = RunsQuery(where, from_at or 0, LATEST if to_at is None else to_at, "fire" in sort, not sort.startswith("-"))
    if query.has_plain and where.job is None:
        query = _within_an_hour(query, from_at, now if to_at is None else to_at)
    try:
        page = engine.list_runs(edge.context, query, asked.limit, start)
    except TooManyError:
        raise _refused(
            "More than 1,500 runs match; sort by finishedAt, or narrow status, from and to.", "sort"
        ) from None
    items = zip(map(run_answer, page.runs), map(_position, page.cursors), strict=True)
    return asked.page(edge, items, None if page.following is None else _position(page.following))


def _within_an_hour(query: RunsQuery, from_at: int | None, end_at: int) -> RunsQuery:
    """Return the query with the hour before its end, or refuse a longer time."""
    if from_at is not None and end_at - from_at > HOUR_MS:
        raise _refused(
            "A list with succeeded runs of several jobs needs from and to at most an hour apart; narrow them, name a "
            "jobId, or leave `succeeded` out of status.",
            "from",
        )
    first_at = end_at - HOUR_MS if from_at is None else from_at
    return RunsQuery(query.where, first_at, query.to_at, query.by_fire, query.oldest_first)


def _refused(why: str, name: str) -> ProblemError:
    return invalid([FieldError(name, why)])


def _filter(request: Request, asked: PageQuery) -> RunFilter:
    states = asked.choices("status", [*RunState])
    reason = asked.choice("reason", [*Reason])
    job_id = asked.text("jobId", JOB_ID, "No job can have this id; give the jobId of an answer.")
    return RunFilter(
        request.tenant,
        states=frozenset(map(RunState, states)),
        reason=None if reason is None else Reason(reason),
        job=None if job_id is None else JobKey(request.tenant, job_id),
        task_id=asked.text("taskId", JOB_ID, "No task can have this id; give the taskId of an answer."),
        tags=tags_of(request.each("tag"), asked.errors),
        bounds=request.bounds,
    )


def _position(cursor: RunsCursor) -> tuple[object, ...]:
    """Return the parts of a cursor: when the list began, the last run, and the group of jobs."""
    after = (_NONE,) * 3 if cursor.after is None else (int(cursor.after[0]), *cursor.after[1:])
    return (cursor.began_at, *after, *_job_parts(cursor.behind), *_job_parts(cursor.through))


def _job_parts(listed: Listed | None) -> Iterable[object]:
    return (_NONE,) * 2 if listed is None else (listed[0], listed[1].job_id)


def _parts(tenant: str) -> list[Part]:
    """Return the functions that read the parts of a cursor."""
    run = _or_none(partial(RunId.parse, tenant))
    job = _or_none(lambda text: JobKey(tenant, text) if JOB_ID.fullmatch(text) else None)
    at = _or_none(number)
    return [number, at, at, run, at, job, at, job]


def _or_none(part: Part) -> Part:
    """Return a function that reads a part or its absence: as (value,) or ()."""

    def read(text: str) -> tuple[Any, ...] | None:
        if text == _NONE:
            return ()
        value = part(text)
        return None if value is None else (value,)

    return read


def _cursor(parts: tuple[Any, ...] | None) -> RunsCursor | None:
    if parts is None:
        return None
    began_at, is_live, at, run, *jobs = parts
    behind_at, behind, through_at, through = jobs
    return RunsCursor(
        began_at,
        (bool(is_live[0]), at[0], run[0]) if run else None,
        (behind_at[0], behind[0]) if behind else None,
        (through_at[0], through[0]) if through else None,
    )
