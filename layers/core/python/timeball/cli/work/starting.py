"""Starts a worker: its connections, and what its signals mean."""

import signal
from collections.abc import Callable
from types import FrameType

from timeball.cli.connection import SurroundingClock, connect_to, profile_in
from timeball.cli.surroundings import Surroundings
from timeball.cli.work.attempts import QueuedAttempt
from timeball.cli.work.credentials import FoundCredentials
from timeball.cli.work.pulling import Effort, Pull
from timeball.cli.work.queue_client import QueueClient, region_of
from timeball.client.connection import load_httpx
from timeball.client.profiles import URL_VARIABLE, Profile


def pull_from(
    surroundings: Surroundings, queue_url: str, begin: Callable[[QueuedAttempt], Effort], at_once: int = 1
) -> None:
    """Work until the first signal to end; a second one stops what is under way."""
    region = region_of(queue_url, surroundings.environment)
    # Each message brings the token of its attempt, so an address without a key is enough.
    url = surroundings.environment.get(URL_VARIABLE) if surroundings.profile is None else None
    client = connect_to(surroundings, Profile(url or profile_in(surroundings).url, ""))
    clock = SurroundingClock(surroundings)
    http = load_httpx().Client(transport=surroundings.transport)
    queue = QueueClient(queue_url, region, http, FoundCredentials(surroundings.environment, clock.now), clock.now)
    pull = Pull(surroundings, client, queue, begin, at_once)

    def end(*_: int | FrameType | None) -> None:
        (pull.is_stopped if pull.is_draining.is_set() else pull.is_draining).set()

    former = {number: signal.signal(number, end) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        surroundings.say(f"Waiting for runs of {client.url} in {queue_url}; Ctrl-C ends it after its work.")
        pull.run()
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)
