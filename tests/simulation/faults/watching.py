"""Faults of the look at what was sent: with each of them a message that is lost is a run that is lost."""

from collections.abc import Callable
from dataclasses import replace

import timeball.engine.runs.send as sending
import timeball.engine.runs.watch as watching
from tests.simulation.faults.patching import Fault, Patch
from timeball.domain.policy.watch import Finding, find


def _nobody_watches_what_is_sent(patch: Patch) -> None:
    watches = sending._watches
    patch.setattr(sending, "_watches", lambda *args: (replace(one, runs=()) for one in watches(*args)))


def _taking(found: Finding, for_: Finding) -> Callable[[Patch], None]:
    def apply(patch: Patch) -> None:
        patch.setattr(watching, "find", lambda *args: for_ if (one := find(*args)) is found else one)

    return apply


def _there_is_one_look(patch: Patch) -> None:
    patch.setattr(watching, "_following", lambda *_: None)


FAULTS = {
    "nobody watches what is sent": Fault(_nobody_watches_what_is_sent, "nothing is stuck"),
    "a lost run is not sent again": Fault(_taking(Finding.LOST, Finding.ON_ITS_WAY), "nothing is stuck"),
    "a run that is on its way is looked at no more": Fault(
        _taking(Finding.ON_ITS_WAY, Finding.KEPT),
        "nothing is stuck",
        meeting="an execution that breaks off, and a purge",
    ),
    "a run is looked at once": Fault(_there_is_one_look, "nothing is stuck"),
    "an end whose message was lost has no effects": Fault(
        _taking(Finding.OVER, Finding.KEPT),
        "a job ends with its final run",
        meeting="an execution that breaks off, and a purge",
    ),
}
