"""Faults of the watch: with each of them a run is lost with its message."""

from collections.abc import Sequence

from tests.simulation.faults.hands import Apply, Fault, both, handed, instead, lost, through
from timeball.domain.attempts.watch import FIRST_RECHECK_MS, Finding, find
from timeball.domain.model.runs.run import Run
from timeball.engine.context import Context
from timeball.engine.runs.send import send
from timeball.ports.queue import Watch


def _taking(found: Finding, for_: Finding) -> Apply:
    return instead(find, lambda *args: for_ if (one := find(*args)) is found else one)


def _refuses_first_watches(context: Context) -> Context:
    """Return a context whose queue refuses the watch of each send, as SQS may refuse single messages of a batch."""

    def watch(watches: Sequence[Watch]) -> list[bool]:
        taken = iter(context.queue.watch([one for one in watches if one.round_number > 1]))
        return [one.round_number > 1 and next(taken) for one in watches]

    return through(context, "queue.watch", watch)


def _sends_without_a_watch(context: Context, runs: Sequence[Run], now: int) -> list[bool]:
    watched = [context.queue.watch([Watch((run.id,), max(now, run.not_before) + FIRST_RECHECK_MS)])[0] for run in runs]
    return [all(taken) for taken in zip(watched, context.queue.send(runs, now), strict=True)]


FAULTS = {
    "a run is sent without a watch": Fault(
        lost("queue.watch"), "nothing is stuck", meeting="a scan that breaks off, and a purge"
    ),
    "a run is sent though its watch was refused": Fault(
        both(handed(_refuses_first_watches), instead(send, _sends_without_a_watch)),
        "nothing is stuck",
        meeting="an execution that breaks off, and a purge",
    ),
    "a lost run is not sent again": Fault(
        _taking(Finding.LOST, Finding.ON_ITS_WAY), "nothing is stuck", meeting="a scan that breaks off, and a purge"
    ),
    "a watch forgets a run that was sent again": Fault(
        _taking(Finding.ON_ITS_WAY, Finding.KEPT),
        "nothing is stuck",
        meeting="an execution that breaks off, and a purge",
    ),
    "a watch reads a run once": Fault(
        lost("queue.watch", lambda watch: watch.round_number > 1), "nothing is stuck", 34
    ),
    "an end whose message was lost has no effects": Fault(
        _taking(Finding.OVER, Finding.KEPT),
        "a job ends with its final run",
        meeting="an execution that breaks off, and a purge",
    ),
}
