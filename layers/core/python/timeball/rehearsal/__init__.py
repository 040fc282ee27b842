"""Rehearse schedules: the real API and engine in memory, under a virtual clock, for tests of one's own jobs."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from timeball.rehearsal.answers import Canned, NoAnswer, ReportsLater
    from timeball.rehearsal.calls import Called, Calls
    from timeball.rehearsal.errors import RehearsalError
    from timeball.rehearsal.rehearsal import Rehearsal

__all__ = ["Called", "Calls", "Canned", "NoAnswer", "Rehearsal", "RehearsalError", "ReportsLater"]

_MODULES = {
    "Called": "calls",
    "Calls": "calls",
    "Canned": "answers",
    "NoAnswer": "answers",
    "Rehearsal": "rehearsal",
    "RehearsalError": "errors",
    "ReportsLater": "answers",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401 - whatever has the name
    """Import a name when it is asked for: every run of pytest loads this package, and few tests rehearse."""
    if name not in _MODULES:
        raise AttributeError(f"timeball.rehearsal has no {name}")
    from importlib import import_module  # noqa: PLC0415 - as above

    return getattr(import_module(f"timeball.rehearsal.{_MODULES[name]}"), name)
