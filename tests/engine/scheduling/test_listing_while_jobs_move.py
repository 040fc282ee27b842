"""A listing during pauses, resumes and cancels of its jobs, over an index that lags behind."""

from collections.abc import Collection
from random import Random

import pytest

from tests.engine.play import NOW, Play, spec
from tests.simulation.world.store import Blur, LaggingStore
from timeball.domain.model.ids import JobKey
from timeball.domain.model.jobs.job import JobStatus
from timeball.domain.time.instants import SECOND_MS
from timeball.domain.time.schedule import Every
from timeball.engine.changes.change import cancel, pause, resume
from timeball.engine.scheduling.list_jobs import JobFilter, list_jobs

JOBS = 30
SETTLES_MS = 10 * SECOND_MS


class Moving:
    """Jobs of which a third is never changed, a third is paused and resumed, and a third may be cancelled, too."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)  # noqa: S311 - a seed
        self.play = Play()
        self.store = LaggingStore(self.play.clock, self.random, Blur(self.random))
        self.play.store = self.store
        for number in range(JOBS):
            self.play.store_jobs([spec(f"job-{number}", Every(3600, NOW))], NOW + number // 3)
        self.play.clock.advance(2 * SECOND_MS)  # until the index shows all jobs

    def move(self) -> None:
        """Change some jobs, and let some time pass."""
        for _ in range(3):
            number = self.random.randrange(JOBS)
            if number % 3:
                move = self.random.choice([pause, resume] if number % 3 == 1 else [pause, resume, resume, cancel])
                move(self.play.context(), [(JobKey("acme", f"job-{number}"), None)])
        self.play.clock.advance(self.random.randrange(SECOND_MS))

    def read(self, statuses: Collection[str]) -> tuple[list[str], set[str]]:
        """Read a whole listing while jobs change. Return the jobs listed, and those that matched throughout."""
        asked, after, found = JobFilter("acme", frozenset(statuses)), None, list[str]()
        meant = self._meant(statuses)
        while True:
            page = list_jobs(self.play.context(), asked, 4, after)
            found += [one.job.key.job_id for one in page.items]
            after = page.next_after
            if after is None:
                return found, meant
            self.move()
            meant &= self._meant(statuses)

    def _meant(self, statuses: Collection[str]) -> set[str]:
        """Return the jobs that match, without those that ended a moment ago."""
        now = self.play.clock.now()
        return {
            key.job_id
            for key, job in self.store.jobs.items()
            if (not statuses or job.status.value in statuses)
            and (job.status is not JobStatus.CANCELLED or len(statuses) != 1 or job.updated_at < now - SETTLES_MS)
        }


@pytest.mark.parametrize(
    "statuses",
    [(), ("pending",), ("paused",), ("cancelled",), ("pending", "cancelled"), ("paused", "pending")],
    ids=lambda names: " or ".join(names) or "any",
)
def test_a_job_that_matches_throughout_a_listing_is_listed_once(statuses: tuple[str, ...]) -> None:
    for seed in range(20):
        moving = Moving(seed)
        for _ in range(4):
            moving.move()
            found, meant = moving.read(statuses)
            assert len(found) == len({*found}), seed
            assert meant <= {*found}, seed
