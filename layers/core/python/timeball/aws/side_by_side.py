"""Make requests at the same time: in threads, except for the first, which the caller's thread makes meanwhile.

Handing a request to a thread takes more processor time than signing it, and most lists have one request.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from typing import TypeVar

_Asked = TypeVar("_Asked")
_Answer = TypeVar("_Answer")


def side_by_side(threads: Executor, ask: Callable[[_Asked], _Answer], asked: Sequence[_Asked]) -> list[_Answer]:
    """Ask for each; return the answers in order, or raise the first error among them."""
    if not asked:
        return []
    others = threads.map(ask, asked[1:]) if len(asked) > 1 else ()  # these begin now
    return [ask(asked[0]), *others]
