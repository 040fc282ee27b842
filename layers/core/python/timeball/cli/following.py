"""Waits for work that goes on at the API, and shows how far it is: a bar on a terminal, nothing in a pipe."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

from timeball.cli.output import terminal_of
from timeball.cli.surroundings import Surroundings

Item = Mapping[str, Any]

_FIRST_SECONDS, _LONGEST_SECONDS = 0.5, 5.0


@dataclass(frozen=True)
class Gauge:
    """How much of some work is done; without a total that is not known yet."""

    done: int
    total: int | None


def follow(
    surroundings: Surroundings,
    read: Callable[[], Item],
    is_over: Callable[[Item], bool],
    progress_of: Callable[[Item], Gauge],
    about: str,
) -> Item:
    """Read again and again until the work is over, and return what was read last."""
    wait = _FIRST_SECONDS
    with progress_bar(surroundings, about) as show:
        item = read()
        while not is_over(item):
            show(progress_of(item))
            surroundings.pause(wait)
            wait = min(_LONGEST_SECONDS, wait * 1.5)
            item = read()
        show(progress_of(item))
    return item


def progress_bar(surroundings: Surroundings, about: str) -> AbstractContextManager[Callable[[Gauge], None]]:
    """Return a context whose value shows a progress."""
    return _Bar(surroundings, about) if surroundings.stderr.isatty() else nullcontext(lambda _: None)


class _Bar(AbstractContextManager[Callable[[Gauge], None]]):
    def __init__(self, surroundings: Surroundings, about: str) -> None:
        from rich import progress  # noqa: PLC0415 - slow to load, and for a terminal only

        columns = (
            progress.TextColumn("{task.description}", markup=False),
            progress.BarColumn(),
            progress.MofNCompleteColumn(),
            progress.TimeElapsedColumn(),
        )
        self._progress = progress.Progress(*columns, console=terminal_of(surroundings, beside=True))
        self._task = self._progress.add_task(about, total=None)

    def __enter__(self) -> Callable[[Gauge], None]:
        self._progress.start()
        return lambda at: self._progress.update(self._task, completed=at.done, total=at.total)

    def __exit__(self, *_: object) -> None:
        self._progress.stop()
