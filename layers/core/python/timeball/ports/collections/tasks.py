"""The tasks: one row for each id, with the current version."""

from typing import Protocol

from timeball.domain.model.ids import TaskKey
from timeball.domain.model.jobs.task import Task
from timeball.ports.collections.listing import ListQuery
from timeball.ports.collections.rows import Rows


class Tasks(Rows[TaskKey, Task], Protocol):
    """The tasks. A deleted task keeps its row, but is no longer listed."""

    def listed(self, query: ListQuery[TaskKey]) -> list[tuple[int, TaskKey]]:
        """Return up to `limit` tasks in the listing, by creation time. It may lag."""
