"""The routes of jobs."""

from timeball.api.http import generations
from timeball.api.http.access import Access
from timeball.api.http.problems import Problem
from timeball.api.http.route import Route
from timeball.api.jobs.answers import JobAnswer
from timeball.api.jobs.batch import BatchAnswer, BatchRequest, create_batch
from timeball.api.jobs.changing import cancel_job, patch_job, pause_job, resume_job
from timeball.api.jobs.creating import create_job
from timeball.api.jobs.listing import JOB_PARAMETERS, JobPageAnswer, read_jobs
from timeball.api.jobs.reading import read_job
from timeball.api.jobs.replacing import put_job
from timeball.api.jobs.request import JobRequest
from timeball.api.jobs.skipping import skip_next_fire
from timeball.api.jobs.triggering import TriggerRequest, trigger_job
from timeball.api.runs.answers import RunAnswer

ROUTES: tuple[Route, ...] = (
    Route(
        "POST",
        "/v1/jobs",
        create_job,
        "Create a job; a 200 returns the job that holds its uniqueKey already",
        JobAnswer,
        status=201,
        also={200: JobAnswer},
        body=JobRequest,
        headers=("Idempotency-Key", *generations.HEADERS),
        problems=(Problem.IDEMPOTENCY_CONFLICT, *generations.PROBLEMS),
        keeps_bounds=True,
        access=Access.SUBMIT,
    ),
    Route(
        "GET",
        "/v1/jobs",
        read_jobs,
        "List jobs, the newest first",
        JobPageAnswer,
        query=JOB_PARAMETERS,
        keeps_bounds=True,
        access=Access.READ,
    ),
    Route(
        "POST",
        "/v1/jobs:batch",
        create_batch,
        "Create up to a hundred jobs; each item has a result of its own",
        BatchAnswer,
        body=BatchRequest,
        headers=("Idempotency-Key", *generations.HEADERS),
        problems=generations.PROBLEMS,
        keeps_bounds=True,
        access=Access.SUBMIT,
    ),
    Route(
        "PUT",
        "/v1/jobs/{jobId}",
        put_job,
        "Create a job under an id of your own, or replace it; repeating the request changes nothing",
        JobAnswer,
        body=JobRequest,
        also={201: JobAnswer},
        headers=("If-Match", "If-None-Match", *generations.HEADERS),
        problems=(Problem.JOB_ENDED, *generations.PROBLEMS),
        access=Access.SUBMIT,
    ),
    Route(
        "GET",
        "/v1/jobs/{jobId}",
        read_job,
        "Read a job with its latest run",
        JobAnswer,
        access=Access.READ,
    ),
    Route(
        "DELETE",
        "/v1/jobs/{jobId}",
        cancel_job,
        "Cancel a job",
        JobAnswer,
        headers=("If-Match",),
        problems=(Problem.JOB_ENDED,),
        access=Access.SUBMIT,
    ),
    Route(
        "PATCH",
        "/v1/jobs/{jobId}",
        patch_job,
        "Change a job by a merge patch, such as its schedule, target or policies",
        JobAnswer,
        body=JobRequest,
        headers=("If-Match",),
        problems=(Problem.JOB_ENDED, Problem.QUOTA_EXCEEDED),
        access=Access.SUBMIT,
    ),
    Route(
        "POST",
        "/v1/jobs/{jobId}/pause",
        pause_job,
        "Pause a job: no fire of its schedule starts until it is resumed",
        JobAnswer,
        headers=("If-Match",),
        problems=(Problem.JOB_ENDED,),
        access=Access.SUBMIT,
    ),
    Route(
        "POST",
        "/v1/jobs/{jobId}/resume",
        resume_job,
        "Resume a paused job; its catch-up policy decides about the fires that it missed",
        JobAnswer,
        headers=("If-Match",),
        problems=(Problem.JOB_ENDED,),
        access=Access.SUBMIT,
    ),
    Route(
        "POST",
        "/v1/jobs/{jobId}/skip-next",
        skip_next_fire,
        "Skip the next fire of a job",
        JobAnswer,
        headers=("If-Match", "Idempotency-Key"),
        problems=(Problem.JOB_ENDED, Problem.JOB_PAUSED),
        access=Access.SUBMIT,
    ),
    Route(
        "POST",
        "/v1/jobs/{jobId}/trigger",
        trigger_job,
        "Run a job now, beside its schedule; a 200 returns the waiting run that collected this trigger",
        RunAnswer,
        status=201,
        also={200: RunAnswer},
        body=TriggerRequest,
        is_body_optional=True,
        headers=("Idempotency-Key", *generations.HEADERS),
        problems=(Problem.JOB_ENDED, Problem.IDEMPOTENCY_CONFLICT, *generations.PROBLEMS),
        access=Access.SUBMIT,
    ),
)
