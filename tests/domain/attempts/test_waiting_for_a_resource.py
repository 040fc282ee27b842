"""The time that a run has waited for its host: the host's rests that it waited out, and nothing else."""

from collections.abc import Callable

import pytest

from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import JobKey, Origin, RunId
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.runs.transitions import (
    claimed,
    deferred,
    ended,
    put_off,
    reopened,
    requeued,
    retrying,
    withdrawn,
)
from timeball.domain.model.runs.values import Attempt, Guarantor, Outcome

RUN = Run(RunId(JobKey("acme", "job"), 100, Origin.SCHEDULE), RunState.QUEUED, 1, "normal", 0, 100, 100)
RESTS, PACED = Reason.CIRCUIT_OPEN, Reason.HOST_PACED
HELD = deferred(RUN, 150, RESTS, since=100)
GIVEN_UP = ended(HELD, RunState.FAILED, 900, Guarantor.MESSAGE, Reason.HOST_DOWN)
RETRY = evolve(RUN, state=RunState.RETRYING, attempt=1)
FAILED = Attempt(1, Outcome.FAILED, 10, 20, 30, 500)

# Each case: how long a run has waited for its host, and the run.
WAITS: dict[str, tuple[int, Callable[[], Run]]] = {
    "it never did": (0, lambda: RUN),
    "it waits out a rest": (50, lambda: HELD),
    "two rests, a long time apart": (80, lambda: deferred(HELD, 930, RESTS, since=900)),
    "a turn": (0, lambda: deferred(RUN, 150, PACED, since=100)),
    "a turn after a rest": (50, lambda: deferred(HELD, 990, PACED, since=150)),
    "a rest after a turn": (10, lambda: deferred(deferred(RUN, 150, PACED, since=100), 160, RESTS, since=150)),
    "a claim long after the rest": (50, lambda: claimed(HELD, "a", 900, 30)),
    "the backoff after that claim": (50, lambda: retrying(claimed(HELD, "a", 900, 30), 5000, FAILED)),
    "a retry whose message is sent again": (50, lambda: requeued(deferred(RETRY, 150, RESTS, since=100))),
    "a pause that cuts the rest": (0, lambda: withdrawn(HELD)),
    "a pause after an earlier rest": (50, lambda: withdrawn(deferred(HELD, 930, RESTS, since=900))),
    "its job let go again": (0, lambda: put_off(withdrawn(HELD), 5000, 5000, 2)),
    "its start put off after the rest": (50, lambda: put_off(HELD, 5000, None)),
    "a retry by hand": (0, lambda: reopened(GIVEN_UP, 5000)),
}


@pytest.mark.parametrize("case", WAITS)
def test_a_run_has_waited_for_its_host_as_long_as_the_rests_that_it_waited_out(case: str) -> None:
    waited_ms, run = WAITS[case]
    assert run().circuit_wait_ms == waited_ms
