"""How blocking calls leave the event loop: in a thread in production, directly under a virtual clock."""

from collections.abc import Callable
from typing import ParamSpec, Protocol, TypeVar

_P = ParamSpec("_P")
_T = TypeVar("_T")


class Offload(Protocol):
    """The signature of `asyncio.to_thread`."""

    async def __call__(self, work: Callable[_P, _T], /, *args: _P.args, **kwargs: _P.kwargs) -> _T:
        """Run the work and return its result."""
