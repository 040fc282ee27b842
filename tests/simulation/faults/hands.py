"""Ways to put a fault into the engine: replace the ports that its verbs get, or a public function that they call.

A hand makes the ports of each process break their contract: a write is lost, late, changed or unconditional; an answer
is wrong. The other way replaces a public function. No fault names anything private, because the implementation of a
verb is its own.
"""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any

import pytest

from tests.simulation.story import Story
from timeball.domain.model.ids import JobKey
from timeball.domain.model.jobs.job import Job
from timeball.engine.context import Context
from timeball.ports.errors import UnavailableError
from timeball.ports.rows import Swap, Swapped

Apply = Callable[[pytest.MonkeyPatch], None]
Hand = Callable[[Context], Context]

_ENGINE = (
    "timeball.",
    "functions.",
    "tests.simulation.actors.",
    "tests.simulation.meetings",
    "tests.simulation.scenes",
    "tests.simulation.world.receiver",
)
"""The modules in which a function is replaced: the engine and its callers, but not the modules with checks."""


@dataclass(frozen=True)
class Fault:
    """A broken rule of the engine, and the sentence of the check that finds it.

    The check finds it in a scene, in a meeting, or in stories, such as that of `seed` when this was written.
    """

    apply: Apply
    found_by: str
    seed: int = 0
    meeting: str | None = None
    scene: str | None = None

    @property
    def is_scripted(self) -> bool:
        """Whether a script shows it, whatever the seeds of stories tell."""
        return self.meeting is not None or self.scene is not None

    def is_told_by(self, complaint: str) -> bool:
        """Return whether a complaint is of the check that must find this fault."""
        return complaint.startswith(f"{self.found_by}: ")


def both(*faults: Apply) -> Apply:
    """Apply two faults, each of which the other's rule would repair if it were alone."""

    def apply(patch: pytest.MonkeyPatch) -> None:
        for fault in faults:
            fault(patch)

    return apply


def instead(of: Callable[..., Any], do: Callable[..., Any], within: ModuleType | None = None) -> Apply:
    """Replace a public function wherever the engine has it by that name, or only within one module."""
    name = of.__name__

    def apply(patch: pytest.MonkeyPatch) -> None:
        modules = [module for path, module in [*sys.modules.items()] if path.startswith(_ENGINE)]
        for module in [within] if within else modules:
            if vars(module).get(name) is of:
                patch.setattr(module, name, do)

    return apply


def without(module: ModuleType, name: str, applies: Callable[..., bool]) -> Apply:
    """Leave out one member of a list of gates or effects: the one that `applies` so."""
    return lambda patch: patch.setattr(
        module, name, tuple(one for one in vars(module)[name] if one.applies is not applies)
    )


def given(owner: object, name: str, value: object) -> Apply:
    """Replace a public method of a class, or a constant of a module."""
    return lambda patch: patch.setattr(owner, name, value)


def handed(hand: Hand) -> Apply:
    """Give each process of a story a changed context."""
    return lambda patch: patch.setattr(Story, "hand", lambda _, context: hand(context))


def through(context: Context, port: str, method: Callable[..., Any]) -> Context:
    """Return a context in which one method of a port, such as "runs.read", is replaced."""
    owner, _, name = port.partition(".")
    if owner == "queue":
        queue: Any = _Through(context.queue, name, method)
        return replace(context, queue=queue)
    rows: Any = {owner: _Through(getattr(context.store, owner), name, method)}
    return replace(context, store=replace(context.store, **rows))


def answered(port: str, change: Callable[[Any], Any]) -> Apply:
    """Apply a change to the answers of a port's method, such as "runs.read"."""
    return _handing(port, lambda _, method: lambda *args, **kwargs: change(method(*args, **kwargs)))


def lost(port: str, which: Callable[[Any], bool] = lambda _: True) -> Apply:
    """Lose writes, and answer that they are done."""
    return _handing(
        port, lambda _, method: lambda items, *now: _but(port, items, which, lambda kept: method(kept, *now))
    )


def late(port: str, behind: str, which: Callable[[Any], bool] = lambda _: True) -> Apply:
    """Answer that a write is done, but do it only after the next write of another port, if the process lives."""

    def hand(context: Context) -> Context:
        write, following = _method(context, port), _method(context, behind)
        waiting: list[Any] = []

        def putting_off(items: Sequence[Any], now: int) -> list[Any]:
            waiting.extend(filter(which, items))
            return _but(port, items, which, lambda kept: write(kept, now))

        def making_good(items: Sequence[Any], now: int) -> Any:
            answers = following(items, now)
            missing = [*waiting]
            waiting.clear()
            if missing:
                write(missing, now)
            return answers

        return through(through(context, port, putting_off), behind, making_good)

    return handed(hand)


def inserted(port: str, change: Callable[[Any], Any]) -> Apply:
    """Change rows before they are inserted."""
    return _handing(port, lambda _, insert: lambda rows, now: insert([change(row) for row in rows], now))


def swapped(port: str, change: Callable[[Swap[Any]], Any]) -> Apply:
    """Change what a swap writes, and answer as if the requested row was written."""

    def make(_: Context, swap_all: Callable[..., Any]) -> Callable[..., Any]:
        def swap(swaps: Sequence[Swap[Any]], now: int) -> list[Swapped[Any]]:
            answers = swap_all([Swap(one.before, change(one)) for one in swaps], now)
            return [
                Swapped(done=True, row=one.written) if answer.done else answer
                for one, answer in zip(swaps, answers, strict=True)
            ]

        return swap

    return _handing(port, make)


def believed(port: str, which: Callable[[Any, Any], bool]) -> Apply:
    """Answer that a row was inserted although another stands there, if `which` holds for the two rows."""

    def make(_: Context, insert: Callable[..., Any]) -> Callable[..., Any]:
        def insert_or_not(rows: Sequence[Any], now: int) -> list[Any]:
            standing = insert(rows, now)
            return [
                None if other is not None and which(row, other) else other
                for row, other in zip(rows, standing, strict=True)
            ]

        return insert_or_not

    return _handing(port, make)


def hoped_for(port: str, which: Callable[[Any], bool] = lambda _: True) -> Apply:
    """Answer that rows were inserted, but insert none of them."""

    def make(_: Context, insert: Callable[..., Any]) -> Callable[..., Any]:
        def hope(rows: Sequence[Any], now: int) -> list[Any]:
            try:
                return [*insert(rows, now)]
            except UnavailableError:
                if all(map(which, rows)):
                    return [None] * len(rows)
                raise

        return hope

    return _handing(port, make)


def overwritten(which: Callable[[Swap[Job]], bool], change: Callable[[Job, Swap[Job]], Job | None]) -> Apply:
    """Write a job although it has changed since its read: `change` makes the row from the current one and the swap."""

    def make(context: Context, swap_all: Callable[..., Any]) -> Callable[..., Any]:
        def anyway(swap: Swap[Job], answer: Swapped[Job], now: int) -> Swapped[Job]:
            if answer.done or not which(swap):
                return answer
            row = overwrite_job(context, swap.before.key, lambda standing: change(standing, swap), now)
            return Swapped(row is not None, row)

        def swap(swaps: Sequence[Swap[Job]], now: int) -> list[Swapped[Job]]:
            return [anyway(one, answer, now) for one, answer in zip(swaps, swap_all(swaps, now), strict=True)]

        return swap

    return _handing("jobs.swap", make)


def overwrite_job(context: Context, key: JobKey, change: Callable[[Job], Job | None], now: int) -> Job | None:
    """Write a job unconditionally, as an update without a condition would. Do not write if `change` returns None."""
    while True:
        standing = context.store.jobs.read([key])[0]
        after = None if standing is None else change(standing)
        if standing is None or after is None:
            return None
        answer = context.store.jobs.swap([Swap(standing, after)], now)[0]
        if answer.done:
            return answer.row


class _Through:
    """A port with one of its methods replaced."""

    def __init__(self, port: object, name: str, method: Callable[..., Any]) -> None:
        self._port = port
        self.__dict__[name] = method

    def __getattr__(self, name: str) -> Any:
        return getattr(self._port, name)


def _handing(port: str, make: Callable[[Context, Callable[..., Any]], Callable[..., Any]]) -> Apply:
    return handed(lambda context: through(context, port, make(context, _method(context, port))))


def _method(context: Context, port: str) -> Callable[..., Any]:
    owner, _, name = port.partition(".")
    method: Callable[..., Any] = getattr(context.queue if owner == "queue" else getattr(context.store, owner), name)
    return method


def _but(
    port: str, items: Sequence[Any], which: Callable[[Any], bool], write: Callable[[list[Any]], Sequence[Any]]
) -> list[Any]:
    """Write all items except the selected ones. Answer that each is done, unless it was refused."""
    kept = [item for item in items if not which(item)]
    answers = iter(write(kept) if kept else [])
    return [_as_done(port, item) if which(item) else next(answers) for item in items]


def _as_done(port: str, item: Any) -> Any:
    if port.endswith("insert"):
        return None
    return Swapped(done=True, row=item.written) if isinstance(item, Swap) else True
