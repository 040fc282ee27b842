"""A job's executions: a row for each attempt, the newest run first, and the newest attempt first within a run.

Fires that never executed (skipped fires, waiting runs) have no row here; they are in the ledger, `/runs`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice

from pydantic import Field

from timeball.api.http.access import Access
from timeball.api.http.cursor import PageQuery, number
from timeball.api.http.edge import ApiContext, job_key, read_job_row
from timeball.api.http.reply import AnswerModel, NextCursor, Reply, Text, Time, attribute
from timeball.api.http.request import Request
from timeball.api.http.route import Router
from timeball.api.runs.answers import AttemptAnswer, attempt_answers
from timeball.api.runs.reading import RUN_PARAMETERS, ledger_query, run_of
from timeball.domain.model.ids import RunId
from timeball.domain.model.runs.run import Run
from timeball.domain.model.runs.values import Outcome

router = Router()


class ExecutionAnswer(AnswerModel):
    """An attempt of a run."""

    run_id: Text = Field(description="The id of the run.")
    fire_time: Time = Field(description="The nominal instant of the run.")
    attempt: int = attribute("number", description="The number of the attempt, from 1.")
    worker_id: str | None = Field(description="The executor that claimed it.")
    claimed_at: Time = Field(description="When it was claimed.")
    started_at: Time | None = Field(description="When the call left.")
    finished_at: Time | None = Field(description="When it ended.")
    duration_ms: int | None = Field(description="From the call to its end, in milliseconds.")
    outcome: Outcome | None = Field(description="How it ended; null while it is under way.")
    http_status: int | None = Field(description="The HTTP status of the target's answer.")
    error: str | None = Field(description="Why it failed.")


class ExecutionPageAnswer(AnswerModel):
    """A page of executions. Skipped fires and waiting runs may leave it short or empty although more pages follow."""

    items: list[ExecutionAnswer] = Field(description="The executions.")
    next_cursor: NextCursor


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
    query = ledger_query(job, asked)
    after = asked.after(run_of(job), number)
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
