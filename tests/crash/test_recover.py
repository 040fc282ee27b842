"""A recovery is stopped at every point, and repeated: what was lost runs or is in doubt, and is not called again."""

from collections import Counter
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from tests.engine.operations.operations import operation, standing
from tests.engine.play import NOW, Play, spec
from tests.engine.service import Service
from timeball.domain.model.ids import JobKey, Origin, RunId
from timeball.domain.model.jobs.job import Guarantee, JobStatus
from timeball.domain.model.reason import Reason
from timeball.domain.operation import OperationAction, OperationStatus
from timeball.domain.time.schedule import At, Every, Schedule
from timeball.engine.operations.operation import create_operation
from timeball.testing.faults import Crash, Points

POINTS = 24
"""At least as many as a recovery of these jobs has in its request; the scan goes on behind the last one."""

_ONCE, _OFTEN, _ENDED, _SINGLE = (JobKey("acme", name) for name in ("once", "often", "ended", "single"))


@pytest.mark.parametrize("at", range(POINTS))
def test_a_recovery_that_dies_anywhere_is_completed_by_its_repeat(at: int) -> None:
    with Service(Play()) as service:
        play = service.play
        store: Any = play.store
        once = replace(spec("once", Every(20, NOW)), delivery=Guarantee.AT_MOST_ONCE)
        ended = spec("ended", Schedule(Every(10, NOW), max_runs=2))
        play.store_jobs([once, spec("often", Every(20, NOW)), ended, spec("single", At(NOW + 5_000))])
        service.until(NOW + 30_000)
        assert play.job(_ENDED).status is play.job(_SINGLE).status is JobStatus.COMPLETED
        lost = [RunId(key, NOW + 20_000, Origin.SCHEDULE) for key in (_ONCE, _OFTEN)]
        lost += [RunId(_ENDED, NOW + 10_000, Origin.SCHEDULE), RunId(_SINGLE, NOW + 5_000, Origin.SCHEDULE)]
        for one in lost:
            del store.runs[one]
        play.queue.purge()
        asked = replace(operation(OperationAction.RECOVER, play.clock.now()), since=NOW)
        with suppress(Crash):
            create_operation(play.context(Points(at)), asked)
        create_operation(play.context(), asked)
        service.until(NOW + 50_000)
        assert standing(play).status is OperationStatus.SUCCEEDED
        doubtful = [store.runs[one].reason is Reason.RECOVERY_IN_DOUBT for one in lost]
        assert doubtful == [True, False, False, True]
        assert all(store.runs[one].is_terminal for one in lost)
        called = Counter(call.run for _, call in service.target.calls)
        assert [called[one] for one in lost] == [1, 2, 2, 1]
        service.until(NOW + 150_000)
        assert play.job(_ENDED).status is JobStatus.COMPLETED
