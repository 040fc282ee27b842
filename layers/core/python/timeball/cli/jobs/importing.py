"""`timeball import`: definitions of other schedulers as jobs, with a proof that these fire at the same instants.

The jobs go to standard output, the report to standard error. Nothing is changed unless `--apply` is given.
"""

import json
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from timeball.cli.connection import connect
from timeball.cli.status import CommandError, Status
from timeball.cli.surroundings import Surroundings, one_line, surroundings_of
from timeball.cli.tree import Commands
from timeball.client import NotFound, Timeball
from timeball.importing.celery_beat import read_beat, read_celery_json
from timeball.importing.comparing import Comparer
from timeball.importing.crontab import read_crontab
from timeball.importing.definitions import Found, ImportedJob, ImportOptions, UnreadableError
from timeball.importing.eventbridge import read_eventbridge
from timeball.importing.kubernetes import read_kubernetes
from timeball.importing.report import is_equal, report

app = Commands("Make jobs of a crontab, or of another scheduler's definitions.")

_HEARTBEAT_SECONDS: Final = 900
_LONGEST_SECONDS: Final = 43_200

File = Annotated[str, typer.Argument(metavar="FILE|-", help="A file; - is the standard input.")]
Zone = Annotated[
    str | None, typer.Option("--timezone", metavar="ZONE", help="The zone of the other scheduler's clock; default UTC.")
]
Queue = Annotated[
    str | None,
    typer.Option("--queue", metavar="URL", help="The queue of SQS from which `timeball worker` takes the runs."),
]
Handler = Annotated[str | None, typer.Option("--handler", metavar="URL", help="The webhook that the jobs call.")]
Task = Annotated[
    str | None, typer.Option("--task", metavar="TASK", help="The task that the jobs name; default commands.")
]
Apply = Annotated[bool, typer.Option("--apply", help="Put the jobs; without it nothing is changed.")]


@app.callback()
def _group() -> None:
    """Make jobs of a crontab, or of another scheduler's definitions.

    The jobs are printed as a body for `timeball api POST /v1/jobs:batch`. A report on standard error says of each
    definition which job it became, or why it became none, and compares the fires of both over 400 days. Exit status 1:
    a definition has no job, or its job fires at other instants.
    """


@app.add("crontab")
def import_crontab(
    context: typer.Context,
    file: File,
    *,
    system: Annotated[bool, typer.Option("--system", help="The lines name a user, as in /etc/crontab.")] = False,
    timezone: Annotated[
        str | None, typer.Option(metavar="ZONE", help="The zone of the machine; default the file's TZ, or UTC.")
    ] = None,
    queue: Queue = None,
    handler: Handler = None,
    task: Task = None,
    apply: Apply = False,
) -> Status:
    """Import the lines of a crontab, by the rules of cronie; each job's payload is the command."""
    surroundings = surroundings_of(context)
    given = ImportOptions(surroundings.now(), _calls(queue, handler, task), timezone, is_system=system)
    return _import(surroundings, lambda: read_crontab(surroundings.read(file), given), given, apply=apply)


@app.add("eventbridge")
def import_eventbridge(context: typer.Context, file: File, *, apply: Apply = False) -> Status:
    """Import schedules of EventBridge Scheduler: of `aws scheduler get-schedule`, or of a CloudFormation template."""
    surroundings = surroundings_of(context)
    given = ImportOptions(surroundings.now(), {})
    return _import(surroundings, lambda: read_eventbridge(surroundings.read(file), given), given, apply=apply)


@app.add("k8s")
def import_kubernetes(
    context: typer.Context,
    file: File,
    *,
    timezone: Zone = None,
    queue: Queue = None,
    handler: Handler = None,
    task: Task = None,
    apply: Apply = False,
) -> Status:
    """Import CronJobs: manifests in YAML or JSON, or what `kubectl get cronjobs -o json` prints."""
    surroundings = surroundings_of(context)
    given = ImportOptions(surroundings.now(), _calls(queue, handler, task), timezone)
    return _import(surroundings, lambda: read_kubernetes(surroundings.read(file), given), given, apply=apply)


@app.add("celery")
def import_celery(
    context: typer.Context,
    source: Annotated[
        str, typer.Argument(metavar="MODULE[:NAME]|FILE|-", help="A module that has the schedule, or JSON.")
    ],
    *,
    timezone: Annotated[
        str | None, typer.Option(metavar="ZONE", help="The zone of the beat; default the setting timezone, or UTC.")
    ] = None,
    queue: Queue = None,
    handler: Handler = None,
    task: Task = None,
    apply: Apply = False,
) -> Status:
    """Import the beat_schedule of Celery; each job's payload is the name and the arguments of the task.

    A module is imported, from this folder too, so its code runs.
    """
    surroundings = surroundings_of(context)
    given = ImportOptions(surroundings.now(), _calls(queue, handler, task), timezone)

    def read() -> list[Found]:
        if source == "-" or source.endswith(".json"):
            return read_celery_json(surroundings.read(source), given)
        return read_beat(_loaded(source), given)

    return _import(surroundings, read, given, apply=apply)


def _calls(queue: str | None, handler: str | None, task: str | None) -> dict[str, Any]:
    """Return the fields of a job that say what it calls."""
    named = [name for name, value in (("--queue", queue), ("--handler", handler), ("--task", task)) if value]
    if len(named) > 1:
        raise CommandError(f"Give only one of {' and '.join(named)}: a job calls one thing.")
    if queue:
        return {
            "target": {"type": "sqs", "queueUrl": queue},
            "completion": "callback",
            "timeoutSeconds": _LONGEST_SECONDS,
            "heartbeatSeconds": _HEARTBEAT_SECONDS,
        }
    return {"handler": handler} if handler else {"taskId": task or "commands"}


def _loaded(source: str) -> object:
    module, _, name = source.partition(":")
    sys.path.insert(0, str(Path.cwd()))
    try:
        found: object = import_module(module)
        return getattr(found, name) if name else found
    except (ImportError, AttributeError, ValueError) as bad:
        raise CommandError(f"{source} cannot be imported: {bad}.") from None
    finally:
        sys.path.pop(0)


def _import(
    surroundings: Surroundings, read: Callable[[], Sequence[Found]], given: ImportOptions, *, apply: bool
) -> Status:
    try:
        found = read()
    except UnreadableError as bad:
        raise CommandError(str(bad)) from None
    comparer = Comparer(given.now)
    comparisons = [comparer.compare(one) if isinstance(one, ImportedJob) else None for one in found]
    jobs = [one for one in found if isinstance(one, ImportedJob)]
    if apply:
        _put(surroundings, jobs)
    else:
        items = [{"jobId": one.job_id, **one.body} for one in jobs]
        surroundings.stdout.write(json.dumps({"jobs": items}, indent=2, ensure_ascii=False) + "\n")
    for line in report(found, comparisons):
        surroundings.stderr.write(f"{one_line(line)}\n")
    return Status.OK if is_equal(found, comparisons) else Status.BAD


def _put(surroundings: Surroundings, jobs: Sequence[ImportedJob]) -> None:
    """Put the jobs, and pause those that are switched off; put none if a job of another maker has one of the ids."""
    client = connect(surroundings)
    taken = [one.job_id for one in jobs if not _may_put(client, one)]
    twice = [job_id for job_id, times in Counter(one.job_id for one in jobs).items() if times > 1]
    for ids, why in (
        (taken, "These jobs exist and are not of this definition"),
        (twice, "Two definitions have one id"),
    ):
        if ids:
            raise CommandError(
                f"{why}: {', '.join(ids)}. Nothing was put; without --apply, edit the ids.", Status.CONFLICT
            )
    for one in jobs:
        client.jobs.put(one.job_id, dict(one.body))
        if one.is_paused:
            client.jobs.pause(one.job_id)
        surroundings.stdout.write(f"{one.job_id}\t{'paused' if one.is_paused else 'put'}\n")


def _may_put(client: Timeball, one: ImportedJob) -> bool:
    """Return whether no job stands under the id, or one that an import of the same definition made."""
    try:
        standing = client.jobs.get(one.job_id).raw
    except NotFound:
        return True
    origin = "imported-from"
    return (standing.get("tags", {}).get(origin), standing.get("name")) == (
        one.body["tags"][origin],
        one.body.get("name"),
    )
