"""The shapes of rows: the version in which this release writes each kind of row, and how it reads other versions.

A row carries the version of its shape as `v`; a row without one is of version 1. A change that processes of the former
release may ignore raises the version by one, any other change to the next hundred (1, 2, 100, 101, 200): within a
hundred a process reads newer rows as if they were its own, and keeps what it does not know. It refuses to read a row of
a later hundred, and leaves it to a process that knows it. CONTRIBUTING.md says how a row's shape changes.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from timeball.aws.dynamodb.table.codec import Item
from timeball.ports.errors import UnavailableError

Turn = Callable[[Item], Item]
"""From a whole row of one version to the same row of another. It changes neither keys nor attributes of indexes."""

_TOGETHER: Final = 100
"""The versions of one hundred can be read by all processes that know one of them."""


class NewerRowError(UnavailableError):
    """A newer release has written a row in a shape that this one does not know."""


@dataclass(frozen=True)
class Shape:
    """The shape of one kind of row."""

    version: int = 1
    """The version of this release's code: the fields of the kind's dataclass."""
    readers: Mapping[int, Turn] = field(default_factory=dict)
    """How a row of each other version becomes one of this version."""
    still: tuple[int, Turn] | None = None
    """The version that is still written, and how a row becomes one of it: the former release reads no other."""

    def read(self, row: dict[str, Any]) -> dict[str, Any]:
        """Return a row as one of this release's version. Raises NewerRowError."""
        version = row.get("v", 1)
        if version == self.version:
            return row
        if (reader := self.readers.get(version)) is not None:
            return {**reader(row), "v": self.version}
        if self._may_ignore(version):
            return row
        raise NewerRowError(f"{row.get('pk')} {row.get('sk')} has version {version}, this release knows {self.version}")

    def written(self, item: Item) -> Item:
        """Return an item of this release's version as it is written."""
        version, turn = self.still or (self.version, None)
        return {**(turn(item) if turn else item), "v": version}

    def rewritten(self, row: dict[str, Any]) -> Item:
        """Return a stored row of any known version as it is written today; one that is only newer stays as it is."""
        version = row.get("v", 1)
        is_kept = version not in self.readers and self._may_ignore(version)
        return row if is_kept else self.written(self.read(row))

    def _may_ignore(self, version: int) -> bool:
        return self.still is None and version > self.version and version // _TOGETHER == self.version // _TOGETHER


FIRST: Final = Shape()
Shapes = Mapping[type, Shape]

SHAPES: Final[Shapes] = {}
"""The shapes of all kinds of rows that have changed since the first release, by the type of their values."""
