"""Save the emulator's state each minute: by itself it saves at a clean stop alone, so a kill would lose everything.

Invariant: nothing is saved before the deployment is finished, so that no state holds half of a stack, and nothing
before the emulator has restored what was saved.

Two parts stay small. The functions and their layers never change between two deployments, and are megabytes: they are
saved once and at the end. An execution of a state machine does not survive a restart: it is not saved at all.

This runs on the emulator's Python, which has none of our code: it imports only the standard library.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Mapping, MutableMapping
from functools import partial
from pathlib import Path
from typing import Any

_Message = MutableMapping[str, Any]
_Receive = Callable[[], Awaitable[_Message]]
_Send = Callable[[_Message], Awaitable[None]]
_Application = Callable[[_Message, _Receive, _Send], Coroutine[Any, Any, None]]
_Part = Callable[[], Any]

_FIXED = "lambda"
_PAST = ("executions", "map_runs")
_TRIES = 5
_POLL_SECONDS = 1


class StateSaver:
    """The state of the emulator's services, and the file that says that it may be saved."""

    def __init__(
        self,
        app: Any,  # noqa: ANN401 -- the emulator's module
        write: Callable[[str, Any], None],
        deployed: Path,
    ) -> None:
        self._parts_of_all: Callable[[], Mapping[str, _Part]] = app._build_persistence_save_dict  # noqa: SLF001
        self._write = write
        self._deployed = deployed
        self._has_fixed_part = False

    def to_save_at_the_end(self) -> dict[str, _Part]:
        """Return each part's name with the function that copies it; none before the deployment is finished."""
        if not self._deployed.exists():
            return {}
        parts = self._parts_of_all()
        return {name: partial(_without_past, name, part) for name, part in parts.items()}

    async def save(self) -> None:
        """Copy the parts one by one between the requests, and write them beside the requests."""
        fixed = {_FIXED} if self._has_fixed_part else set()
        for name, part in self.to_save_at_the_end().items():
            copied = None if name in fixed else _copied(name, part)
            if copied is not None:
                await asyncio.to_thread(self._write, name, copied)
                self._has_fixed_part = self._has_fixed_part or name == _FIXED

    def saved_each(self, seconds: float, application: _Application) -> _Application:
        """Return an ASGI application that also saves the state once it may be saved, and then each so many seconds."""

        async def repeat() -> None:
            while not self._deployed.exists():
                await asyncio.sleep(_POLL_SECONDS)
            while True:
                await self.save()
                await asyncio.sleep(seconds)

        async def saved(scope: _Message, receive: _Receive, send: _Send) -> None:
            if scope["type"] != "lifespan":
                await application(scope, receive, send)
                return
            tasks = []

            async def begin_when_restored(message: _Message) -> None:
                if message["type"] == "lifespan.startup.complete":
                    tasks.append(asyncio.create_task(repeat()))
                await send(message)

            try:
                await application(scope, receive, begin_when_restored)
            finally:
                for task in tasks:
                    task.cancel()

        return saved


def _copied(name: str, part: _Part) -> Any:  # noqa: ANN401 -- whatever the service holds
    for _ in range(_TRIES):
        try:
            return part()
        except RuntimeError:  # a thread of the service has changed it meanwhile
            continue
    logging.getLogger(__name__).error("The state of %s changes too often to be saved now.", name)
    return None


def _without_past(name: str, part: _Part) -> Any:  # noqa: ANN401 -- as above
    state = part()
    if name == "stepfunctions" and state:
        return {key: value for key, value in state.items() if key not in _PAST}
    return state
