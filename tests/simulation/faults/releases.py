"""Faults while two releases write the same rows."""

from dataclasses import replace
from typing import Any

import pytest

from tests.rows import releases
from tests.rows.releases import FORMER, NEXT, OTHER, WIDER, unmarked
from tests.simulation.faults.hands import Fault
from tests.simulation.world.two_releases import RawTable
from timeball.aws.dynamodb.table.shapes import Shape
from timeball.domain.model.runs.run import Run


def _drops_what_it_does_not_know(patch: pytest.MonkeyPatch) -> None:
    """An old process replaces the whole row by what it knows of it."""
    patch.setattr(Shape, "rewritten", lambda shape, row: shape.written(unmarked(shape.read(row))))


def _ignores_other_names(patch: pytest.MonkeyPatch) -> None:
    """The names of a run's attributes change, and the version says that a former release may ignore that."""
    shape = NEXT[Run]
    assert shape.still is not None
    changed = replace(shape, readers={WIDER: shape.readers[OTHER]}, still=(WIDER, shape.still[1]))
    patch.setattr(releases, "FORMER", {kind: shape for kind, shape in FORMER.items() if kind is not Run})
    patch.setattr(releases, "NEXT", {**NEXT, Run: changed})


def _lacks_a_reader(patch: pytest.MonkeyPatch) -> None:
    """A release is skipped: the one before cannot read what the next one writes."""
    patch.setattr(releases, "FORMER", {})


def _changes_rows_as_if_they_were_its_own(patch: pytest.MonkeyPatch) -> None:
    """A swap writes what differs into a row of any version."""
    write = RawTable.write

    def of_any_version(table: RawTable, writes: Any) -> Any:
        return write(
            table,
            [
                replace(one, where={name: value for name, value in one.where.items() if name != "v"})
                if hasattr(one, "where")
                else one
                for one in writes
            ],
        )

    patch.setattr(RawTable, "write", of_any_version)


FAULTS = {
    "an old process drops what it does not know of a row": Fault(
        _drops_what_it_does_not_know, "a release keeps what another one has added to a row", 3
    ),
    "new names in a row are declared as something to ignore": Fault(_ignores_other_names, "an attempt is one more", 3),
    "a release cannot read what the next one writes": Fault(
        _lacks_a_reader, "each release reads what the other one writes", 3
    ),
    "a row of another release is changed as one's own": Fault(
        _changes_rows_as_if_they_were_its_own, "attempts of a run come in order", 3
    ),
}
