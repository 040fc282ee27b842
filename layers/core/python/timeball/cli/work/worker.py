"""`timeball worker`: run a command for each run that comes through a queue."""

import shlex
from typing import Annotated

import typer

from timeball.cli.status import CommandError
from timeball.cli.surroundings import surroundings_of
from timeball.cli.tree import Commands
from timeball.cli.work.execution import Execution
from timeball.cli.work.starting import pull_from

app = Commands("Run a command for each run that comes through a queue.")

QueueUrl = Annotated[str, typer.Option("--queue", metavar="URL", help="The queue of SQS that is the target of jobs.")]


@app.add()
def worker(
    context: typer.Context,
    *,
    queue: QueueUrl,
    command: Annotated[str, typer.Option("--exec", metavar="CMD", help="The command, such as 'python report.py'.")],
    at_once: Annotated[int, typer.Option("--at-once", min=1, max=100, metavar="N", help="So many runs at a time.")] = 1,
) -> None:
    """Run a command for each run of a job whose target is a queue.

    The payload is the standard input of the command; TIMEBALL_JOB_ID, TIMEBALL_RUN_ID, TIMEBALL_ATTEMPT,
    TIMEBALL_TASK_ID and TIMEBALL_FIRE_TIME are in its environment, and TIMEBALL_KEY is not. No shell reads CMD: for
    pipes and variables write sh -c '...'.

    Exit status 0 completes the run; its output, up to 16 KB, is the result, as JSON if it is JSON. Any other status
    fails the attempt, with the end of the standard error as the reason, and the job's retry policy decides. While the
    command works, heartbeats go to Timeball; if the run is cancelled or over, the command gets SIGTERM, and SIGKILL
    after 10 seconds.

    Ctrl-C or SIGTERM drains: no more runs are taken, and the worker ends with the last command. A second one stops the
    commands, whose attempts fail.

    Jobs need completion callback. Without it, the run is over when it is in the queue; the command still runs, and its
    message comes again unless it exits with 0.

    The worker needs the URL of the API, no key, and AWS credentials that may receive, hide and delete messages: from
    the environment, or from the AWS CLI, version 2.
    """
    words = _words_of(command)
    surroundings = surroundings_of(context)
    pull_from(
        surroundings,
        queue,
        lambda work: Execution(words, work, surroundings.environment, surroundings.stderr),
        at_once,
    )


def _words_of(command: str) -> list[str]:
    try:
        words = shlex.split(command)
    except ValueError as bad:
        raise CommandError(f"--exec: {bad}: close the quotes.") from None
    if not words:
        raise CommandError("--exec: Give a command, such as 'python report.py'.")
    return words
