"""The routes of changes."""

from timeball.api.history.answers import ChangePageAnswer
from timeball.api.history.reading import CHANGES_PARAMETERS, REVISION_PARAMETERS, read_changes, read_revisions
from timeball.api.history.restoring import restore_job
from timeball.api.http.access import Access
from timeball.api.http.problems import Problem
from timeball.api.http.route import Route
from timeball.api.jobs.answers import JobAnswer

ROUTES: tuple[Route, ...] = (
    Route(
        "GET",
        "/v1/jobs/{jobId}/revisions",
        read_revisions,
        "List the changes that made a job, the newest first",
        ChangePageAnswer,
        query=REVISION_PARAMETERS,
        access=Access.READ,
    ),
    Route(
        "POST",
        "/v1/jobs/{jobId}/revisions/{revision}:restore",
        restore_job,
        "Change a job back to one of its revisions",
        JobAnswer,
        headers=("If-Match",),
        problems=(Problem.JOB_ENDED, Problem.QUOTA_EXCEEDED),
        access=Access.OPERATE,
    ),
    Route(
        "GET",
        "/v1/changes",
        read_changes,
        "List changes and their actors, the newest first",
        ChangePageAnswer,
        query=CHANGES_PARAMETERS,
        access=Access.READ,
    ),
)
