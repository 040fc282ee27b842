"""The routes of tasks."""

from timeball.api.http.access import Access
from timeball.api.http.problems import Problem
from timeball.api.http.route import Route
from timeball.api.tasks.answers import TaskAnswer, TaskPageAnswer
from timeball.api.tasks.listing import TASK_PARAMETERS, read_tasks
from timeball.api.tasks.operations import create_a_task, delete_a_task, put_task, read_task
from timeball.api.tasks.request import TaskRequest

ROUTES: tuple[Route, ...] = (
    Route(
        "POST",
        "/v1/tasks",
        create_a_task,
        "Register a task",
        TaskAnswer,
        status=201,
        body=TaskRequest,
        headers=("Idempotency-Key",),
        problems=(Problem.IDEMPOTENCY_CONFLICT,),
        access=Access.OPERATE,
    ),
    Route(
        "GET",
        "/v1/tasks",
        read_tasks,
        "List tasks, the newest first",
        TaskPageAnswer,
        query=TASK_PARAMETERS,
        access=Access.READ,
    ),
    Route(
        "PUT",
        "/v1/tasks/{taskId}",
        put_task,
        "Register a task under an id of your own, or replace it; repeating the request changes nothing",
        TaskAnswer,
        body=TaskRequest,
        also={201: TaskAnswer},
        headers=("If-Match", "If-None-Match"),
        access=Access.OPERATE,
    ),
    Route(
        "GET",
        "/v1/tasks/{taskId}",
        read_task,
        "Read a task",
        TaskAnswer,
        access=Access.READ,
    ),
    Route(
        "DELETE",
        "/v1/tasks/{taskId}",
        delete_a_task,
        "Delete a task that no open job names",
        TaskAnswer,
        headers=("If-Match",),
        problems=(Problem.TASK_IN_USE,),
        access=Access.OPERATE,
    ),
)
