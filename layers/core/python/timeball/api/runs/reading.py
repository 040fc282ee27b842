"""The fire ledger: list a job's runs and its executions, the newest first, and read a run with every attempt.

An execution is an attempt of a run. Fires that never executed (skipped fires, waiting runs) are in the ledger alone.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Final

from pydantic import Field

from timeball.api.http.access import Access
from timeball.api.http.cursor import PAGE, PageQuery, Part, number
from timeball.api.http.edge import ApiContext, job_key, no_run, read_job_row, run_id_in
from timeball.api.http.exchange import (
    AnswerModel,
    EndedAt,
    IdOfRun,
    NextCursor,
    Reply,
    Request,
    Time,
    WhyItFailed,
    attribute,
    ok,
)
from timeball.api.http.route import Router
from timeball.api.runs.answers import (
    AttemptAnswer,
    RunDetailAnswer,
    RunPageAnswer,
    attempt_answers,
    run_answer,
    run_detail_answer,
)
from timeball.domain.model.ids import JobKey, RunId
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.runs.values import Outcome
from timeball.engine.changes.history import retry_policy_of
from timeball.engine.dependencies.graph_views import awaited_by_run
from timeball.ports.collections import LedgerQuery

router = Router()

RUN_PARAMETERS: Final = ("status", "from", "to", *PAGE)


class ExecutionAnswer(AnswerModel):
    """An attempt of a run."""

    run_id: IdOfRun
    fire_time: Time = Field(description="The nominal instant of the run.")
    attempt: int = attribute("number", description="The number of the attempt, from 1.")
    worker_id: str | None = Field(description="The executor that claimed it.")
    claimed_at: Time = Field(description="When it was claimed.")
    started_at: Time | None = Field(description="When the call left.")
    finished_at: EndedAt
    duration_ms: int | None = Field(description="From the call to its end, in milliseconds.")
    outcome: Outcome | None = Field(description="How it ended; null while it is under way.")
    http_status: int | None = Field(description="The HTTP status of the target's answer.")
    error: WhyItFailed


class ExecutionPageAnswer(AnswerModel):
    """A page of executions. Skipped fires and waiting runs may leave it short or empty although more pages follow."""

    items: list[ExecutionAnswer] = Field(description="The executions.")
    next_cursor: NextCursor


@router.get(
    "/v1/jobs/{jobId}/runs", "List a job's runs, newest first", RunPageAnswer, query=RUN_PARAMETERS, access=Access.READ
)
def list_job_runs(edge: ApiContext, request: Request) -> Reply:
    """List a job's runs, newest first."""
    asked, job = PageQuery(request), job_key(request)
    query = _ledger_query(job, asked)
    (before,) = asked.after(_run_of(job)) or (None,)
    read_job_row(edge, job)
    page = edge.context.store.runs.ledger(replace(query, before=before))
    next_before = None if page.next_before is None else (page.next_before,)
    return asked.page(edge, ((run_answer(run), (run.id,)) for run in page.runs), next_before)


@router.get("/v1/runs/{runId}", "Read a run with every attempt", RunDetailAnswer, access=Access.READ)
def get_run(edge: ApiContext, request: Request) -> Reply:
    """Read a run with every attempt."""
    run = edge.context.store.runs.read([run_id_in(request)])[0]
    if run is None:
        raise no_run()
    stored, policy = edge.context.store.attempts.of_run(run.id), retry_policy_of(edge.context, run)
    return ok(run_detail_answer(run, stored, policy, awaited_by_run(edge.context, run)))


@router.get(
    "/v1/jobs/{jobId}/executions",
    "List the attempts of a job's runs, newest first",
    ExecutionPageAnswer,
    query=RUN_PARAMETERS,
    access=Access.READ,
)
def list_executions(edge: ApiContext, request: Request) -> Reply:
    """List a job's attempts, newest first."""
    asked, job = PageQuery(request), job_key(request)
    query = _ledger_query(job, asked)
    after = asked.after(_run_of(job), number)
    read_job_row(edge, job)
    page = edge.context.store.runs.ledger(replace(query, before=None if after is None else after[0]))
    begun = [] if after is None else edge.context.store.runs.read([after[0]])
    runs = [*(run for run in begun if run is not None), *page.runs]
    found = list(islice(_executions(edge, runs, after), asked.limit + 1))
    shown = [
        (
            ExecutionAnswer.model_validate({**dict(attempt), "run_id": run.id, "fire_time": run.id.fire_at}),
            (run.id, attempt.number),
        )
        for run, attempt in found[: asked.limit]
    ]
    next_after = None if page.next_before is None else (page.next_before, 1)
    return asked.page(edge, shown, shown[-1][1] if len(found) > asked.limit else next_after)


def _executions(
    edge: ApiContext, runs: Sequence[Run], after: tuple[RunId, int] | None
) -> Iterator[tuple[Run, AttemptAnswer]]:
    """Yield the attempts of runs, the newest first; of the run at a position only earlier ones.

    Stored attempts are read only for a run with several attempts; for other runs the run's row suffices.
    """
    for run in runs:
        stored = edge.context.store.attempts.of_run(run.id) if run.attempt > 1 else []
        for attempt in reversed(attempt_answers(run, stored)):
            if after is None or run.id != after[0] or attempt.number < after[1]:
                yield run, attempt


def _ledger_query(job: JobKey, asked: PageQuery) -> LedgerQuery:
    """Read the filters of a job's runs."""
    from_at, to_at = asked.window()
    states = asked.choices("status", [*RunState])
    return LedgerQuery(job, asked.limit, from_at=from_at, to_at=to_at, states=frozenset(map(RunState, states)))


def _run_of(job: JobKey) -> Part:
    """Return the function that reads a run of a job in the position of a list."""

    def read(text: str) -> RunId | None:
        run_id = RunId.parse(job.tenant, text)
        return run_id if run_id is not None and run_id.job == job else None

    return read
