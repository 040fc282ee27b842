"""Write the finishes of one batch: those that come close together in one request, and each alone if that fails.

While calls of the batch last, an answer waits a moment for others: runs that were called at one instant mostly get
their answers soon after each other, and a write of ten is one request, like a write of one. A run that is called alone
waits for no other.

Invariant: an answer is given up only when its run's lease ends, because that call is then made again. Until then its
write is tried again and its lease renewed.
"""

import asyncio
import logging
from collections.abc import Callable

from timeball.engine.context import Context
from timeball.engine.execution.finish import Result, finish
from timeball.engine.execution.in_flight import InFlight
from timeball.engine.execution.offload import Offload
from timeball.ports.errors import UnavailableError
from timeball.ports.queue import Delivery
from timeball.ports.target import Answer

log = logging.getLogger(__name__)

TOGETHER_MS = 50
"""How long an answer waits for others, at the most: fifty that come within half a second take eight writes."""

_FIRST_PAUSE_MS = 200
_LONGEST_PAUSE_MS = 2_000


class Finishes:
    """The answers of one batch on their way into the store, which must be written by `last_write_at` (ms).

    `more_may_come` says whether calls last.
    """

    def __init__(
        self, context: Context, offload: Offload, last_write_at: int, more_may_come: Callable[[], bool]
    ) -> None:
        self._context, self._offload, self._last_write_at = context, offload, last_write_at
        self._more_may_come = more_may_come
        self._waiting: list[tuple[InFlight, Answer]] = []
        self._may_go: dict[Delivery, bool] = {}
        self._writing = asyncio.Lock()
        self._moment: asyncio.Task[None] | None = None

    async def finish(self, flight: InFlight, answer: Answer) -> bool:
        """Finish an attempt, together with those that wait by then; return whether its message may go."""
        self._waiting.append((flight, answer))
        if self._moment is not None and not self._more_may_come():
            self._moment.cancel()
        async with self._writing:
            if self._waiting:
                await self._wait_for_others()
                await self._finish_together()
        may_go = self._may_go.get(flight.delivery)
        return await self._finish_alone(flight, answer) if may_go is None else may_go

    async def _wait_for_others(self) -> None:
        """Wait a moment, or until no call lasts."""
        if self._more_may_come():
            clock = self._context.clock
            self._moment = asyncio.create_task(clock.sleep_until(clock.now() + TOGETHER_MS))
            await asyncio.wait({self._moment})

    async def _finish_together(self) -> None:
        """Write the waiting finishes. If that fails, each is written alone, because it is unknown which one failed."""
        together, self._waiting = self._waiting, []
        try:
            results = [_result(flight, answer) for flight, answer in together]
            may_go = await self._offload(finish, self._context, results)
        except Exception as error:
            expected = isinstance(error, UnavailableError)
            log.warning("finishes not written together: %s", error, exc_info=not expected)
        else:
            self._may_go |= {flight.delivery: gone for (flight, _), gone in zip(together, may_go, strict=True)}

    async def _finish_alone(self, flight: InFlight, answer: Answer) -> bool:
        """Write one finish, repeatedly until the lease's end. An earlier try that succeeded is found written."""
        clock, pause_ms = self._context.clock, _FIRST_PAUSE_MS
        while (left_ms := self._stop_at(flight) - clock.now()) > 0:
            await clock.sleep_until(clock.now() + min(pause_ms, left_ms))
            try:
                (may_go,) = await self._offload(finish, self._context, [_result(flight, answer)])
            except UnavailableError as unavailable:
                log.warning("finish not written: %s", unavailable, extra={"run_id": str(flight.run.id)})
            else:
                return may_go
            pause_ms = min(2 * pause_ms, _LONGEST_PAUSE_MS)
        log.error("an answer is given up", extra={"run_id": str(flight.run.id), "attempt": flight.run.attempt})
        return False

    def _stop_at(self, flight: InFlight) -> int:
        return min(flight.stop_at(self._context.rules), self._last_write_at)


def _result(flight: InFlight, answer: Answer) -> Result:
    return Result(flight.run, flight.job, answer, flight.is_watched, flight.took)
