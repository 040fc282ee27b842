"""The tasks: rows by their ids, the current version of each."""

from typing import Protocol

from timeball.domain.model.ids import TaskKey
from timeball.domain.model.jobs.task import Task
from timeball.ports.collections.listing import ListQuery
from timeball.ports.collections.rows import Rows


class Tasks(Rows[TaskKey, Task], Protocol):
    """The tasks. One that is deleted keeps its row: it is only listed no more."""

    def listed(self, query: ListQuery[TaskKey]) -> list[tuple[int, TaskKey]]:
        """Return up to `limit` tasks that the listing names, by when each was created. It may lag."""
