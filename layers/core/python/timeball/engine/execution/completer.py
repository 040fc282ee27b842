"""Write the finishes of one invocation: those that come together in one go, and each alone if that goes wrong.

Invariant: an answer is given up only when its run's lease ends, for that call would be made again. Until then its
write is tried again and its lease renewed.
"""

import asyncio
import logging

from timeball.engine.context import Context
from timeball.engine.execution.finish import Result, finish
from timeball.engine.execution.in_flight import InFlight
from timeball.engine.execution.offload import Offload
from timeball.ports.errors import UnavailableError
from timeball.ports.target import Answer

log = logging.getLogger(__name__)

_FIRST_PAUSE_MS = 200
_LONGEST_PAUSE_MS = 2_000


class Finishes:
    """The answers of one invocation on their way into the store. `last_write_at` (ms) is when that must be done."""

    def __init__(self, context: Context, offload: Offload, last_write_at: int) -> None:
        self._context, self._offload, self._last_write_at = context, offload, last_write_at
        self._waiting: asyncio.Queue[tuple[InFlight, Answer, asyncio.Future[bool | None]]] = asyncio.Queue()

    async def finish(self, flight: InFlight, answer: Answer) -> bool:
        """Finish an attempt; return whether its message may go."""
        written: asyncio.Future[bool | None] = asyncio.get_running_loop().create_future()
        self._waiting.put_nowait((flight, answer, written))
        may_go = await written
        return await self._finish_alone(flight, answer) if may_go is None else may_go

    async def write_together(self) -> None:
        """Write, again and again, the finishes that came in while the last ones were written."""
        while True:
            together = [await self._waiting.get()]
            while not self._waiting.empty():
                together.append(self._waiting.get_nowait())
            may_go: list[bool | None] = [None] * len(together)  # unknown: which of them is it that went wrong?
            try:
                results = [_result(flight, answer) for flight, answer, _ in together]
                may_go = [*await self._offload(finish, self._context, results)]
            except UnavailableError as unavailable:
                log.warning("finishes not written together: %s", unavailable)
            except Exception:
                log.exception("finishes not written together")
            for (_, _, written), gone in zip(together, may_go, strict=True):
                written.set_result(gone)

    async def _finish_alone(self, flight: InFlight, answer: Answer) -> bool:
        """Write one finish, again and again until the lease's end; an earlier try that got through is found written."""
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
    return Result(flight.run, flight.job, answer, flight.is_watched)
