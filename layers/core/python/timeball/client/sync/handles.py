# Generated from aio/handles.py by `python -m docs.client`: change that instead.
"""Handles of what takes a while: a run, a bulk operation, a backfill."""

from collections.abc import Callable, Iterator
from typing import TypeVar

from timeball.client.answers import Answer
from timeball.client.calls import path_of
from timeball.client.clocks import Clock
from timeball.client.errors import RunFailed
from timeball.client.models import BackfillAnswer, OperationAnswer, RunAnswer, RunDetailAnswer
from timeball.client.sync.sender import Sender

T = TypeVar("T", bound=Answer)

_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 0.5, 5.0


class RunHandle:
    """A run that was begun."""

    def __init__(self, sender: Sender, answer: RunAnswer) -> None:
        self._sender = sender
        self.id = answer.run_id
        """The id of the run."""
        self.answer = answer
        """The run as it stood when it was begun."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.id!r})"

    def follow(self, *, timeout: float | None = None) -> Iterator[RunDetailAnswer]:
        """Yield the run now and after each change until it has ended; raise TimeoutError after `timeout` seconds."""
        yield from follow_run(self._sender, self.id, timeout)

    def wait(self, *, timeout: float | None = None) -> RunDetailAnswer:
        """Return the run when it has succeeded; raise RunFailed if it ends otherwise, TimeoutError after `timeout`."""
        return wait_for_run(self._sender, self.id, timeout)


class OperationHandle:
    """A bulk operation that was begun."""

    def __init__(self, sender: Sender, answer: OperationAnswer) -> None:
        self._sender = sender
        self.id = answer.operation_id
        """The id of the operation."""
        self.answer = answer
        """The operation as it stood when it was begun."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.id!r})"

    def follow(self, *, timeout: float | None = None) -> Iterator[OperationAnswer]:
        """Yield the operation now and after each progress until it is over."""
        path = path_of("operations", self.id)

        def read() -> OperationAnswer:
            return OperationAnswer(self._sender.json("GET", path))

        yield from changes(read, lambda one: one.status != "running", self._sender.clock, timeout)

    def wait(self, *, timeout: float | None = None) -> OperationAnswer:
        """Return the operation when it is over; `failures` names the jobs on which it failed."""
        last = self.answer
        for one in self.follow(timeout=timeout):
            last = one
        return last


class BackfillHandle:
    """A backfill that was begun."""

    def __init__(self, sender: Sender, answer: BackfillAnswer) -> None:
        self._sender = sender
        self.id = answer.backfill_id
        """The id of the backfill."""
        self.answer = answer
        """The backfill as it stood when it was begun."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.id!r})"

    def follow(self, *, timeout: float | None = None) -> Iterator[BackfillAnswer]:
        """Yield the backfill now and after each progress until it is over."""
        path = path_of("jobs", self.answer.job_id, "backfills", self.id)

        def read() -> BackfillAnswer:
            return BackfillAnswer(self._sender.json("GET", path))

        yield from changes(read, lambda one: one.status in ("completed", "cancelled"), self._sender.clock, timeout)

    def wait(self, *, timeout: float | None = None) -> BackfillAnswer:
        """Return the backfill when it is over."""
        last = self.answer
        for one in self.follow(timeout=timeout):
            last = one
        return last


def follow_run(sender: Sender, run_id: str, timeout: float | None) -> Iterator[RunDetailAnswer]:
    """Yield a run now and after each change until it has ended."""
    path = path_of("runs", run_id)

    def read() -> RunDetailAnswer:
        return RunDetailAnswer(sender.json("GET", path))

    yield from changes(read, lambda run: run.finished_at is not None, sender.clock, timeout)


def wait_for_run(sender: Sender, run_id: str, timeout: float | None) -> RunDetailAnswer:
    """Return a run when it has succeeded; raise RunFailed if it ends otherwise."""
    for run in follow_run(sender, run_id, timeout):
        if run.status == "succeeded":
            return run
        if run.finished_at is not None:
            raise RunFailed(run)
    raise AssertionError("A run is followed to its end.")


def changes(read: Callable[[], T], is_over: Callable[[T], bool], clock: Clock, timeout: float | None) -> Iterator[T]:
    """Yield what is read now and after each change until it is over; raise TimeoutError after `timeout` seconds."""
    ends_at = None if timeout is None else clock.now() + timeout
    pause, seen = _FIRST_PAUSE_SECONDS, None
    while True:
        one = read()
        if seen is None or one.raw != seen.raw:
            pause, seen = _FIRST_PAUSE_SECONDS, one
            yield one
        if is_over(one):
            return
        if ends_at is not None and clock.now() >= ends_at:
            raise TimeoutError(f"{one!r} was not over after {timeout:g} s; it goes on.")
        left = _LONGEST_PAUSE_SECONDS if ends_at is None else max(0.0, ends_at - clock.now())
        clock.sleep(min(pause, left))
        pause = min(_LONGEST_PAUSE_SECONDS, pause * 1.5)
