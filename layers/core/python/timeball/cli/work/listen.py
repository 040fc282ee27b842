"""`timeball listen`: forward the runs of a queue to a server on this machine."""

import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlsplit

import typer

from timeball.cli.status import CommandError
from timeball.cli.surroundings import surroundings_of
from timeball.cli.tree import Commands
from timeball.cli.work.attempts import RESULT_BYTES, Ending, QueuedAttempt, error_text
from timeball.cli.work.execution import result_of
from timeball.cli.work.starting import pull_from
from timeball.client.connection import load_httpx

if TYPE_CHECKING:
    import httpx

app = Commands("Forward the runs of a queue to a server on this machine.")


@app.add()
def listen(
    context: typer.Context,
    *,
    queue: Annotated[str, typer.Option("--queue", metavar="URL", help="The queue of SQS that is the target of jobs.")],
    forward: Annotated[str, typer.Option("--forward", metavar="URL", help="Such as http://localhost:3000/hook.")],
) -> None:
    """Forward the runs of a job whose target is a queue to a server on this machine, as webhooks.

    Timeball cannot call a laptop. So give a copy of the job the queue as its target, with completion callback and the
    payload that it has, and let this command take its runs from there: each is a POST to the server, with the headers
    of a webhook. A 2xx completes the run with its body, a 202 leaves the end to the server, any other answer fails the
    attempt.

    What differs from a webhook: the call is later by the way through the queue; it is not signed, because the secret
    stays at AWS; the target's own method, headers and body are not used; Retry-After is not heeded. Runs that come
    while nothing listens wait in the queue for as long as the heartbeatSeconds of the job allow.

    It needs the URL of the API, no key, and AWS credentials that may receive, hide and delete messages: from the
    environment, or from the AWS CLI, version 2.
    """
    surroundings = surroundings_of(context)
    parts = urlsplit(forward)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise CommandError("--forward: Give the URL of a server, such as http://localhost:3000/hook.")
    http = load_httpx().Client(transport=surroundings.transport, follow_redirects=False, timeout=None)
    pull_from(surroundings, queue, lambda work: Forwarded(http, forward, work))


class Forwarded:
    """A run that a server on this machine has in hand."""

    def __init__(self, http: "httpx.Client", url: str, work: QueuedAttempt) -> None:
        self._http, self._url, self._work = http, url, work
        self._ending: Ending | None = None
        self._is_over = threading.Event()
        threading.Thread(target=self._call, daemon=True).start()

    def wait(self, seconds: float) -> Ending | None:
        """Wait at most so long for the answer of the server."""
        self._is_over.wait(seconds)
        return self._ending

    def stop(self) -> None:
        """Wait for the answer no more; the server is not told, as by a webhook whose caller goes away."""
        self._ending = self._ending or Ending(error="The call was given up when it was stopped.")
        self._is_over.set()

    def _call(self) -> None:
        try:
            ending = self._answered()
        except Exception as lost:  # noqa: BLE001 - whatever it is, a run without an end would be held for ever
            host = urlsplit(self._url).netloc.rpartition("@")[2]  # the rest of the URL may have secrets
            ending = Ending(error=f"The call to {host} failed ({type(lost).__name__}).")
        self._ending = self._ending or ending
        self._is_over.set()

    def _answered(self) -> Ending:
        answer = self._http.post(self._url, content=self._work.payload.encode(), headers=headers_of(self._work))
        if answer.status_code == 202 and self._work.token:
            return Ending(is_open=True)
        if answer.is_success:
            is_whole = len(answer.content) <= RESULT_BYTES
            return Ending(result_of(answer.text, is_whole=is_whole))
        return Ending(error=error_text(f"The server answered with status {answer.status_code}. {answer.text[:500]}"))


def headers_of(work: QueuedAttempt) -> Mapping[str, str]:
    """Return the headers of a call, as a webhook has them."""
    facts = {name: value for name, value in work.facts.items() if (name + value).isascii() and value.isprintable()}
    return {**facts, "Content-Type": "application/json", "Idempotency-Key": work.run_id, "webhook-id": work.run_id}
