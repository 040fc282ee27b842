"""A job is read with its newest run."""

from functions.api.http.edge import Edge, job_key, read_job_row
from functions.api.http.reply import Reply, ok
from functions.api.http.request import Request
from functions.api.jobs.answers import job_answer
from functions.api.jobs.of_tasks import shown
from functions.api.runs.answers import run_answer
from timeball.engine.scheduling.list_jobs import own_run_of, shown_status
from timeball.ports.runs import LedgerQuery


def read_job(edge: Edge, request: Request) -> Reply:
    """Read a job with its newest run, and beside that the run of a one-off: newer ones may have been triggered."""
    job = read_job_row(edge, job_key(request), with_work=True)
    runs = edge.context.store.runs
    newest = runs.ledger(LedgerQuery(job.key, limit=1)).runs
    latest, own = newest[0] if newest else None, own_run_of(job)
    if own is None or (latest is not None and latest.id == own):
        own_run = latest if own is not None else None
    else:
        own_run = runs.read([own])[0]
    status = shown_status(job, own_run)
    answer = job_answer(
        shown(edge, [job])[0],
        edge.context.clock.now(),
        status,
        latest_run=None if latest is None else run_answer(latest),
    )
    return ok(answer, version=job.version)
