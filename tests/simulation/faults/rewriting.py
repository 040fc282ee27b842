"""Faults that write rows again and again, and that watch finished runs."""

from typing import Any

from tests.simulation.faults.hands import Fault, instead
from timeball.domain.attempts.watch import Finding, find
from timeball.domain.model.runs.run import Run
from timeball.domain.model.runs.transitions import frozen


def _due_at_once(run: Run, _: int) -> Run:
    return frozen(run, run.not_before)


def _never_over(*asked: Any) -> Finding:
    found = find(*asked)
    return Finding.ON_ITS_WAY if found is Finding.OVER else found


FAULTS = {
    "a run that a freeze holds is due at once": Fault(
        instead(frozen, _due_at_once), "no row is rewritten without end", 32
    ),
    "a watch goes on reading a run that is over": Fault(
        instead(find, _never_over), "no run that is over is watched for long", 2
    ),
}
