"""Asks the API with a viewer's session, so that no tool can change anything by a slip."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from timeball.client import AsyncTimeball, NotAllowed, TimeballError

T = TypeVar("T")

CHANGES_SECONDS = 60
"""How long a session may make changes after a tool has asked for that."""


class ViewerSession:
    """A session of an API key: begun by the first question, and again when it has ended."""

    def __init__(self, timeball: AsyncTimeball, with_key: Callable[[str], AsyncTimeball]) -> None:
        self._timeball, self._with_key = timeball, with_key
        self._session: AsyncTimeball | None = None
        self._lock = asyncio.Lock()

    async def ask(self, question: Callable[[AsyncTimeball], Awaitable[T]]) -> T:
        """Return the answer to a question that changes nothing."""
        session = await self._begun(None)
        try:
            return await question(session)
        except NotAllowed as refused:
            if refused.type == "forbidden":  # the session lives; its role or its tags do not allow this
                raise
            return await question(await self._begun(session))

    async def change(self, act: Callable[[AsyncTimeball], Awaitable[T]]) -> T:
        """Return what a change has answered: for a minute the session has the role of its API key."""
        made = await self.ask(lambda session: session.sessions.create(allow_changes_for_seconds=CHANGES_SECONDS))
        async with self._with_key(made.key) as allowed:
            return await act(allowed)

    async def _begun(self, ended: AsyncTimeball | None) -> AsyncTimeball:
        """Return the session, and begin another one if it is the one that has ended."""
        async with self._lock:
            if self._session is None or self._session is ended:
                if self._session is not None:
                    await self._session.close()
                self._session = self._with_key((await self._timeball.sessions.create()).key)
            return self._session

    async def end(self) -> None:
        """End the session; without an answer of the API it ends by itself after an hour."""
        session, self._session = self._session, None
        if session is not None:
            try:
                await session.sessions.end()
            except TimeballError:
                pass
            finally:
                await session.close()
