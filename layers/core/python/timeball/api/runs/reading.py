"""The fire ledger: list a job's runs, newest first, and read a run with every attempt."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from timeball.api.http.access import Access
from timeball.api.http.edge import ApiContext, job_key, no_run, read_job_row, run_id_in
from timeball.api.http.paging import FOREIGN, QueryReader, cursor_of, page_of, position_in
from timeball.api.http.problems import FieldError, invalid
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

RUN_PARAMETERS: Final = ("status", "from", "to", "limit", "cursor")


@router.get(
    "/v1/jobs/{jobId}/runs", "List a job's runs, newest first", RunPageAnswer, query=RUN_PARAMETERS, access=Access.READ
)
def list_runs(edge: ApiContext, request: Request) -> Reply:
    """List a job's runs, newest first."""
    query = ledger_query(job_key(request), request.query)
    read_job_row(edge, query.job)
    page = edge.context.store.runs.ledger(query)
    shown = ((run_answer(run), next_cursor(query, run.id) or "") for run in page.runs)
    return page_of(shown, next_cursor(query, page.next_before), edge.page_bytes)


@router.get("/v1/runs/{runId}", "Read a run with every attempt", RunDetailAnswer, access=Access.READ)
def get_run(edge: ApiContext, request: Request) -> Reply:
    """Read a run with every attempt."""
    run = edge.context.store.runs.read([run_id_in(request)])[0]
    if run is None:
        raise no_run()
    stored, policy = edge.context.store.attempts.of_run(run.id), retry_policy_of(edge.context, run)
    return ok(run_detail_answer(run, stored, policy, awaited_by_run(edge.context, run)))


def ledger_query(job: JobKey, query: Mapping[str, str]) -> LedgerQuery:
    """Read the query string of a job's runs. Raises ProblemError that names every bad parameter."""
    reader = QueryReader(query, RUN_PARAMETERS)
    asked = LedgerQuery(
        job=job,
        limit=reader.limit(),
        from_at=reader.instant("from"),
        to_at=reader.instant("to"),
        states=_states(query.get("status"), reader.errors),
    )
    if asked.from_at is not None and asked.to_at is not None and asked.to_at < asked.from_at:
        reader.errors.append(FieldError("to", "This is before from; give a later time."))
    if reader.errors:
        raise invalid(reader.errors)
    if "cursor" not in query:
        return asked
    before = _read_cursor(asked, query["cursor"])
    if before is None:
        raise invalid([FOREIGN])
    return replace(asked, before=before)


def next_cursor(query: LedgerQuery, before: RunId | None) -> str | None:
    """Return the cursor of a query's next page; None at the end."""
    if before is None:
        return None
    states = ",".join(sorted(query.states))
    return cursor_of((query.job.tenant, query.from_at, query.to_at, states), str(before))


def _read_cursor(query: LedgerQuery, cursor: str) -> RunId | None:
    before = RunId.parse(query.job.tenant, position_in(cursor))
    is_own = before is not None and before.job == query.job and next_cursor(query, before) == cursor
    return before if is_own else None


def _states(text: str | None, errors: list[FieldError]) -> frozenset[RunState]:
    """Return the states of `status`; empty if it is not given. Errors are added to `errors`."""
    if text is None:
        return frozenset()
    known = {state.value: state for state in RunState}
    names = text.split(",")
    if any(name not in known for name in names):
        errors.append(FieldError("status", f"Give one or more of {', '.join(known)}, separated by commas."))
        return frozenset()
    return frozenset(known[name] for name in names)
