"""Lists that page by themselves."""

from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from timeball.client.aio.sender import AsyncSender
from timeball.client.calls import Call

T = TypeVar("T")


@dataclass(frozen=True)
class AsyncPages(Generic[T]):
    """A list of the API. Each iteration begins anew and asks for one page after the other."""

    sender: AsyncSender
    call: Call
    item: Callable[[Any], T]
    """What an item of an answer becomes."""

    async def pages(self) -> AsyncIterator[list[T]]:
        """Yield the items page by page."""
        query: Mapping[str, object] = self.call.query
        while True:
            body = (await self.sender.send(replace(self.call, query=query))).body
            yield [self.item(one) for one in body["items"]]
            cursor = body.get("nextCursor")
            if not cursor:
                return
            query = {**self.call.query, "cursor": cursor}

    async def __aiter__(self) -> AsyncIterator[T]:
        async for page in self.pages():
            for one in page:
                yield one

    async def all(self) -> list[T]:
        """Return all items."""
        return [one async for one in self]

    async def first(self) -> T | None:
        """Return the first item; None if there is none."""
        async for one in self:
            return one
        return None
