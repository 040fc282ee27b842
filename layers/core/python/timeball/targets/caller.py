"""Calls targets of every type: each call goes to the adapter of its target's type."""

from collections.abc import Mapping

from timeball.domain.model.target import TargetType
from timeball.domain.model.verdict import Failed
from timeball.ports.clock import Clock
from timeball.ports.target import Answer, Call, Caller


class TargetCaller:
    """Calls targets by the adapters that a process has."""

    def __init__(self, clock: Clock, adapters: Mapping[TargetType, Caller]) -> None:
        self._clock = clock
        self._adapters = adapters

    async def call(self, call: Call) -> Answer:
        """Call the target once."""
        adapter = self._adapters.get(call.work.target.type)
        if adapter is None:
            error = f"Targets of the type {call.work.target.type} cannot be called here."
            return Answer(Failed(may_retry=False), None, self._clock.now(), error=error)
        return await adapter.call(call)
