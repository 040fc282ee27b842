"""How blocking calls leave the event loop: a thread in production, nothing at all under a virtual clock."""

from collections.abc import Callable
from typing import ParamSpec, Protocol, TypeVar

_P = ParamSpec("_P")
_T = TypeVar("_T")


class Offload(Protocol):
    """What `asyncio.to_thread` is."""

    async def __call__(self, work: Callable[_P, _T], /, *args: _P.args, **kwargs: _P.kwargs) -> _T:
        """Run the work and return what it returns."""
