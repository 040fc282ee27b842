"""Create, read, list, replace and delete tasks. A repeated PUT changes nothing."""

from timeball.api.http.access import Access
from timeball.api.http.body import canonical
from timeball.api.http.cursor import PAGE, PageQuery, identifier, number
from timeball.api.http.edge import ApiContext, note
from timeball.api.http.exchange import (
    Reply,
    Request,
    check_version,
    created,
    expected_version,
    expects_nothing,
    idempotency_key,
    key_conflict,
    ok,
    read_body,
    stale,
)
from timeball.api.http.ids import NewId, fingerprint
from timeball.api.http.problems import FieldError, Problem, ProblemError, invalid, not_found, refuse
from timeball.api.http.quotas import above_ceiling, defaults_of
from timeball.api.http.route import Router
from timeball.api.targets.models import called, closed_target
from timeball.api.tasks.models import (
    TaskAnswer,
    TaskPageAnswer,
    TaskRequest,
    read_task_request,
    task_answer,
    task_spec_of,
    task_summary,
)
from timeball.domain.changes.change import new_task
from timeball.domain.model.ids import JOB_ID, TaskKey
from timeball.domain.model.jobs.task import Task
from timeball.domain.model.tenants.actor import Action, Resource, ResourceKind
from timeball.engine import tasks as engine
from timeball.engine.tasks import TaskChanged, TaskOutcome, Users, revise_task

router = Router()


@router.post(
    "/v1/tasks",
    "Register a task",
    TaskAnswer,
    status=201,
    body=TaskRequest,
    headers=("Idempotency-Key",),
    problems=(Problem.IDEMPOTENCY_CONFLICT,),
    access=Access.OPERATE,
)
def create_task(edge: ApiContext, request: Request) -> Reply:
    """Create a task, or repeat the first answer to the same Idempotency-Key and body."""
    body = read_body(request)
    wanted, errors = read_task_request(body)
    key = idempotency_key(request, errors)
    errors += above_ceiling(defaults_of(edge, request), wanted.priority)
    _refuse(edge, request.tenant, wanted, errors)
    name = NewId.TASK.of(request.tenant, key, edge.random_bytes)
    spec = task_spec_of(wanted, TaskKey(request.tenant, name), fingerprint(canonical(body)))
    note(edge, request, Action.CREATE, Resource(ResourceKind.TASK, name))
    done = engine.create_task(edge.context, spec)
    if done.outcome is TaskOutcome.CONFLICT:
        raise key_conflict()
    task = _standing(done, "create")
    if done.outcome is TaskOutcome.REPEATED:
        task = new_task(spec, task.created_at)  # as it was at its creation, whatever has changed since
    return _created(task, is_repeated=done.outcome is TaskOutcome.REPEATED)


@router.put(
    "/v1/tasks/{taskId}",
    "Register a task under an id of your own, or replace it; repeating the request changes nothing",
    TaskAnswer,
    body=TaskRequest,
    also={201: TaskAnswer},
    headers=("If-Match", "If-None-Match"),
    access=Access.OPERATE,
)
def replace_task(edge: ApiContext, request: Request) -> Reply:
    """Create a task under the id in the path, or replace all of its fields."""
    body = read_body(request)
    version, is_to_be_new = expected_version(request), expects_nothing(request)
    key = _new_task_key(request)
    wanted, errors = read_task_request(body)
    standing = _read(edge, key)
    had = None if standing is None else standing.spec.priority
    errors += above_ceiling(defaults_of(edge, request), wanted.priority, had)
    target = task_spec_of(wanted, key, None).target if not errors else None
    _refuse(edge, request.tenant, wanted, errors, is_known=standing is not None and standing.spec.target == target)
    spec = task_spec_of(wanted, key, fingerprint(canonical(body)))
    if standing is None and "if-match" in request.headers:
        raise ProblemError(Problem.STALE_VERSION, "You have no task with this id; leave out If-Match to create it.")
    if standing is not None and is_to_be_new:
        raise ProblemError(Problem.STALE_VERSION, "You have a task with this id already; leave out If-None-Match.")
    if standing is not None:
        check_version("task", standing.version, version, "replace")
    note(edge, request, Action.PUT, Resource(ResourceKind.TASK, key.task_id))
    done = engine.create_task(edge.context, spec) if standing is None else revise_task(edge.context, standing, spec)
    return _created(_standing(done, "replace")) if done.outcome is TaskOutcome.CREATED else _replaced(done)


@router.get("/v1/tasks/{taskId}", "Read a task", TaskAnswer, access=Access.READ)
def get_task(edge: ApiContext, request: Request) -> Reply:
    """Read a task."""
    task = _read(edge, _task_key(request))
    if task is None:
        raise _no_task()
    return ok(task_answer(task), version=task.version)


@router.delete(
    "/v1/tasks/{taskId}",
    "Delete a task that no open job names",
    TaskAnswer,
    headers=("If-Match",),
    problems=(Problem.TASK_IN_USE,),
    access=Access.OPERATE,
)
def delete_task(edge: ApiContext, request: Request) -> Reply:
    """Delete a task that no open job names."""
    version = expected_version(request)
    key = _task_key(request)
    note(edge, request, Action.DELETE, Resource(ResourceKind.TASK, key.task_id))
    task = _standing(engine.delete_task(edge.context, key, version), "delete")
    return ok(task_answer(task), version=task.version)


@router.get("/v1/tasks", "List tasks, the newest first", TaskPageAnswer, query=PAGE, access=Access.READ)
def list_tasks(edge: ApiContext, request: Request) -> Reply:
    """List a tenant's tasks, the newest first."""
    asked = PageQuery(request)
    after = asked.after(number, identifier)
    page = engine.list_tasks(
        edge.context, request.tenant, asked.limit, after and (after[0], TaskKey(request.tenant, after[1]))
    )
    positions = ((at, key.task_id) for at, key in page.positions)
    next_after = page.next_after and (page.next_after[0], page.next_after[1].task_id)
    return asked.page(edge, zip(map(task_summary, page.items), positions, strict=True), next_after)


def _replaced(done: TaskChanged) -> Reply:
    if done.outcome in (TaskOutcome.CONFLICT, TaskOutcome.REPEATED) and done.task is not None:
        raise stale("task", done.task.version, "replace")
    task = _standing(done, "replace")
    return ok(task_answer(task), version=task.version)


def _created(task: Task, *, is_repeated: bool = False) -> Reply:
    location = f"/v1/tasks/{task.key.task_id}"
    return created(task_answer(task), location, version=task.version, is_repeated=is_repeated)


def _standing(done: TaskChanged, verb: str) -> Task:
    """Return the task after a change. Raises ProblemError if the change was refused."""
    if done.task is None or done.outcome is TaskOutcome.NOT_FOUND:
        raise _no_task()
    if done.outcome is TaskOutcome.STALE:
        raise stale("task", done.task.version, verb)
    if done.users is not None:
        raise ProblemError(Problem.TASK_IN_USE, _in_use(done.users))
    return done.task


def _in_use(users: Users) -> str:
    if users.one is None:
        return (
            f"The newest {users.ended} jobs that name this task have ended, but older ones may be open; delete the "
            "task again when the rows of ended jobs have expired."
        )
    if users.count == 1 and not users.is_more:
        return f"Job {users.one.job_id} names this task; cancel the job, or give it another target, and then try again."
    count = f"At least {users.count}" if users.is_more else f"{users.count}"
    return (
        f"{count} open jobs name this task, such as {users.one.job_id}; cancel them, or give them other targets, and "
        "then try again."
    )


def _refuse(
    edge: ApiContext, tenant: str, wanted: TaskRequest, errors: list[FieldError], *, is_known: bool = False
) -> None:
    """Raise ProblemError if there are errors; a target that the task has already is accepted."""
    target = called(wanted.target, wanted.handler)
    if target is not None and not is_known:
        url_field = "handler" if wanted.target is None else None
        errors = [*errors, *closed_target(edge, tenant, "target", target, url_field)]
    refuse(errors)


def _read(edge: ApiContext, key: TaskKey) -> Task | None:
    task = edge.context.store.tasks.read([key])[0]
    return None if task is None or task.is_deleted else task


def _task_key(request: Request) -> TaskKey:
    if not JOB_ID.fullmatch(request.path["taskId"]):
        raise _no_task()
    return TaskKey(request.tenant, request.path["taskId"])


def _new_task_key(request: Request) -> TaskKey:
    if not JOB_ID.fullmatch(request.path["taskId"]):
        raise invalid([FieldError("taskId", "Give 1 to 64 letters, digits, - or _.")])
    return _task_key(request)


def _no_task() -> ProblemError:
    return not_found("You have no task with this id; list yours at /v1/tasks.")
