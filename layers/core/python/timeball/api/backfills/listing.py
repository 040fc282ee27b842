"""List a job's backfills, newest first."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from timeball.api.backfills.answers import BackfillPageAnswer, backfill_answer
from timeball.api.http.access import Access
from timeball.api.http.edge import ApiContext, job_key, read_job_row
from timeball.api.http.paging import FOREIGN, QueryReader, cursor_of, page_of, position_in
from timeball.api.http.problems import invalid
from timeball.api.http.reply import Reply
from timeball.api.http.request import Request
from timeball.api.http.route import Router
from timeball.domain.backfill import Backfill
from timeball.domain.model.ids import JobKey

router = Router()

BACKFILL_PARAMETERS: Final = ("limit", "cursor")


@router.get(
    "/v1/jobs/{jobId}/backfills",
    "List a job's backfills, newest first",
    BackfillPageAnswer,
    query=BACKFILL_PARAMETERS,
    access=Access.READ,
)
def list_backfills(edge: ApiContext, request: Request) -> Reply:
    """List a job's backfills, newest first."""
    key = job_key(request)
    page = backfill_page(key, request.query)
    read_job_row(edge, key)
    shown, cursor = page.of(edge.context.store.backfills.of_job(key))
    return page_of(((backfill_answer(one), page.cursor_behind(one)) for one in shown), cursor, edge.page_bytes)


@dataclass(frozen=True)
class BackfillPage:
    """The request for a page of a job's backfills: `limit` of them, newest first, created before `before`."""

    job: JobKey
    limit: int
    before: tuple[int, str] | None = None

    def of(self, backfills: Sequence[Backfill]) -> tuple[list[Backfill], str | None]:
        """Return the page, taken from all of the job's backfills, and the cursor of the next page."""
        newest_first = sorted(backfills, key=_age, reverse=True)
        left = [one for one in newest_first if self.before is None or _age(one) < self.before]
        shown = left[: self.limit]
        return shown, self.cursor_behind(shown[-1]) if len(left) > len(shown) else None

    def cursor_behind(self, backfill: Backfill) -> str:
        """Return the cursor of the page after a backfill."""
        return self._cursor(*_age(backfill))

    def from_cursor(self, cursor: str) -> "BackfillPage | None":
        """Return the page that a cursor asks for; None if the cursor is not of this job."""
        created_at, _, name = position_in(cursor).partition(".")
        if not (created_at.isdecimal() and created_at.isascii() and len(created_at) <= 15):
            return None
        before = (int(created_at), name)
        return BackfillPage(self.job, self.limit, before) if self._cursor(*before) == cursor else None

    def _cursor(self, created_at: int, name: str) -> str:
        return cursor_of((self.job.tenant, self.job.job_id, "backfills"), f"{created_at}.{name}")


def backfill_page(job: JobKey, query: Mapping[str, str]) -> BackfillPage:
    """Read the query string of a job's backfills. Raises ProblemError that names every bad parameter."""
    reader = QueryReader(query, BACKFILL_PARAMETERS)
    page: BackfillPage | None = BackfillPage(job, reader.limit())
    if reader.errors:
        raise invalid(reader.errors)
    if page is not None and "cursor" in query:
        page = page.from_cursor(query["cursor"])
    if page is None:
        raise invalid([FOREIGN])
    return page


def _age(backfill: Backfill) -> tuple[int, str]:
    return backfill.created_at, backfill.key.name
