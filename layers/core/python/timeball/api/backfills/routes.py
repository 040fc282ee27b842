"""The routes of backfills."""

from timeball.api.backfills.answers import BackfillAnswer, BackfillPageAnswer, DryRunAnswer
from timeball.api.backfills.listing import BACKFILL_PARAMETERS, list_backfills
from timeball.api.backfills.operations import cancel_a_backfill, create_backfill, read_backfill
from timeball.api.backfills.request import BackfillRequest
from timeball.api.http import generations
from timeball.api.http.access import Access
from timeball.api.http.problems import Problem
from timeball.api.http.route import Route

_BACKFILLS = "/v1/jobs/{jobId}/backfills"
_BACKFILL = "/v1/jobs/{jobId}/backfills/{backfillId}"

ROUTES: tuple[Route, ...] = (
    Route(
        "POST",
        _BACKFILLS,
        create_backfill,
        "Run the fires of a past range again; with dryRun, only show them",
        BackfillAnswer,
        status=201,
        body=BackfillRequest,
        also={200: DryRunAnswer},
        headers=("Idempotency-Key", *generations.HEADERS),
        problems=(Problem.JOB_ENDED, Problem.IDEMPOTENCY_CONFLICT, *generations.PROBLEMS),
        access=Access.OPERATE,
    ),
    Route(
        "GET",
        _BACKFILLS,
        list_backfills,
        "List a job's backfills, newest first",
        BackfillPageAnswer,
        query=BACKFILL_PARAMETERS,
        access=Access.READ,
    ),
    Route(
        "GET",
        _BACKFILL,
        read_backfill,
        "Read the progress of a backfill",
        BackfillAnswer,
        access=Access.READ,
    ),
    Route(
        "DELETE",
        _BACKFILL,
        cancel_a_backfill,
        "Cancel a backfill",
        BackfillAnswer,
        headers=("If-Match",),
        access=Access.OPERATE,
    ),
)
