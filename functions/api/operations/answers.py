"""What the API answers about operations."""

from collections.abc import Mapping

from pydantic import Field

from functions.api.http.edge import job_cancelled, no_job
from functions.api.http.problem_details import ItemProblem
from functions.api.http.problems import Problem, ProblemError, problem_fields
from functions.api.http.reply import Answer, Time
from timeball.domain.operations.operation import (
    Failure,
    Fault,
    Match,
    Operation,
    OperationAction,
    OperationStatus,
    Rerun,
    RerunMode,
)
from timeball.domain.time.instants import format_instant


class OperationMatchAnswer(Answer):
    """Which jobs: those for which all holds that is not null; all, if nothing is."""

    tags: Mapping[str, str] | None
    task_id: str | None
    status: str | None
    all: bool


class RerunAnswer(Answer):
    """The cycle that is run again, and what of it."""

    job_id: str = Field(description="The job by which it was asked for.")
    fire_time: Time
    mode: RerunMode


class ProgressAnswer(Answer):
    """How far it is: when it is through, `matched` is the sum of the others."""

    matched: int = Field(description="So many jobs that match were found by now.")
    done: int = Field(description="For so many of them it is done, or was so already.")
    failed: int = Field(description="For so many it was not possible.")


class FailureAnswer(Answer):
    """A job for which it was not possible, and why."""

    job_id: str
    problem: ItemProblem


class OperationSummaryAnswer(Answer):
    """An operation as it stands, without what failed."""

    operation_id: str
    action: OperationAction
    match: OperationMatchAnswer | None = Field(description="Null, if it runs a cycle again.")
    rerun: RerunAnswer | None = Field(description="Of one that runs a cycle again.")
    per_second: int
    status: OperationStatus = Field(description="`failed`: it is through, and `failures` names jobs.")
    progress: ProgressAnswer
    created_at: Time
    created_by: str | None = Field(description="The id of the API key.")
    updated_at: Time
    version: int = Field(description="Counts the changes of users; the ETag.")


class OperationAnswer(OperationSummaryAnswer):
    """An operation as it stands."""

    failures: list[FailureAnswer] = Field(description="The first 100 jobs for which it was not possible.")


class OperationPageAnswer(Answer):
    """A page of operations, the newest first, without what failed."""

    items: list[OperationSummaryAnswer]
    next_cursor: str | None


def operation_answer(operation: Operation) -> OperationAnswer:
    """Return the answer about an operation."""
    failures = [
        FailureAnswer(job_id=one.job_id, problem=ItemProblem(**problem_fields(_problem(operation, one))))
        for one in operation.failures
    ]
    return OperationAnswer(**dict(operation_summary(operation)), failures=failures)


def operation_summary(operation: Operation) -> OperationSummaryAnswer:
    """Return the answer about an operation in a list."""
    return OperationSummaryAnswer(
        operation_id=operation.key.name,
        action=operation.action,
        match=None if operation.rerun is not None else _match_answer(operation.match),
        rerun=None if operation.rerun is None else _rerun_answer(operation.rerun),
        per_second=operation.per_second,
        status=operation.status,
        progress=ProgressAnswer(matched=operation.matched, done=operation.done, failed=operation.failed),
        created_at=format_instant(operation.created_at),
        created_by=operation.by.key_id,
        updated_at=format_instant(operation.updated_at),
        version=operation.version,
    )


def _match_answer(match: Match) -> OperationMatchAnswer:
    return OperationMatchAnswer(
        tags=match.tags or None,
        task_id=match.task_id,
        status=match.status,
        all=not match.tags and match.task_id is None and match.status is None,
    )


def _rerun_answer(rerun: Rerun) -> RerunAnswer:
    return RerunAnswer(job_id=rerun.job_id, fire_time=format_instant(rerun.fire_at), mode=rerun.mode)


def _problem(operation: Operation, failure: Failure) -> ProblemError:
    match failure.fault:
        case Fault.JOB_ENDED:
            return ProblemError(Problem.JOB_ENDED, f"The job has ended; there is nothing to {operation.action}.")
        case Fault.JOB_CANCELLED:
            return job_cancelled()
        case Fault.JOB_GONE:
            return no_job()
        case Fault.UNDER_WAY:
            return ProblemError(Problem.RUN_UNDER_WAY, "Its run was being run all the time; run the cycle again later.")
        case Fault.UNAVAILABLE:
            return ProblemError(
                Problem.UNAVAILABLE, f"It could not be done just now, again and again; {operation.action} this job."
            )
        case Fault.INTERNAL:
            return ProblemError(Problem.INTERNAL, "Something went wrong here with this job; the logs have it.")
