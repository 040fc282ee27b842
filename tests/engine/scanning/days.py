"""Days of the due buckets, and a store in which some rows cannot be read."""

from collections.abc import Sequence

from tests.engine.play import NOW
from timeball.domain.model.ids import JobKey, Origin, RunId
from timeball.domain.model.jobs.job import Job
from timeball.engine.scanning.buckets import day_of
from timeball.ports.due_index import DuePage
from timeball.testing.memory_collections import MemoryJobs
from timeball.testing.memory_rows import Memory

TODAY = day_of(NOW)
KEY = RunId(JobKey("acme", "job"), NOW, Origin.SCHEDULE)
EMPTY, HELD = DuePage(()), DuePage((KEY,))


class Odd(Memory):
    """The state of a store in which some tenants' jobs are unreadable."""

    tenants: frozenset[str] = frozenset()


class OddJobs(MemoryJobs):
    _memory: Odd

    def read(self, keys: Sequence[JobKey], *, strong: bool = True, with_work: bool = False) -> list[Job | None]:
        if any(key.tenant in self._memory.tenants for key in keys):
            raise ValueError("no status of a job is called so")
        return super().read(keys, strong=strong, with_work=with_work)
