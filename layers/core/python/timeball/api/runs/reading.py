"""The fire ledger: list a job's runs, newest first, and read a run with every attempt."""

from dataclasses import replace
from typing import Final

from timeball.api.http.access import Access
from timeball.api.http.cursor import PAGE, PageQuery, Part
from timeball.api.http.edge import ApiContext, job_key, no_run, read_job_row, run_id_in
from timeball.api.http.reply import Reply, ok
from timeball.api.http.request import Request
from timeball.api.http.route import Router
from timeball.api.runs.answers import RunDetailAnswer, RunPageAnswer, run_answer, run_detail_answer
from timeball.domain.model.ids import JobKey, RunId
from timeball.domain.model.runs.run import RunState
from timeball.engine.changes.history import retry_policy_of
from timeball.engine.dependencies.graph_views import awaited_by_run
from timeball.ports.collections import LedgerQuery

router = Router()

RUN_PARAMETERS: Final = ("status", "from", "to", *PAGE)


@router.get(
    "/v1/jobs/{jobId}/runs", "List a job's runs, newest first", RunPageAnswer, query=RUN_PARAMETERS, access=Access.READ
)
def list_runs(edge: ApiContext, request: Request) -> Reply:
    """List a job's runs, newest first."""
    asked, job = PageQuery(request), job_key(request)
    query = ledger_query(job, asked)
    (before,) = asked.after(run_of(job)) or (None,)
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


def ledger_query(job: JobKey, asked: PageQuery) -> LedgerQuery:
    """Read the filters of a job's runs."""
    from_at, to_at = asked.window()
    states = asked.choices("status", [*RunState])
    return LedgerQuery(job, asked.limit, from_at=from_at, to_at=to_at, states=frozenset(map(RunState, states)))


def run_of(job: JobKey) -> Part:
    """Return the function that reads a run of a job in the position of a list."""

    def read(text: str) -> RunId | None:
        run_id = RunId.parse(job.tenant, text)
        return run_id if run_id is not None and run_id.job == job else None

    return read
