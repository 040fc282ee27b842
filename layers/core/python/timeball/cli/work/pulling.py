"""Pulls attempts from a queue and sees each through: claim, heartbeats, the report of its end, and then the message.

Invariant: a message is deleted only after the end of its attempt was reported, or after the API has said that the
attempt is over. So a worker that dies, or that does not reach the API, leaves its work to another one.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from timeball.cli.status import CommandError, Status
from timeball.cli.surroundings import Surroundings
from timeball.cli.work.attempts import Ending, QueuedAttempt, report
from timeball.cli.work.queue_client import HIDDEN_SECONDS, QueueMessage
from timeball.client import Timeball
from timeball.client.errors import ApiError

_BEAT_SECONDS: Final = HIDDEN_SECONDS / 3
_AGAIN_SECONDS: Final = 1.0
_GLANCE_SECONDS: Final = 0.2


class Effort(Protocol):
    """The work of an attempt under way."""

    def wait(self, seconds: float) -> Ending | None:
        """Wait at most so long for its end, and return that; None while it goes on."""

    def stop(self) -> None:
        """End it soon."""


class MessageQueue(Protocol):
    """The queue of a worker; a request that may succeed later raises OSError."""

    def receive(self) -> QueueMessage | None:
        """Wait a while for a message."""

    def hide(self, message: QueueMessage, seconds: int = HIDDEN_SECONDS) -> None:
        """Hide a message for so long from now on; 0 gives it back."""

    def delete(self, message: QueueMessage) -> None:
        """Delete a message."""


@dataclass
class Pull:
    """A worker: it begins the work of an attempt by `begin`, for at most `at_once` attempts at a time."""

    surroundings: Surroundings
    client: Timeball
    queue: MessageQueue
    begin: Callable[[QueuedAttempt], Effort]
    at_once: int = 1
    is_draining: threading.Event = field(default_factory=threading.Event)
    """Set: nothing is received any more, and what is under way ends."""
    is_stopped: threading.Event = field(default_factory=threading.Event)
    """Set: what is under way is stopped."""
    last_seconds: float = 20.0
    """How long stopped work may take to be reported."""
    _under_way: list[Effort | None] = field(default_factory=list, init=False)
    _is_idle: threading.Event = field(default_factory=threading.Event, init=False)
    """Set whenever the work of a thread has ended."""
    _error: Exception | None = field(default=None, init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)

    def run(self) -> None:
        """Work until the drain, and until what is under way has ended. Raises what stopped a thread."""
        self._under_way = [None] * self.at_once
        for slot in range(self.at_once):
            # A thread that waits for a message holds up no drain.
            threading.Thread(target=self._pull, args=(slot,), daemon=True).start()
        while not self.is_draining.wait(_GLANCE_SECONDS):
            pass  # a signal may reach another thread, and its handler runs when this one wakes
        glances = 0
        while efforts := [one for one in self._under_way if one is not None]:
            if glances > self.last_seconds / _GLANCE_SECONDS:
                raise CommandError(
                    f"The API did not answer; attempts without a report: {len(efforts)}.", Status.UNAVAILABLE
                )
            self._is_idle.clear()
            if self.is_stopped.is_set():
                stop_all(efforts)
                glances += 1
            self._is_idle.wait(_GLANCE_SECONDS)
        if self._error is not None:
            raise self._error

    def _pull(self, slot: int) -> None:
        try:
            while not self.is_draining.is_set():
                try:
                    message = self.queue.receive()
                except OSError as lost:
                    self.surroundings.say(f"The queue: {lost}")
                    self.surroundings.pause(_AGAIN_SECONDS)
                    continue
                if message is not None:
                    self._take(slot, message)
        except Exception as error:  # noqa: BLE001 - it ends the worker, and is raised there
            self._error = error
            self.is_draining.set()

    def _take(self, slot: int, message: QueueMessage) -> None:
        with self._lock:
            is_late = self.is_draining.is_set()
            if not is_late:
                self._under_way[slot] = _Beginning()
        if is_late:
            self._give_back(message)
            return
        try:
            self.see_through(message, slot)
        except Exception:
            self._give_back(message)
            raise
        finally:
            self._under_way[slot] = None
            self._is_idle.set()

    def see_through(self, message: QueueMessage, slot: int = 0) -> None:
        """Do the work of a message: claim it, do it, report its end, delete it."""
        work = QueuedAttempt.of(message)
        if work is None:
            self.surroundings.say(
                "A message names no run of Timeball: it is left to others, or to a dead-letter queue."
            )
            return
        claimed = self._report(message, work, "heartbeat") if work.token else {}
        if claimed is None:
            self.surroundings.say(f"{work}: it is over, or another attempt has begun.")
            self._delete(message)
            return
        self.surroundings.say(f"{work}: begun.")
        effort = self.begin(work)
        if self._under_way:
            self._under_way[slot] = effort
        try:
            ending = self._awaited(message, work, effort, _beat_seconds(claimed))
        except Exception:
            effort.stop()  # another worker gets the message
            raise
        if ending is None:
            self.surroundings.say(f"{work}: stopped, because it is over for Timeball.")
        elif not self._end(message, work, ending):
            return
        self._delete(message)

    def _awaited(self, message: QueueMessage, work: QueuedAttempt, effort: Effort, beat: float) -> Ending | None:
        """Return how an effort ended; None if the attempt was over before."""
        while (ending := effort.wait(beat)) is None:
            if work.token is None:
                self._hide(message)
                continue
            answer = self._report(message, work, "heartbeat")
            if answer is None or answer["cancelRequested"]:
                effort.stop()
            if answer is None:
                return None
        return ending

    def _end(self, message: QueueMessage, work: QueuedAttempt, ending: Ending) -> bool:
        """Report how an attempt ended; return whether its message is done with."""
        self.surroundings.say(f"{work}: {ending.error or 'done'}")
        if work.token is None:
            return ending.error is None  # the queue gives it to another worker, as its redrive policy says
        if ending.is_open:
            return True
        error = ending.error
        if error is None:
            error = self._complete(message, work, ending.result)
        if error is not None:
            self._report(message, work, "fail", error=error)
        return True

    def _complete(self, message: QueueMessage, work: QueuedAttempt, result: object) -> str | None:
        """Report a result; return why it cannot be taken, or None."""
        try:
            answer = self._report(message, work, "complete", result=result)
        except (ValueError, RecursionError):
            return "The result cannot be sent as JSON."
        return "The result was refused." if answer is None else None

    def _report(
        self, message: QueueMessage, work: QueuedAttempt, word: str, **about: object
    ) -> Mapping[str, Any] | None:
        """Report until the API answers, or until the worker is stopped; meanwhile no other worker gets the message."""
        while True:
            self._hide(message)
            try:
                return report(self.client, work, word, **about)
            except ApiError as lost:
                if self.is_stopped.is_set():
                    raise
                self.surroundings.say(f"{work}: {lost.detail}")
            self.surroundings.pause(_AGAIN_SECONDS)

    def _hide(self, message: QueueMessage) -> None:
        try:
            self.queue.hide(message)
        except (OSError, CommandError) as refused:  # hidden for twelve hours, it may not be hidden longer
            self.surroundings.say(f"The message stays hidden for a minute at most: {refused}")

    def _give_back(self, message: QueueMessage) -> None:
        with suppress(OSError, CommandError):  # it comes back by itself, a minute later at most
            self.queue.hide(message, 0)

    def _delete(self, message: QueueMessage) -> None:
        try:
            self.queue.delete(message)
        except OSError as lost:
            self.surroundings.say(f"The message comes again, and will be over: {lost}")


def stop_all(efforts: Sequence[Effort]) -> None:
    """Stop efforts at the same time, because each may need its whole grace."""
    with ThreadPoolExecutor(len(efforts)) as threads:
        for stopping in [threads.submit(effort.stop) for effort in efforts]:
            stopping.result()


class _Beginning:
    """An effort that has not begun, which a drain waits for."""

    def wait(self, seconds: float) -> Ending | None:  # noqa: ARG002 - nothing waits for it
        return None

    def stop(self) -> None:
        """Do nothing: it begins all the same, and is stopped then."""


def _beat_seconds(claimed: Mapping[str, Any]) -> float:
    """Return the time between two heartbeats: a third of what Timeball and the queue allow."""
    allowed = (claimed.get("callback") or {}).get("heartbeatSeconds")
    return min(_BEAT_SECONDS, allowed / 3) if allowed else _BEAT_SECONDS
