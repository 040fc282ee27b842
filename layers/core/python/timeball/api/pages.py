"""The address of a job, run or cycle in the console, in answers about it.

A model says which page of the console shows it; the text of an answer has its address below the console that the
request's caller can reach: that of a setting, or the one on the host of the request.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Annotated, Final

from pydantic import BeforeValidator, PlainSerializer

from timeball.domain.model.pages import page_of_job, page_of_run

_BELOW: ContextVar[str | None] = ContextVar("console", default=None)
"""The console's address during a request; None: there is none."""


CONSOLE_URL: Final = "Its page in the console; null if none is deployed."


def _address(page: str) -> str | None:
    below = _BELOW.get()
    return None if below is None else below + page


_Address: Final = PlainSerializer(_address, return_type=str | None)
ConsoleOfJob = Annotated[str, BeforeValidator(page_of_job), _Address]
"""The address of a job; made from its id."""
ConsoleOfRun = Annotated[str, BeforeValidator(page_of_run), _Address]
"""The address of a run; made from its id."""
ConsoleOf = Annotated[str, _Address]
"""The address of a page."""


@contextmanager
def addresses_below(console: str | None) -> Iterator[None]:
    """Make the answers within this context name their pages below the address of a console; None: name none."""
    token = _BELOW.set(console)
    try:
        yield
    finally:
        _BELOW.reset(token)


def console_of(setting: str | None, headers: Mapping[str, str], base: str) -> str | None:
    """Return the console's address for a request; None without a console.

    `setting` is its address, or empty: then it is on the host of the request, below the API's base path.
    """
    if setting != "":
        return setting
    host = headers.get("host")
    return None if not host else f"{headers.get('x-forwarded-proto', 'https')}://{host}{base}/console"
