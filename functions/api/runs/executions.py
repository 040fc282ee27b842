"""A job's executions: a row for each attempt, the newest run first, and of a run its newest attempt first.

What never executed (skipped fires, runs that wait) has no row here; it stands in the ledger, `/runs`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice

from pydantic import Field

from functions.api.http.edge import Edge, job_key, read_job_row
from functions.api.http.paging import FOREIGN, cursor_of, page_of, position_in
from functions.api.http.problems import invalid
from functions.api.http.reply import Answer, Reply, Time
from functions.api.http.request import Request
from functions.api.runs.answers import AttemptAnswer, attempt_answers
from functions.api.runs.reading import ledger_query
from timeball.domain.model.ids import RunId
from timeball.domain.model.runs.attempt import Outcome
from timeball.domain.model.runs.run import Run
from timeball.domain.time.instants import format_instant
from timeball.ports.collections.runs import LedgerQuery

_Position = tuple[RunId, int]
"""Where a page ended: a run, and the number of its attempt."""


class ExecutionAnswer(Answer):
    """One attempt of one run."""

    run_id: str
    fire_time: Time = Field(description="Of the run: the nominal instant.")
    attempt: int
    worker_id: str | None = Field(description="The executor that had claimed it.")
    claimed_at: Time
    started_at: Time | None = Field(description="When the call left.")
    finished_at: Time | None
    duration_ms: int | None = Field(description="From the call to its end, in milliseconds.")
    outcome: Outcome | None = Field(description="Null while it is under way.")
    http_status: int | None
    error: str | None


class ExecutionPageAnswer(Answer):
    """A page of executions. It may be short, or empty, and yet not be the last: fires are skipped, runs wait."""

    items: list[ExecutionAnswer]
    next_cursor: str | None


def list_executions(edge: Edge, request: Request) -> Reply:
    """List a job's attempts, newest first."""
    asked = ledger_query(job_key(request), {name: text for name, text in request.query.items() if name != "cursor"})
    after = _after(asked, request.query)
    read_job_row(edge, asked.job)
    page = edge.context.store.runs.ledger(replace(asked, before=None if after is None else after[0]))
    begun = [] if after is None else edge.context.store.runs.read([after[0]])
    runs = [*(run for run in begun if run is not None), *page.runs]
    found = list(islice(_executions(edge, runs, after), asked.limit + 1))
    shown = [
        (_execution_answer(run, attempt), _cursor(asked, (run.id, attempt.number)))
        for run, attempt in found[: asked.limit]
    ]
    cursor = None if page.next_before is None else _cursor(asked, (page.next_before, 1))
    return page_of(shown, shown[-1][1] if len(found) > asked.limit else cursor, edge.page_bytes)


def _executions(edge: Edge, runs: Sequence[Run], after: _Position | None) -> Iterator[tuple[Run, AttemptAnswer]]:
    """Yield the attempts of runs, the newest first; of the run at a position only those behind it.

    What is kept beside a run is read for one that was tried more than once; of any other its own row tells enough.
    """
    for run in runs:
        stored = edge.context.store.attempts.of_run(run.id) if run.attempt > 1 else []
        for attempt in reversed(attempt_answers(run, stored)):
            if after is None or run.id != after[0] or attempt.number < after[1]:
                yield run, attempt


def _execution_answer(run: Run, attempt: AttemptAnswer) -> ExecutionAnswer:
    return ExecutionAnswer(
        run_id=str(run.id),
        fire_time=format_instant(run.id.fire_at),
        attempt=attempt.number,
        worker_id=attempt.worker_id,
        claimed_at=attempt.claimed_at,
        started_at=attempt.started_at,
        finished_at=attempt.finished_at,
        duration_ms=attempt.duration_ms,
        outcome=attempt.outcome,
        http_status=attempt.http_status,
        error=attempt.error,
    )


def _cursor(asked: LedgerQuery, position: _Position) -> str:
    bound = (asked.job.tenant, asked.job.job_id, asked.from_at, asked.to_at, ",".join(sorted(asked.states)))
    return cursor_of(("executions", *bound), f"{position[0]}:{position[1]}")


def _after(asked: LedgerQuery, query: Mapping[str, str]) -> _Position | None:
    """Return where the page before ended. Raises ProblemError for a cursor of another query."""
    if "cursor" not in query:
        return None
    name, _, number = position_in(query["cursor"]).rpartition(":")
    run_id = RunId.parse(asked.job.tenant, name)
    if run_id is not None and number.isascii() and number.isdecimal() and len(number) <= 9:
        position = run_id, int(number)
        if _cursor(asked, position) == query["cursor"]:
            return position
    raise invalid([FOREIGN])
