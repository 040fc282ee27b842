"""Faults of lists of runs: a failure is missing, or a run comes twice."""

from tests.simulation.faults.hands import Fault, instead
from timeball.domain.model.runs.notable import is_notable
from timeball.domain.model.runs.run import Run, RunState


def _has_no_entry_of_failures(run: Run) -> bool:
    return run.state is not RunState.FAILED and is_notable(run)


FAULTS = {
    "a failed run has no entry in the index": Fault(
        instead(is_notable, _has_no_entry_of_failures), "a failed run is listed two seconds later", 4
    ),
}
