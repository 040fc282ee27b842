"""Drills in which a part of the deployment is gone, or out of reach."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from tests.drills.deployment import CANARY, Broken, Deployment
from tests.drills.drill import Drill, on_time
from timeball.domain.time.instants import SECOND_MS
from timeball.ports.due_index import DueQuery

_LONG = (1.5, 14, 6)
"""For alarms that need two runs of the canary."""


def _breaks(broken: Broken) -> Callable[[Deployment], None]:
    return lambda deployment: setattr(deployment, "broken", broken)


def _index_refused(_: str, name: str, items: Sequence[object], shards: Sequence[int]) -> bool:
    return name == "due.query" and any(isinstance(one, DueQuery) and one.shard in shards for one in items)


def _table_refused(_: str, name: str, items: Sequence[object]) -> bool:  # noqa: ARG001
    return not name.startswith(("queue.", "inbox."))


def _watch_resends_nothing_in_vain(deployment: Deployment, from_at: int, to_at: int) -> Iterator[str]:
    yield from on_time("normal")(deployment, from_at, to_at)
    if sum(deployment.series.between("RunsUnclaimed", from_at, to_at)):
        yield "a run was found unclaimed"


def _canary_is_caught_up(deployment: Deployment, from_at: int, to_at: int) -> Iterator[str]:  # noqa: ARG001
    came = [at for at, call in deployment.calls if call.run.job == CANARY and at >= to_at]
    if not came or came[0] > to_at + 10 * SECOND_MS:
        yield "the canary was not caught up at once"


DRILLS: Sequence[Drill] = (
    Drill("calm", "nothing", _breaks(Broken()), {}, "all runs are on time", on_time("normal")),
    Drill(
        "ticker-gone",
        "the ticker: no partition ticks",
        _breaks(Broken(partitions={0, 1, 2, 3})),
        {"TickSilent": 300, "Down": 300},
        "missed fires run or are skipped as `catchUp` says; the canary comes at once when it is over",
        _canary_is_caught_up,
        minutes=_LONG,
    ),
    Drill(
        "scans-fail",
        "the due index: each query of it fails",
        _breaks(Broken(refuses=partial(_index_refused, shards=range(4)))),
        {"TickSilent": 300, "Down": 300},
    ),
    Drill(
        "table-unreachable",
        "the table: each request fails",
        _breaks(Broken(refuses=_table_refused)),
        {"TickSilent": 300, "Down": 300},
    ),
    Drill(
        "partition-gone",
        "one partition of two: it does not tick",
        _breaks(Broken(partitions={1})),
        {"PartitionSilent": 240},
        "the runs of the other partition are on time",
    ),
    Drill(
        "partition-fails",
        "one partition of two: its part of the due index cannot be read, so each of its scans fails",
        _breaks(Broken(refuses=partial(_index_refused, shards=(1, 3)))),
        {"PartitionSilent": 240},
        "the runs of the other partition are on time",
    ),
    Drill(
        "executors-gone",
        "the executors: none takes a message",
        _breaks(Broken(executors=True)),
        {"NoHands": 300, "Down": 300},
    ),
    Drill(
        "queues-unreachable",
        "the region's queues: nothing can be sent or received",
        _breaks(Broken(queues=True)),
        {"Behind": 300},
    ),
    Drill(
        "watch-gone",
        "the watch: its queue is not read",
        _breaks(Broken(watch=True)),
        {"WatchSilent": 960},
        "all runs are on time: only lost messages would stay lost",
        _watch_resends_nothing_in_vain,
        minutes=(1.5, 17, 6),
    ),
    Drill(
        "canary-gone",
        "the canary's function: its runs succeed, and it records nothing",
        _breaks(Broken(canary=True)),
        {"CanaryMissed": 780, "Down": 780},
        "all runs are on time",
        on_time("normal"),
        minutes=_LONG,
    ),
)
