"""Faults of the overlap lock."""

from tests.simulation.faults.hands import Fault, late, overwritten, without
from timeball.domain.model.jobs.job import Job, locked
from timeball.domain.run_ends.effects import releases
from timeball.engine.runs import effects
from timeball.ports.rows import Swap


def _parks(swap: Swap[Job]) -> bool:
    return swap.after.holder == swap.before.holder and swap.after.next_holder not in (None, swap.before.next_holder)


def _parked_behind_whoever_holds(standing: Job, swap: Swap[Job]) -> Job:
    """Let a run wait for the holder in the current row: the engine's condition is the revision of the job's row."""
    return locked(standing, standing.holder, swap.after.next_holder)


FAULTS = {
    "an end forgets the guard": Fault(
        without(effects, "EFFECTS", releases), "nobody is parked behind a run that is over"
    ),
    "parked without the holder condition": Fault(
        overwritten(_parks, _parked_behind_whoever_holds), "whose last message goes is found again", 5
    ),
    "the guard is released before the parked run is sent": Fault(
        late("queue.send", behind="jobs.swap"),
        "nothing is stuck",
        meeting="an execution that breaks off, and who is parked behind it",
    ),
}
