"""Faults of the overlap lock."""

from tests.simulation.faults.hands import Fault, late, overwritten, without
from timeball.domain.model.jobs.job import Job, locked
from timeball.domain.run_ends.effects import releases
from timeball.engine.runs import effects
from timeball.ports.rows import Swap


def _parks(swap: Swap[Job]) -> bool:
    return swap.after.holder == swap.before.holder and swap.after.next_holder not in (None, swap.before.next_holder)


def _parked_behind_any_holder(standing: Job, swap: Swap[Job]) -> Job:
    """Let a run wait for the holder in the current row: the engine's condition is the revision of the job's row."""
    return locked(standing, standing.holder, swap.after.next_holder)


FAULTS = {
    "an end keeps the overlap lock": Fault(
        without(effects, "EFFECTS", releases), "no run waits for the lock of a run that is over"
    ),
    "a run waits for the lock of a run that is over": Fault(
        overwritten(_parks, _parked_behind_any_holder), "a run without a message is found again", 22
    ),
    "the lock is released before the next holder is sent": Fault(
        late("queue.send", behind="jobs.swap"),
        "nothing is stuck",
        meeting="an execution that breaks off, and the run that waits for its lock",
    ),
}
