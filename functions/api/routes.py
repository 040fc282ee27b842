"""The one table of routes. The resolver, the OpenAPI document and the tests are made from it."""

from .answers import (
    BackfillAnswer,
    BackfillPageAnswer,
    DryRunAnswer,
    HealthAnswer,
    JobAnswer,
    PreviewAnswer,
)
from .backfill_operations import cancel_a_backfill, create_backfill, list_backfills, read_backfill
from .backfill_request import BackfillRequest
from .by_hand_operations import cancel_run, retry_run
from .callback_operations import (
    CompleteRequest,
    FailRequest,
    HeartbeatRequest,
    complete_run,
    fail_run,
    heartbeat_run,
)
from .dead_letter_operations import discard_dead_letters, list_dead_letters, replay_dead_letters
from .dead_letter_request import DEAD_LETTER_PARAMETERS, DiscardRequest, ReplayRequest
from .job_change_operations import cancel_job, patch_job, pause_job, resume_job
from .job_operations import create_job, read_job
from .job_request import JobRequest
from .paging import BACKFILL_PARAMETERS, RUN_PARAMETERS
from .preview import PreviewRequest, preview_schedule
from .problems import Problem
from .route import Route
from .run_answers import (
    DeadLetterPageAnswer,
    DealtAnswer,
    HeartbeatAnswer,
    RunAnswer,
    RunDetailAnswer,
    RunPageAnswer,
)
from .run_operations import TriggerRequest, list_runs, read_run, trigger_job
from .service_operations import healthz, openapi

_LIST_RUNS = "/v1/jobs/{jobId}/runs"
_BACKFILLS = "/v1/jobs/{jobId}/backfills"
_BACKFILL = "/v1/jobs/{jobId}/backfills/{backfillId}"
_A_BODY = (Problem.MALFORMED_BODY, Problem.BODY_TOO_LARGE, Problem.UNSUPPORTED_MEDIA_TYPE)
_OF_A_JOB = (Problem.NOT_FOUND, Problem.JOB_ENDED)
_OF_A_CALLBACK = (*_A_BODY, Problem.NOT_FOUND, Problem.NO_CALLBACK_EXPECTED, Problem.STALE_ATTEMPT)

ROUTES: tuple[Route, ...] = (
    Route(
        "POST",
        "/v1/jobs",
        create_job,
        "Create a job",
        JobAnswer,
        status=201,
        body=JobRequest,
        headers=("Idempotency-Key",),
        problems=(*_A_BODY, Problem.IDEMPOTENCY_CONFLICT),
    ),
    Route(
        "GET",
        "/v1/jobs/{jobId}",
        read_job,
        "Read a job with its latest run",
        JobAnswer,
        problems=(Problem.NOT_FOUND,),
    ),
    Route(
        "DELETE",
        "/v1/jobs/{jobId}",
        cancel_job,
        "Cancel a job",
        JobAnswer,
        headers=("If-Match",),
        problems=(*_OF_A_JOB, Problem.STALE_VERSION),
    ),
    Route(
        "PATCH",
        "/v1/jobs/{jobId}",
        patch_job,
        "Change a job by a merge patch: its schedule, its target, its policies",
        JobAnswer,
        body=JobRequest,
        headers=("If-Match",),
        problems=(*_A_BODY, *_OF_A_JOB, Problem.STALE_VERSION),
    ),
    Route(
        "POST",
        "/v1/jobs/{jobId}/pause",
        pause_job,
        "Pause a job: no fire of its schedule starts until it is resumed",
        JobAnswer,
        headers=("If-Match",),
        problems=(*_A_BODY, *_OF_A_JOB, Problem.STALE_VERSION),
    ),
    Route(
        "POST",
        "/v1/jobs/{jobId}/resume",
        resume_job,
        "Resume a paused job; its catch-up policy decides about what was due meanwhile",
        JobAnswer,
        headers=("If-Match",),
        problems=(*_A_BODY, *_OF_A_JOB, Problem.STALE_VERSION),
    ),
    Route(
        "POST",
        "/v1/jobs/{jobId}/trigger",
        trigger_job,
        "Run a job now, beside its schedule",
        RunAnswer,
        status=201,
        body=TriggerRequest,
        is_body_optional=True,
        headers=("Idempotency-Key",),
        problems=(*_A_BODY, *_OF_A_JOB, Problem.IDEMPOTENCY_CONFLICT),
    ),
    Route(
        "POST",
        _BACKFILLS,
        create_backfill,
        "Run the fires of a past range again; with dryRun, show them",
        BackfillAnswer,
        status=201,
        body=BackfillRequest,
        also={200: DryRunAnswer},
        headers=("Idempotency-Key",),
        problems=(*_A_BODY, *_OF_A_JOB, Problem.IDEMPOTENCY_CONFLICT),
    ),
    Route(
        "GET",
        _BACKFILLS,
        list_backfills,
        "List a job's backfills, newest first",
        BackfillPageAnswer,
        query=BACKFILL_PARAMETERS,
        problems=(Problem.NOT_FOUND,),
    ),
    Route(
        "GET",
        _BACKFILL,
        read_backfill,
        "Read how far a backfill is",
        BackfillAnswer,
        problems=(Problem.NOT_FOUND,),
    ),
    Route(
        "DELETE",
        _BACKFILL,
        cancel_a_backfill,
        "Cancel a backfill",
        BackfillAnswer,
        headers=("If-Match",),
        problems=(Problem.NOT_FOUND, Problem.STALE_VERSION),
    ),
    Route(
        "GET",
        _LIST_RUNS,
        list_runs,
        "List a job's runs, newest first",
        RunPageAnswer,
        query=RUN_PARAMETERS,
        problems=(Problem.NOT_FOUND,),
    ),
    Route(
        "GET",
        "/v1/jobs/{jobId}/executions",
        list_runs,
        "List a job's runs, newest first",
        RunPageAnswer,
        query=RUN_PARAMETERS,
        problems=(Problem.NOT_FOUND,),
        alias_of=_LIST_RUNS,
    ),
    Route(
        "GET",
        "/v1/runs/{runId}",
        read_run,
        "Read a run with every attempt",
        RunDetailAnswer,
        problems=(Problem.NOT_FOUND,),
    ),
    Route(
        "POST",
        "/v1/runs/{runId}/retry",
        retry_run,
        "Try a run that has failed, or waits for its retry, again now",
        RunAnswer,
        problems=(*_A_BODY, *_OF_A_JOB, Problem.JOB_PAUSED, Problem.RUN_OVER),
    ),
    Route(
        "POST",
        "/v1/runs/{runId}/cancel",
        cancel_run,
        "Cancel a run; one that is under way is asked to stop",
        RunAnswer,
        problems=(*_A_BODY, Problem.NOT_FOUND, Problem.RUN_OVER),
    ),
    Route(
        "POST",
        "/v1/runs/{runId}/complete",
        complete_run,
        "Say as the target of a callback run that the attempt has succeeded",
        RunAnswer,
        body=CompleteRequest,
        problems=_OF_A_CALLBACK,
    ),
    Route(
        "POST",
        "/v1/runs/{runId}/fail",
        fail_run,
        "Say as the target of a callback run that the attempt has failed",
        RunAnswer,
        body=FailRequest,
        problems=_OF_A_CALLBACK,
    ),
    Route(
        "POST",
        "/v1/runs/{runId}/heartbeat",
        heartbeat_run,
        "Say as the target of a callback run that it is still at work",
        HeartbeatAnswer,
        body=HeartbeatRequest,
        problems=(*_OF_A_CALLBACK, Problem.LEASE_EXPIRED),
    ),
    Route(
        "GET",
        "/v1/dead-letters",
        list_dead_letters,
        "List the runs that failed for good, the newest death first",
        DeadLetterPageAnswer,
        query=DEAD_LETTER_PARAMETERS,
    ),
    Route(
        "POST",
        "/v1/dead-letters:replay",
        replay_dead_letters,
        "Try dead letters again, so many a second",
        DealtAnswer,
        body=ReplayRequest,
        headers=("Idempotency-Key",),
        problems=_A_BODY,
    ),
    Route(
        "POST",
        "/v1/dead-letters:discard",
        discard_dead_letters,
        "Take dead letters off the list",
        DealtAnswer,
        body=DiscardRequest,
        headers=("Idempotency-Key",),
        problems=_A_BODY,
    ),
    Route(
        "POST",
        "/v1/schedules:preview",
        preview_schedule,
        "Show the next fire times of a schedule; nothing is stored",
        PreviewAnswer,
        body=PreviewRequest,
        problems=_A_BODY,
    ),
    Route("GET", "/healthz", healthz, "Say that the API is up", HealthAnswer, is_public=True),
    Route("GET", "/openapi.json", openapi, "Describe the API", None, is_public=True),
)

PUBLIC_PATHS = frozenset(route.path for route in ROUTES if route.is_public)
"""All that is answered without an API key; none of these has a parameter."""


def methods_of(path: str) -> list[str]:
    """List the methods that a path knows; none if there is no such path."""
    return sorted(route.method for route in ROUTES if route.path_pattern.fullmatch(path))
