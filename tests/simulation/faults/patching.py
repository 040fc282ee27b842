"""What a fault is: a patch of the engine that breaks one rule; and ways to write what the engine would not."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from timeball.domain.model.ids import JobKey
from timeball.domain.model.job import Job
from timeball.engine.context import Context
from timeball.ports.rows import Swap

Patch = pytest.MonkeyPatch


@dataclass(frozen=True)
class Fault:
    """A broken rule of the engine, and the sentence of the check that finds it.

    It does so in a meeting, or in stories, such as that of `seed` when this was written.
    """

    apply: Callable[[Patch], None]
    found_by: str
    seed: int = 0
    meeting: str | None = None

    def is_told_by(self, complaint: str) -> bool:
        """Say whether a complaint is of the check that is to find this fault."""
        return complaint.startswith(f"{self.found_by}: ")


class Through:
    """Something of the world with some of its methods replaced."""

    def __init__(self, inner: object, **methods: Callable[..., Any]) -> None:
        self._inner = inner
        self.__dict__.update(methods)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


def overwrite_job(context: Context, key: JobKey, change: Callable[[Job], Job | None], now: int) -> Job | None:
    """Write a job whatever it has become meanwhile, as an update without a condition would; None of it: do not."""
    while True:
        standing = context.store.jobs.read([key])[0]
        after = None if standing is None else change(standing)
        if standing is None or after is None:
            return None
        swapped = context.store.jobs.swap([Swap(standing, after)], now)[0]
        if swapped.done:
            return swapped.row
