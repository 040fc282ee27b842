"""List a job's backfills, newest first."""

from timeball.api.backfills.answers import BackfillPageAnswer, backfill_answer
from timeball.api.http.access import Access
from timeball.api.http.cursor import PAGE, PageQuery, identifier, number
from timeball.api.http.edge import ApiContext, job_key, read_job_row
from timeball.api.http.reply import Reply
from timeball.api.http.request import Request
from timeball.api.http.route import Router
from timeball.domain.backfill import Backfill

router = Router()


@router.get(
    "/v1/jobs/{jobId}/backfills",
    "List a job's backfills, newest first",
    BackfillPageAnswer,
    query=PAGE,
    access=Access.READ,
)
def list_backfills(edge: ApiContext, request: Request) -> Reply:
    """List a job's backfills, newest first."""
    key, asked = job_key(request), PageQuery(request)
    before = asked.after(number, identifier)
    read_job_row(edge, key)
    newest_first = sorted(edge.context.store.backfills.of_job(key), key=_age, reverse=True)
    left = [one for one in newest_first if before is None or _age(one) < before]
    return asked.first(edge, left, backfill_answer, _age)


def _age(backfill: Backfill) -> tuple[int, str]:
    return backfill.created_at, backfill.key.name
