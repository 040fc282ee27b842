"""The models of answers about operations."""

from collections.abc import Mapping

from pydantic import Field

from timeball.api.http.edge import job_cancelled, no_job
from timeball.api.http.problem_details import ItemProblem
from timeball.api.http.problems import Problem, ProblemError, problem_fields
from timeball.api.http.reply import AnswerModel, CreatedAt, NextCursor, Time, UpdatedAt, Version
from timeball.domain.operation import (
    Failure,
    JobFault,
    JobMatch,
    Operation,
    OperationAction,
    OperationStatus,
    Rerun,
    RerunMode,
)
from timeball.domain.time.instants import format_instant


class OperationMatchAnswer(AnswerModel):
    """Which jobs: those for which every field that is not null holds; every job if all are null."""

    tags: Mapping[str, str] | None = Field(description="Jobs that have all of these tags.")
    task_id: str | None = Field(description="Jobs that name this task.")
    status: str | None = Field(description="Jobs in this status.")
    all: bool = Field(description="Whether every job matches.")


class RerunAnswer(AnswerModel):
    """The cycle that runs again."""

    job_id: str = Field(description="The job in the path of the request.")
    fire_time: Time = Field(description="The fire time of the cycle.")
    mode: RerunMode = Field(description="Which runs of the cycle run again.")


class ProgressAnswer(AnswerModel):
    """Progress of the operation; at the end, `matched` is the sum of the others."""

    matched: int = Field(description="How many matching jobs were found.")
    done: int = Field(description="For how many of them the action is done, or was done before.")
    failed: int = Field(description="For how many the action was not possible.")


class FailureAnswer(AnswerModel):
    """A job for which the action was not possible."""

    job_id: str = Field(description="The id of the job.")
    problem: ItemProblem = Field(description="Why it was not possible.")


class OperationSummaryAnswer(AnswerModel):
    """An operation without its failures."""

    operation_id: str = Field(description="The id of the operation.")
    action: OperationAction = Field(description="The action on each job.")
    match: OperationMatchAnswer | None = Field(description="Which jobs; null if it runs a cycle again.")
    rerun: RerunAnswer | None = Field(description="The cycle, if it runs a cycle again.")
    per_second: int = Field(description="The most jobs in a second.")
    status: OperationStatus = Field(description="`failed`: it is complete, and `failures` names jobs.")
    progress: ProgressAnswer = Field(description="How many jobs it has processed.")
    created_at: CreatedAt
    created_by: str | None = Field(description="The id of the API key that created it.")
    updated_at: UpdatedAt
    version: Version


class OperationAnswer(OperationSummaryAnswer):
    """An operation."""

    failures: list[FailureAnswer] = Field(description="The first 100 jobs for which the action was not possible.")


class OperationPageAnswer(AnswerModel):
    """A page of operations without their failures, the newest first."""

    items: list[OperationSummaryAnswer] = Field(description="The operations.")
    next_cursor: NextCursor


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


def _match_answer(match: JobMatch) -> OperationMatchAnswer:
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
        case JobFault.JOB_ENDED:
            return ProblemError(Problem.JOB_ENDED, f"The job has ended; there is nothing to {operation.action}.")
        case JobFault.JOB_CANCELLED:
            return job_cancelled()
        case JobFault.JOB_GONE:
            return no_job()
        case JobFault.UNDER_WAY:
            return ProblemError(
                Problem.RUN_UNDER_WAY, "Its run was under way during every try; run the cycle again later."
            )
        case JobFault.UNAVAILABLE:
            return ProblemError(Problem.UNAVAILABLE, f"Every try failed for now; {operation.action} this job yourself.")
        case JobFault.INTERNAL:
            return ProblemError(Problem.INTERNAL, "Timeball failed with this job; see its logs.")
