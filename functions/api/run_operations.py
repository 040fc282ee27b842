"""Runs: listed, read, and made by hand."""

from pydantic import Field

from timeball.engine.trigger import Trigger, Triggered, Triggering, trigger

from .answer_model import text_of
from .body import canonical, compact
from .edge import Edge, job_key, no_job, no_run, ok, read_job_row, run_id_in
from .fields import Payload
from .identity import fingerprint
from .paging import ledger_query, next_cursor
from .problems import FieldError, Problem, ProblemError, invalid
from .request_model import Strict, read_fields
from .requests import Reply, Request, idempotency_key, key_conflict, read_optional_body
from .run_answers import RunPageAnswer
from .run_rendering import run_answer, run_detail_answer


class TriggerRequest(Strict):
    """What is unlike the job in a run that is triggered by hand."""

    payload: Payload = Field(
        None, description="Any JSON, at most 256 KB: the body of this run's calls, instead of the job's payload."
    )


def list_runs(edge: Edge, request: Request) -> Reply:
    """List a job's runs, newest first."""
    query = ledger_query(job_key(request), request.query)
    read_job_row(edge, query.job)
    page = edge.world.store.ledger(query)
    items = [run_answer(run) for run in page.runs]
    return ok(RunPageAnswer(items=items, next_cursor=next_cursor(query, page.next_before)))


def read_run(edge: Edge, request: Request) -> Reply:
    """Read a run with every attempt."""
    run = edge.world.store.read_runs([run_id_in(request)])[0]
    if run is None:
        raise no_run()
    return ok(run_detail_answer(run, edge.world.store.read_attempts(run.id)))


def trigger_job(edge: Edge, request: Request) -> Reply:
    """Run a job now, beside its schedule; repeat the first run to the same Idempotency-Key and body."""
    body = read_optional_body(request)
    wanted, _, errors = read_fields(TriggerRequest, body)
    idempotent = idempotency_key(request)
    if isinstance(idempotent, FieldError):
        raise invalid([*errors, idempotent])
    if errors:
        raise invalid(errors)
    has_payload = "payload" in wanted.model_fields_set
    asked = Trigger(
        job_key(request),
        payload=compact(wanted.payload) if has_payload else None,
        has_payload=has_payload,
        request=None if idempotent is None else fingerprint(idempotent.encode()),
        fingerprint=fingerprint(edge.random_bytes() if idempotent is None else canonical(body)),
    )
    return _triggered(trigger(edge.world, [asked])[0])


def _triggered(done: Triggered) -> Reply:
    if done.outcome is Triggering.CANCELLED:
        raise ProblemError(Problem.JOB_ENDED, "The job is cancelled; create another one to run it again.")
    if done.run is None:
        raise no_job()
    if done.outcome is Triggering.CONFLICT:
        raise key_conflict()
    replayed = {"Idempotency-Replayed": "true"} if done.outcome is Triggering.REPEATED else {}
    return Reply(201, text_of(run_answer(done.run)), {"Location": f"/v1/runs/{done.run.id}", **replayed})
