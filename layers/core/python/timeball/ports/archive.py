"""The archive: objects that outlive the rows they are about."""

from collections.abc import Sequence
from typing import Protocol

from timeball.domain.archive import ArchiveObject


class Archive(Protocol):
    """Where objects are kept. An object with the key of another replaces it."""

    def put(self, objects: Sequence[ArchiveObject]) -> None:
        """Keep each object. Raises UnavailableError if some may not be kept; then all of them may be put again."""
