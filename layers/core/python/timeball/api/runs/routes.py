"""The routes of runs."""

from timeball.api.http.access import Access
from timeball.api.http.problems import Problem
from timeball.api.http.route import Route
from timeball.api.runs.answers import HeartbeatAnswer, RunAnswer, RunDetailAnswer, RunPageAnswer
from timeball.api.runs.callbacks import (
    CompleteRequest,
    FailRequest,
    HeartbeatRequest,
    complete_run,
    fail_run,
    heartbeat_run,
)
from timeball.api.runs.executions import ExecutionPageAnswer, list_executions
from timeball.api.runs.fan_out import FanOutRequest, name_run_items
from timeball.api.runs.manual import RetryRequest, SucceedRequest, cancel_run, retry_run, succeed_run
from timeball.api.runs.reading import RUN_PARAMETERS, list_runs, read_run

_OF_A_CALLBACK = (Problem.NO_CALLBACK_EXPECTED, Problem.STALE_ATTEMPT)

ROUTES: tuple[Route, ...] = (
    Route(
        "GET",
        "/v1/jobs/{jobId}/runs",
        list_runs,
        "List a job's runs, newest first",
        RunPageAnswer,
        query=RUN_PARAMETERS,
        access=Access.READ,
    ),
    Route(
        "GET",
        "/v1/jobs/{jobId}/executions",
        list_executions,
        "List the attempts of a job's runs, newest first",
        ExecutionPageAnswer,
        query=RUN_PARAMETERS,
        access=Access.READ,
    ),
    Route(
        "GET",
        "/v1/runs/{runId}",
        read_run,
        "Read a run with every attempt",
        RunDetailAnswer,
        access=Access.READ,
    ),
    Route(
        "POST",
        "/v1/runs/{runId}/retry",
        retry_run,
        "Retry a run that has failed, or waits for its retry, now, optionally with another payload",
        RunAnswer,
        body=RetryRequest,
        is_body_optional=True,
        problems=(Problem.JOB_ENDED, Problem.JOB_PAUSED, Problem.RUN_OVER, Problem.RUN_UNDER_WAY),
        access=Access.OPERATE,
    ),
    Route(
        "POST",
        "/v1/runs/{runId}/cancel",
        cancel_run,
        "Cancel a run; a live attempt is asked to stop",
        RunAnswer,
        problems=(Problem.RUN_OVER,),
        access=Access.OPERATE,
    ),
    Route(
        "POST",
        "/v1/runs/{runId}/succeed",
        succeed_run,
        "Mark a run that has failed for good as succeeded, so that jobs that wait for it go on",
        RunAnswer,
        body=SucceedRequest,
        is_body_optional=True,
        problems=(Problem.RUN_OVER, Problem.RUN_UNDER_WAY),
        access=Access.OPERATE,
    ),
    Route(
        "POST",
        "/v1/runs/{runId}/complete",
        complete_run,
        "Report, as the target of a callback run, that the attempt has succeeded",
        RunAnswer,
        body=CompleteRequest,
        problems=(*_OF_A_CALLBACK, Problem.TOO_MANY_ITEMS),
        access=Access.REPORT,
    ),
    Route(
        "POST",
        "/v1/runs/{runId}/fail",
        fail_run,
        "Report, as the target of a callback run, that the attempt has failed",
        RunAnswer,
        body=FailRequest,
        problems=_OF_A_CALLBACK,
        access=Access.REPORT,
    ),
    Route(
        "POST",
        "/v1/runs/{runId}/fan-out",
        name_run_items,
        "Name items, as the target of a run that is under way: other jobs have a run for each item",
        RunAnswer,
        body=FanOutRequest,
        headers=("Idempotency-Key",),
        problems=(Problem.STALE_ATTEMPT, Problem.TOO_MANY_ITEMS, Problem.IDEMPOTENCY_CONFLICT),
        access=Access.REPORT,
    ),
    Route(
        "POST",
        "/v1/runs/{runId}/heartbeat",
        heartbeat_run,
        "Report, as the target of a callback run, that it is still at work",
        HeartbeatAnswer,
        body=HeartbeatRequest,
        problems=(*_OF_A_CALLBACK, Problem.LEASE_EXPIRED),
        access=Access.REPORT,
    ),
)
