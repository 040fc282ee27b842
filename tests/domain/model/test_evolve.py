"""`evolve` returns the same as `dataclasses.replace`, for every class of the package."""

import dataclasses
import functools
import importlib
import pkgutil
import sys
from collections.abc import Callable

import pytest

import timeball.domain
import timeball.engine
from tests.contract import rows
from timeball.domain.model.evolve import evolve
from timeball.domain.model.runs.run import RunState

CLASSES = sorted(
    {
        kind
        for package in (timeball.domain, timeball.engine)
        for found in pkgutil.iter_modules(package.__path__, f"{package.__name__}.")
        for kind in vars(importlib.import_module(found.name)).values()
        if isinstance(kind, type) and dataclasses.is_dataclass(kind) and kind.__module__.startswith("timeball.")
        if "__slots__" not in vars(kind)  # `evolve` refuses classes with slots
    },
    key=lambda kind: f"{kind.__module__}.{kind.__name__}",
)


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_a_copy_that_skips_the_constructor_misses_nothing(kind: type) -> None:
    assert not hasattr(kind, "__post_init__")
    assert all(field.init for field in dataclasses.fields(kind))
    assert not [name for name, value in vars(kind).items() if isinstance(value, functools.cached_property)]


def test_a_changed_value_differs_only_in_its_changes_and_the_old_value_stays() -> None:
    before = rows.run()
    after = evolve(before, state=RunState.RUNNING, revision=7)
    assert after == dataclasses.replace(before, state=RunState.RUNNING, revision=7)
    assert before == rows.run()
    with pytest.raises(dataclasses.FrozenInstanceError):
        after.revision = 8  # type: ignore[misc]


def test_an_unknown_field_is_refused() -> None:
    with pytest.raises(TypeError, match="Run has no field revisoin"):
        evolve(rows.run(), revisoin=1)  # type: ignore[call-arg]


def test_a_value_with_slots_is_refused() -> None:
    @dataclasses.dataclass(frozen=True, slots=True)
    class Narrow:
        width: int

    with pytest.raises(TypeError):
        evolve(Narrow(1), width=2)


def test_it_calls_no_function_for_each_field_unlike_replace() -> None:
    before = rows.run()
    fields = len(dataclasses.fields(before))
    assert _calls(lambda: evolve(before, revision=7)) < 10 < fields
    assert _calls(lambda: dataclasses.replace(before, revision=7)) > fields


def _calls(change: Callable[[], object]) -> int:
    """Count the functions that are called, including builtins."""
    events: list[str] = []
    sys.setprofile(lambda _frame, event, _argument: events.append(event))
    try:
        change()
    finally:
        sys.setprofile(None)
    return events.count("call") + events.count("c_call")
