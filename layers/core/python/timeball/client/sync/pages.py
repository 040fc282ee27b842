# Generated from aio/pages.py by `python -m docs.client`: change that instead.
"""Lists that page by themselves."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from timeball.client.calls import Call
from timeball.client.sync.sender import Sender

T = TypeVar("T")


@dataclass(frozen=True)
class Pages(Generic[T]):
    """A list of the API. Each iteration begins anew and asks for one page after the other."""

    sender: Sender
    call: Call
    item: Callable[[Any], T]
    """What an item of an answer becomes."""

    def pages(self) -> Iterator[list[T]]:
        """Yield the items page by page."""
        query: Mapping[str, object] = self.call.query
        while True:
            body = (self.sender.send(replace(self.call, query=query))).body
            yield [self.item(one) for one in body["items"]]
            cursor = body.get("nextCursor")
            if not cursor:
                return
            query = {**self.call.query, "cursor": cursor}

    def __iter__(self) -> Iterator[T]:
        for page in self.pages():
            yield from page

    def all(self) -> list[T]:
        """Return all items."""
        return list(self)

    def first(self) -> T | None:
        """Return the first item; None if there is none."""
        for one in self:
            return one
        return None
