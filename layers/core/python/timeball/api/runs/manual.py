"""Manual actions on one run: retry it, cancel it, or mark it as succeeded."""

from typing import Final

from pydantic import Field

from timeball.api.http.access import Access
from timeball.api.http.body import compact
from timeball.api.http.edge import ApiContext, no_run, note, run_id_in
from timeball.api.http.exchange import Reply, Request, ok, read_optional_body, refuse_fields
from timeball.api.http.fields import Payload
from timeball.api.http.problems import Problem, ProblemError
from timeball.api.http.quotas import check_payload
from timeball.api.http.request_model import Strict, read_valid
from timeball.api.http.route import Router
from timeball.api.runs.answers import RunAnswer, run_answer
from timeball.api.schemas.fit import refuse_misfit
from timeball.domain.model.ids import RunId
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.tenants.actor import Action, Resource, ResourceKind
from timeball.engine.runs.effects import Answered, Refusal
from timeball.engine.runs.manual import Edit, cancel_runs, retry_runs, succeed_runs

router = Router()

_BECAME: Final = {
    RunState.SUCCEEDED: "has succeeded",
    RunState.FAILED: "has failed",
    RunState.SKIPPED: "was skipped",
    RunState.CANCELLED: "was cancelled",
}


class RetryRequest(Strict):
    """The differences from the run's earlier attempts."""

    payload: Payload = Field(
        None,
        description="The body of this run's calls from now on instead of the former payload: any JSON, at most 256 KB.",
    )


class SucceedRequest(Strict):
    """Why a failed run counts as succeeded."""

    reason: str | None = Field(
        None, min_length=1, max_length=500, description="Why, such as that its work was done in another way."
    )


@router.post(
    "/v1/runs/{runId}/succeed",
    "Mark a run that has failed for good as succeeded, so that jobs that wait for it go on",
    RunAnswer,
    body=SucceedRequest,
    is_body_optional=True,
    problems=(Problem.RUN_OVER, Problem.RUN_UNDER_WAY),
    access=Access.OPERATE,
)
def succeed_run(edge: ApiContext, request: Request) -> Reply:
    """Mark a run that has failed for good as succeeded; jobs that wait for it go on."""
    wanted = read_valid(SucceedRequest, read_optional_body(request))
    run_id = _noted(edge, request, Action.SUCCEED)
    refusal, run = succeed_runs(edge.context, [run_id], wanted.reason or "")[0]
    if refusal is not None and run is not None and not run.is_terminal:
        raise ProblemError(Problem.RUN_UNDER_WAY, "Only a run that has failed for good can be marked as succeeded.")
    return ok(run_answer(_done((refusal, run), "only a failed run can be marked as succeeded")))


@router.post(
    "/v1/runs/{runId}/retry",
    "Retry a run that has failed, or waits for its retry, now, optionally with another payload",
    RunAnswer,
    body=RetryRequest,
    is_body_optional=True,
    problems=(Problem.JOB_ENDED, Problem.JOB_PAUSED, Problem.RUN_OVER, Problem.RUN_UNDER_WAY),
    access=Access.OPERATE,
)
def retry_run(edge: ApiContext, request: Request) -> Reply:
    """Try a run that has failed, or waits for its retry, again now, with a fresh budget of retries."""
    wanted = read_valid(RetryRequest, read_optional_body(request))
    run_id, edit = run_id_in(request), None
    if "payload" in wanted.model_fields_set:
        check_payload(edge, request, wanted.payload)
        refuse_misfit(edge, run_id.job, wanted.payload)
        edit = Edit(compact(wanted.payload))
    _noted(edge, request, Action.RETRY)
    return ok(run_answer(_done(retry_runs(edge.context, [run_id], edit)[0], "trigger the job instead")))


@router.post(
    "/v1/runs/{runId}/cancel",
    "Cancel a run; a live attempt is asked to stop",
    RunAnswer,
    problems=(Problem.RUN_OVER,),
    access=Access.OPERATE,
)
def cancel_run(edge: ApiContext, request: Request) -> Reply:
    """Cancel a run: a waiting run ends, and a live attempt is asked to stop."""
    refuse_fields(request)
    run_id = _noted(edge, request, Action.CANCEL)
    return ok(run_answer(_done(cancel_runs(edge.context, [run_id])[0], "there is nothing to cancel")))


def _noted(edge: ApiContext, request: Request, action: Action) -> RunId:
    """Record an action on the run that a path names in the list of changes, and return the run's id."""
    run_id = run_id_in(request)
    note(edge, request, action, Resource(ResourceKind.RUN, str(run_id), run_id.job.job_id))
    return run_id


def _done(answered: Answered, otherwise: str) -> Run:
    """Return the changed run. Raises ProblemError if it was not changed."""
    refusal, run = answered
    if run is None:
        raise no_run()
    match refusal:
        case Refusal.JOB_CANCELLED:
            raise ProblemError(
                Problem.JOB_ENDED,
                "The job is cancelled or gone, or it has a later generation; trigger that one, or create another job.",
            )
        case Refusal.WRONG_STATE if run.state is RunState.WITHDRAWN:
            raise ProblemError(
                Problem.JOB_PAUSED, "The job is paused, which withdrew this run; resume the job instead."
            )
        case Refusal.WRONG_STATE if run.cancel_requested and not run.is_terminal:
            raise ProblemError(Problem.RUN_OVER, f"The run is being cancelled; {otherwise}.")
        case Refusal.WRONG_STATE if not run.is_terminal:
            raise ProblemError(
                Problem.RUN_UNDER_WAY, "An attempt of the run is under way; its payload cannot be changed now."
            )
        case Refusal.WRONG_STATE:
            raise ProblemError(Problem.RUN_OVER, f"The run {_BECAME.get(run.state, 'is over')} already; {otherwise}.")
        case _:
            return run
