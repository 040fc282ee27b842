"""The models of answers about the cycle of a graph."""

from typing import Any

from pydantic import Field

from timeball.api.dependencies.answers import BlockedAnswer, blocked_answer
from timeball.api.http.cursor import fitting
from timeball.api.http.reply import AnswerModel, Time
from timeball.api.runs.answers import RunAnswer, run_answer
from timeball.domain.model.jobs.job import JobStatus
from timeball.domain.model.runs.run import RunState
from timeball.domain.model.terms.dependency import State, TriggerRule
from timeball.domain.time.instants import format_instant
from timeball.engine.dependencies.graph_views import Node

_TO_COME = {State.SKIPPED: RunState.SKIPPED, State.CANCELLED: RunState.CANCELLED}


class CycleItemAnswer(AnswerModel):
    """A job of a graph, and its run in the cycle."""

    job_id: str = Field(description="The id of the job.")
    name: str | None = Field(description="A name for people.")
    status: RunState | JobStatus = Field(
        description="The status of its run; `blocked` if a failed run blocks it; `pending` if there is no run yet."
    )
    depends_on: list[str] = Field(description="The ids of the jobs that it waits for.")
    trigger_rule: TriggerRule | None = Field(description="Which ends of these jobs let it run.")
    waiting_for: list[str] = Field(description="The ids of those that it still waits for.")
    blocked_by: BlockedAnswer | None = Field(description="The failed run that blocks it.")
    is_gate: bool = Field(description="Whether it is a job that runs once, for which recurring jobs wait.")
    run: RunAnswer | None = Field(description="Its run in the cycle; null if there is none yet.")


class CycleAnswer(AnswerModel):
    """The jobs of a graph in one cycle, parents first."""

    job_id: str = Field(description="The job in the request's path.")
    fire_time: Time = Field(description="The fire time of the cycle.")
    is_over: bool = Field(
        description=(
            "Whether none of its runs waits, is live or is still to come; a retry of a failed run can reopen it."
        )
    )
    items: list[CycleItemAnswer] = Field(description="The jobs and their runs.")
    is_cut: bool = Field(description="Whether the graph has more jobs than are shown.")


def cycle_answer(job_id: str, fire_at: int, nodes: list[Node], most_bytes: int, *, is_cut: bool) -> CycleAnswer:
    """Return the answer about a cycle, with as many of its jobs as fit into `most_bytes`."""
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
