"""Faults of the look at what was sent: with each of them a message that is lost is a run that is lost."""

from tests.simulation.faults.hands import Apply, Fault, instead, lost
from timeball.domain.attempts.watch import Finding, find


def _taking(found: Finding, for_: Finding) -> Apply:
    return instead(find, lambda *args: for_ if (one := find(*args)) is found else one)


FAULTS = {
    "nobody watches what is sent": Fault(lost("queue.watch"), "nothing is stuck", 6),
    "a lost run is not sent again": Fault(_taking(Finding.LOST, Finding.ON_ITS_WAY), "nothing is stuck", 26),
    "a run that is on its way is looked at no more": Fault(
        _taking(Finding.ON_ITS_WAY, Finding.KEPT),
        "nothing is stuck",
        meeting="an execution that breaks off, and a purge",
    ),
    "a run is looked at once": Fault(lost("queue.watch", lambda watch: watch.look > 1), "nothing is stuck", 30),
    "an end whose message was lost has no effects": Fault(
        _taking(Finding.OVER, Finding.KEPT),
        "a job ends with its final run",
        meeting="an execution that breaks off, and a purge",
    ),
}
