"""The fires to come, over all jobs of a tenant, and which of them will not run.

The cursor also has the window, because `from` is by default the time of the first page.
"""

from typing import Final

from pydantic import Field

from timeball.api.http.access import Access, are_within
from timeball.api.http.cursor import PAGE, PageQuery, Position, identifier, number, tags_of
from timeball.api.http.edge import ApiContext
from timeball.api.http.exchange import AnswerModel, NextCursor, Reply, Request, Time, attribute
from timeball.api.http.problems import FieldError
from timeball.api.http.route import Router
from timeball.domain.model.ids import JOB_ID, JobKey
from timeball.domain.model.reason import Reason
from timeball.domain.planning.fires_ahead import FireAhead
from timeball.domain.time.instants import DAY_MS
from timeball.engine.kept_digests import ListedAt
from timeball.engine.scheduling.upcoming import Window, list_upcoming

router = Router()

MOST_DAYS: Final = 400
MOST_FIRES: Final = 1_000
_NO_JOB: Final = "-"
"""Stands in a cursor for the absent job before the first one."""


class UpcomingAnswer(AnswerModel):
    """A fire to come."""

    job_id: str = attribute("job.job_id", description="The id of the job.")
    fire_time: Time = attribute("fire_at", serialization_alias="fireTime", description="The fire time.")
    starts_at: Time | None = Field(
        description="When its run will start: with its jitter, moved by its calendar, or caught up after a freeze; "
        "null if it will not run."
    )
    will_run: bool = Field(description="Whether it will run, as its job, calendar and freezes stand now.")
    needs_event: bool = Field(
        description="Whether it runs only if an event that its job's pattern matches comes before it."
    )
    reason: Reason | None = Field(description="Why it will not run; null if it will.")


class UpcomingPageAnswer(AnswerModel):
    """A page of fires to come, the earliest first."""

    items: list[UpcomingAnswer] = Field(description="The fires.")
    next_cursor: NextCursor


@router.get(
    "/v1/upcoming",
    "List the fires to come of all jobs, the earliest first",
    UpcomingPageAnswer,
    query=("from", "to", "tag", "jobId", *PAGE),
    keeps_bounds=True,
    access=Access.READ,
)
def list_upcoming_fires(edge: ApiContext, request: Request) -> Reply:
    """List the fires to come of all jobs."""
    asked = PageQuery(request, MOST_FIRES, MOST_FIRES)
    now = edge.context.clock.now()
    from_at, to_at = _window(asked, now)
    tags = {*tags_of(request.each("tag"), asked.errors)}
    job_id = asked.text("jobId", JOB_ID, "No job can have this id; give the jobId of an answer.")
    begun = asked.after(number, number, number, identifier, number, identifier)
    after_jobs: ListedAt | None = None
    after: tuple[int, str] | None = None
    if begun is not None:
        from_at, to_at, listed_at, listed, *behind = begun
        after_jobs = None if listed == _NO_JOB else (listed_at, JobKey(request.tenant, listed))
        after = None if behind[1] == _NO_JOB else (behind[0], behind[1])
    window = Window(
        request.tenant,
        max(from_at, now),
        to_at,
        lambda job: are_within(job.spec.tags, request.bounds) and tags <= {*job.spec.tags.items()},
        () if job_id is None else (job_id,),
    )
    page = list_upcoming(edge.context, window, asked.limit, after_jobs, after)

    def position(jobs: ListedAt | None, fire: FireAhead | None) -> Position:
        listed_at, key = jobs or (0, None)
        at, behind = (0, _NO_JOB) if fire is None else (fire.fire_at, fire.job.job_id)
        return from_at, to_at, listed_at, _NO_JOB if key is None else key.job_id, at, behind

    next_after = None if page.next_jobs is None else position(page.next_jobs, None)
    if page.next_fire is not None:
        next_after = position(after_jobs, page.next_fire)
    return asked.page(edge, ((shown_fire(one), position(after_jobs, one)) for one in page.fires), next_after)


def shown_fire(fire: FireAhead) -> UpcomingAnswer:
    """Return the answer about a fire to come."""
    return UpcomingAnswer.about(fire)


def _window(asked: PageQuery, now: int) -> tuple[int, int]:
    """Return the window that is asked for, by default the next day; errors are collected."""
    given_from, given_to = asked.window()
    from_at = max(now, given_from or now)
    to_at = from_at + DAY_MS if given_to is None else given_to
    if to_at > now + MOST_DAYS * DAY_MS:
        field = "from" if given_to is None else "to"
        asked.errors.append(FieldError(field, f"Fires are known for {MOST_DAYS} days ahead; give an earlier time."))
    return from_at, to_at
