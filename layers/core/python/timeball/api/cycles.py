"""Read all runs of a graph's cycle, with their dependencies, in one request, and run them again by an operation."""

from collections.abc import Sequence
from typing import Final, Literal
from urllib.parse import unquote

from pydantic import ConfigDict, Field

from timeball.api.dependencies.fields import BlockedAnswer, blocked_answer
from timeball.api.http.access import Access, are_within
from timeball.api.http.body import canonical
from timeball.api.http.cursor import MOST_OF_A_GRAPH, NEXT_CURSOR, PAGE, PageQuery, fitting, identifier, number
from timeball.api.http.edge import ApiContext, job_key, note, read_job_row
from timeball.api.http.exchange import AnswerModel, Reply, Request, Time, attribute, idempotency_key, ok, read_body
from timeball.api.http.ids import fingerprint
from timeball.api.http.problems import FieldError, Problem, ProblemError, invalid, not_found
from timeball.api.http.request_model import Strict, read_fields
from timeball.api.http.route import Router
from timeball.api.http.schema_rules import needed
from timeball.api.operations.operations import OperationAnswer, created_operation, key_of
from timeball.api.pages import CONSOLE_URL, ConsoleOf
from timeball.api.runs.answers import RunAnswer, run_answer
from timeball.domain.dependencies.named_cycle import cycle_text, parse_cycle
from timeball.domain.model.ids import CycleId
from timeball.domain.model.jobs.job import Job, JobStatus
from timeball.domain.model.pages import page_of_cycle
from timeball.domain.model.runs.run import RunState
from timeball.domain.model.tenants.actor import Action, Resource, ResourceKind
from timeball.domain.model.terms.dependency import State, TriggerRule
from timeball.domain.operation import Operation, Rerun, RerunMode
from timeball.domain.time.instants import SECOND_MS, format_instant
from timeball.engine.dependencies.graph_views import WHOLE, Cycle, Node, View, next_after, read_cycle
from timeball.engine.dependencies.walking import WALK_MS
from timeball.engine.operations.operation import create_operation
from timeball.engine.operations.rerun import AskedRerun, being_run, meant, rerun_operation

router = Router()

_SHOWN: Final = 5
_TO_COME = {State.SKIPPED: RunState.SKIPPED, State.CANCELLED: RunState.CANCELLED}


class CycleItemAnswer(AnswerModel):
    """A job of a graph, and its run in the cycle."""

    job_id: str = attribute("job.spec.key.job_id", description="The id of the job.")
    name: str | None = attribute("job.spec.name", description="A name for people.")
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
    cycle_id: str = Field(description="The id of the cycle: its fire time, if the schedule began it.")
    console_url: ConsoleOf = Field(description=CONSOLE_URL)
    fire_time: Time = Field(description="The fire time of the cycle.")
    is_over: bool = Field(
        description=(
            "Whether none of its runs waits, is live or is still to come; a retry of a failed run can reopen it."
        )
    )
    items: list[CycleItemAnswer] = Field(description="The jobs and their runs.")
    is_cut: bool = Field(description="Whether the graph has more jobs than this page and those before it show.")
    next_cursor: str | None = Field(description=NEXT_CURSOR)


@router.get(
    "/v1/cycles/{jobId}/{cycleId}",
    "Read all runs of a graph's cycle, with their dependencies",
    CycleAnswer,
    query=PAGE,
    access=Access.READ,
)
def get_cycle(edge: ApiContext, request: Request) -> Reply:
    """Read all runs of a graph's cycle, in pages. A key that is bounded to tags sees only jobs within its bounds."""
    asked = PageQuery(request, MOST_OF_A_GRAPH, MOST_OF_A_GRAPH)
    cycle_id, after = _cycle_id(request), asked.after(number, identifier)
    cycle = _cycle(edge, request, cycle_id, View(asked.limit, after or (), request.bounds))
    items = fitting(map(_item, cycle.nodes), edge.page_bytes, least=1)
    cursor = asked.cursor(next_after(cycle.nodes, len(items), cycle.ends_at))
    return ok(
        CycleAnswer(
            job_id=request.path["jobId"],
            cycle_id=cycle_text(cycle_id),
            console_url=page_of_cycle(request.path["jobId"], cycle_text(cycle_id)),
            fire_time=format_instant(cycle_id.fire_at),
            is_over=cycle.is_over,
            items=items,
            is_cut=cycle.is_cut or cursor is not None,
            next_cursor=cursor,
        )
    )


def _item(node: Node) -> CycleItemAnswer:
    spec, run = node.job.spec, node.run
    return CycleItemAnswer.about(
        node,
        status=_status(node),
        depends_on=[parent.job_id for parent in spec.depends_on],
        trigger_rule=spec.trigger_rule if spec.depends_on else None,
        blocked_by=blocked_answer(node.job.blocked if run is None else run.blocked, spec.key.job_id),
        run=None if run is None else run_answer(run),
    )


def _status(node: Node) -> RunState | JobStatus:
    if node.run is not None:
        return JobStatus.BLOCKED if node.run.blocked is not None else node.run.state
    if node.job.spec.schedule.is_one_off:
        return node.job.listed_status
    return _TO_COME.get(node.standing.state, JobStatus.PENDING)


def _cycle(edge: ApiContext, request: Request, cycle_id: CycleId, view: View = WHOLE) -> Cycle:
    """Return the cycle of the graph of the job in a path. Raises ProblemError."""
    job = read_job_row(edge, job_key(request))
    cycle = read_cycle(edge.context, job, cycle_id, view)
    if cycle is None:
        raise _no_cycle(job, cycle_id)
    return cycle


def _cycle_id(request: Request) -> CycleId:
    """Return the cycle that a path names. Raises ProblemError if it can name none."""
    try:
        return parse_cycle(unquote(request.path["cycleId"]).replace(" ", "+"))
    except ValueError as bad:
        raise invalid([FieldError("cycleId", str(bad))]) from None


def _no_cycle(job: Job, cycle_id: CycleId) -> ProblemError:
    if cycle_id.series:
        return not_found("The job has no run in this cycle; list its runs at /v1/jobs/{jobId}/runs.")
    fire_at = job.own_fire_at
    if not job.spec.schedule.is_one_off or fire_at is None:
        return not_found("The job has no such fire time; list its runs at /v1/jobs/{jobId}/runs.")
    return not_found(f"No job of this graph has this fire time; this job's is {format_instant(fire_at)}.")


class RerunRequest(Strict):
    """Which runs of a cycle run again."""

    model_config = ConfigDict(json_schema_extra=needed("mode"))

    mode: Literal["failed", "failedAndDownstream", "all"] | None = Field(
        None,
        description=(
            "`failed`: the failed runs, so that the runs that they block go on. `failedAndDownstream`: these "
            "and all runs that depend on them, also indirectly. `all`: the whole cycle."
        ),
    )


@router.post(
    "/v1/cycles/{jobId}/{cycleId}:rerun",
    "Run a graph's cycle again: the failed runs, these and their descendants, or all runs",
    OperationAnswer,
    status=201,
    body=RerunRequest,
    headers=("Idempotency-Key",),
    problems=(Problem.IDEMPOTENCY_CONFLICT, Problem.RUN_UNDER_WAY),
    access=Access.OPERATE,
)
def rerun_cycle(edge: ApiContext, request: Request) -> Reply:
    """Run a graph's cycle again, or part of it; repeat the answer to the same Idempotency-Key and body."""
    body = read_body(request)
    wanted, _, errors = read_fields(RerunRequest, body)
    if wanted.mode is None and not errors:
        errors.append(FieldError("mode", f"Say which runs to run again: {', '.join(RerunMode)}."))
    idempotent = idempotency_key(request, errors)
    if errors:
        raise invalid(errors)
    key = key_of(edge, request.tenant, idempotent)
    cycle_id, mode = _cycle_id(request), RerunMode(wanted.mode or RerunMode.FAILED)
    rerun = Rerun(job_key(request).job_id, cycle_id.fire_at, mode, cycle_id.origin, cycle_id.series)
    named = {"series": rerun.series} if rerun.series else {}
    asked = fingerprint(canonical({**body, "jobId": rerun.job_id, "fireAt": rerun.fire_at, **named}))
    standing = None if idempotent is None else edge.context.store.operations.read([key])[0]
    if standing is None:
        operation = _operation(edge, request, AskedRerun(key, rerun, asked))
        note(edge, request, Action.RERUN, Resource(ResourceKind.OPERATION, key.name, rerun.job_id))
        standing = create_operation(edge.context, operation)
    return created_operation(edge, key, standing, asked)


def _operation(edge: ApiContext, request: Request, asked: AskedRerun) -> Operation:
    """Return the operation, with the jobs that run again. Raises ProblemError."""
    cycle = _cycle(edge, request, asked.rerun.cycle)
    if cycle.is_cut:
        most = edge.context.rules.max_ancestors
        sentence = (
            f"Its graph has more than {most} jobs, or more levels than are read within {WALK_MS // SECOND_MS} s; retry "
            "its runs one by one."
        )
        raise invalid([FieldError("jobId", sentence)])
    nodes = meant(cycle, asked.rerun.mode)
    _refuse_outside_bounds(request, nodes)
    if asked.rerun.mode is not RerunMode.FAILED:
        _refuse_being_run(being_run(nodes))
    return rerun_operation(edge.context, asked, [node.job.key.job_id for node in nodes], request.by)


def _refuse_outside_bounds(request: Request, nodes: Sequence[Node]) -> None:
    if not all(are_within(node.job.spec.tags, request.bounds) for node in nodes):
        raise ProblemError(
            Problem.FORBIDDEN, "Your key is bounded to tags, and jobs without them would also run again."
        )


def _refuse_being_run(names: Sequence[str]) -> None:
    if names:
        shown = ", ".join(names[:_SHOWN]) + (", …" if len(names) > _SHOWN else "")
        raise ProblemError(
            Problem.RUN_UNDER_WAY,
            f"Runs that this would clear are under way: {shown}. Wait until they end, or cancel them.",
        )
