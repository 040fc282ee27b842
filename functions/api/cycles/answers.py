"""What the API answers about the cycle of a graph."""

from typing import Any

from pydantic import Field

from functions.api.dependencies.answers import BlockedAnswer, blocked_answer
from functions.api.http.paging import fitting
from functions.api.http.reply import Answer, Time
from functions.api.runs.answers import RunAnswer, run_answer
from timeball.domain.model.jobs.job import JobStatus
from timeball.domain.model.runs.run import RunState
from timeball.domain.model.terms.dependency import State, TriggerRule
from timeball.domain.time.instants import format_instant
from timeball.engine.dependencies.cycle import Node

_TO_COME = {State.SKIPPED: RunState.SKIPPED, State.CANCELLED: RunState.CANCELLED}


class CycleItemAnswer(Answer):
    """A job of a cycle, and its run there."""

    job_id: str
    name: str | None
    status: RunState | JobStatus = Field(
        description="That of its run; `blocked`, if a dead run keeps it from running; `pending`, if it has none yet."
    )
    depends_on: list[str] = Field(description="The ids of the jobs that it waits for.")
    trigger_rule: TriggerRule | None = Field(description="Of a job that depends on others.")
    waiting_for: list[str] = Field(description="Those of them that it still waits for.")
    blocked_by: BlockedAnswer | None
    is_gate: bool = Field(description="Whether it is a job that runs once, for which recurring ones wait.")
    run: RunAnswer | None = Field(description="Null, if there is none yet.")


class CycleAnswer(Answer):
    """The jobs of a graph in one cycle, parents first."""

    job_id: str = Field(description="The job by which it was asked for.")
    fire_time: Time
    is_over: bool = Field(description="Whether nothing of it is to run any more, unless somebody mends what is dead.")
    items: list[CycleItemAnswer]
    is_cut: bool = Field(description="Whether there are more than are shown.")


def cycle_answer(job_id: str, fire_at: int, nodes: list[Node], most_bytes: int, *, is_cut: bool) -> CycleAnswer:
    """Return the answer about a cycle, with as many of these jobs as come to no more bytes."""
    items = fitting(map(_item, nodes), most_bytes)
    return CycleAnswer(
        job_id=job_id,
        fire_time=format_instant(fire_at),
        is_over=not any(node.standing.state is State.GOING for node in nodes),
        items=items,
        is_cut=is_cut or len(items) < len(nodes),
    )


def _item(node: Node) -> CycleItemAnswer:
    spec, run = node.job.spec, node.run
    blocked = node.job.blocked if run is None else run.blocked
    fields: dict[str, Any] = {
        "job_id": spec.key.job_id,
        "name": spec.name,
        "status": _status(node),
        "depends_on": [parent.job_id for parent in spec.depends_on],
        "trigger_rule": spec.trigger_rule if spec.depends_on else None,
        "waiting_for": list(node.waiting_for),
        "blocked_by": blocked_answer(blocked, spec.key.job_id),
        "is_gate": node.is_gate,
        "run": None if run is None else run_answer(run),
    }
    return CycleItemAnswer(**fields)


def _status(node: Node) -> RunState | JobStatus:
    if node.run is not None:
        return JobStatus.BLOCKED if node.run.blocked is not None else node.run.state
    if node.job.spec.schedule.is_one_off:
        return node.job.listed_status
    return _TO_COME.get(node.standing.state, JobStatus.PENDING)
