"""Handles of what takes a while: a run, a bulk operation, a backfill."""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TypeVar

from timeball.client.aio.sender import AsyncSender
from timeball.client.answers import Answer
from timeball.client.calls import path_of
from timeball.client.clocks import AsyncClock
from timeball.client.errors import RunFailed
from timeball.client.models import BackfillAnswer, OperationAnswer, RunAnswer, RunDetailAnswer

T = TypeVar("T", bound=Answer)

_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 0.5, 5.0


class AsyncRunHandle:
    """A run that was begun."""

    def __init__(self, sender: AsyncSender, answer: RunAnswer) -> None:
        self._sender = sender
        self.id = answer.run_id
        """The id of the run."""
        self.answer = answer
        """The run as it stood when it was begun."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.id!r})"

    async def follow(self, *, timeout: float | None = None) -> AsyncIterator[RunDetailAnswer]:
        """Yield the run now and after each change until it has ended; raise TimeoutError after `timeout` seconds."""
        async for run in follow_run(self._sender, self.id, timeout):
            yield run

    async def wait(self, *, timeout: float | None = None) -> RunDetailAnswer:
        """Return the run when it has succeeded; raise RunFailed if it ends otherwise, TimeoutError after `timeout`."""
        return await wait_for_run(self._sender, self.id, timeout)


class AsyncOperationHandle:
    """A bulk operation that was begun."""

    def __init__(self, sender: AsyncSender, answer: OperationAnswer) -> None:
        self._sender = sender
        self.id = answer.operation_id
        """The id of the operation."""
        self.answer = answer
        """The operation as it stood when it was begun."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.id!r})"

    async def follow(self, *, timeout: float | None = None) -> AsyncIterator[OperationAnswer]:
        """Yield the operation now and after each progress until it is over."""
        path = path_of("operations", self.id)

        async def read() -> OperationAnswer:
            return OperationAnswer(await self._sender.json("GET", path))

        async for one in changes(read, lambda one: one.status != "running", self._sender.clock, timeout):
            yield one

    async def wait(self, *, timeout: float | None = None) -> OperationAnswer:
        """Return the operation when it is over; `failures` names the jobs on which it failed."""
        last = self.answer
        async for one in self.follow(timeout=timeout):
            last = one
        return last


class AsyncBackfillHandle:
    """A backfill that was begun."""

    def __init__(self, sender: AsyncSender, answer: BackfillAnswer) -> None:
        self._sender = sender
        self.id = answer.backfill_id
        """The id of the backfill."""
        self.answer = answer
        """The backfill as it stood when it was begun."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.id!r})"

    async def follow(self, *, timeout: float | None = None) -> AsyncIterator[BackfillAnswer]:
        """Yield the backfill now and after each progress until it is over."""
        path = path_of("jobs", self.answer.job_id, "backfills", self.id)

        async def read() -> BackfillAnswer:
            return BackfillAnswer(await self._sender.json("GET", path))

        async for one in changes(
            read, lambda one: one.status in ("completed", "cancelled"), self._sender.clock, timeout
        ):
            yield one

    async def wait(self, *, timeout: float | None = None) -> BackfillAnswer:
        """Return the backfill when it is over."""
        last = self.answer
        async for one in self.follow(timeout=timeout):
            last = one
        return last


async def follow_run(sender: AsyncSender, run_id: str, timeout: float | None) -> AsyncIterator[RunDetailAnswer]:
    """Yield a run now and after each change until it has ended."""
    path = path_of("runs", run_id)

    async def read() -> RunDetailAnswer:
        return RunDetailAnswer(await sender.json("GET", path))

    async for run in changes(read, lambda run: run.finished_at is not None, sender.clock, timeout):
        yield run


async def wait_for_run(sender: AsyncSender, run_id: str, timeout: float | None) -> RunDetailAnswer:
    """Return a run when it has succeeded; raise RunFailed if it ends otherwise."""
    async for run in follow_run(sender, run_id, timeout):
        if run.status == "succeeded":
            return run
        if run.finished_at is not None:
            raise RunFailed(run)
    raise AssertionError("A run is followed to its end.")


async def changes(
    read: Callable[[], Awaitable[T]], is_over: Callable[[T], bool], clock: AsyncClock, timeout: float | None
) -> AsyncIterator[T]:
    """Yield what is read now and after each change until it is over; raise TimeoutError after `timeout` seconds."""
    ends_at = None if timeout is None else clock.now() + timeout
    pause, seen = _FIRST_PAUSE_SECONDS, None
    while True:
        one = await read()
        if seen is None or one.raw != seen.raw:
            pause, seen = _FIRST_PAUSE_SECONDS, one
            yield one
        if is_over(one):
            return
        if ends_at is not None and clock.now() >= ends_at:
            raise TimeoutError(f"{one!r} was not over after {timeout:g} s; it goes on.")
        left = _LONGEST_PAUSE_SECONDS if ends_at is None else max(0.0, ends_at - clock.now())
        await clock.sleep(min(pause, left))
        pause = min(_LONGEST_PAUSE_SECONDS, pause * 1.5)
