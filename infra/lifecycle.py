"""The function of lifecycle events, which the stream of the jobs table feeds, and which puts events onto the bus."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from aws_cdk import Duration
from constructs import Construct

from infra.bus import Bus
from infra.functions import FunctionBounds, FunctionMaker, allow
from infra.queues import Queues
from infra.settings import Settings
from infra.storage import Storage
from infra.stream import WRITES, feed

_BEGINS_WITH: Final = "prefix"
_ENDS: Final = frozenset({"job.paused", "job.completed", "job.failed", "job.skipped", "job.cancelled"})
"""The types of which a job's row has the status, so that a filter finds them."""

_MOST_RECORDS: Final = 1_000
"""A batch has at most a second of a shard, so no tenant's flood holds up others for longer than one batch."""


class LifecycleFunction(Construct):
    """The function of lifecycle events. It reads and writes no table."""

    def __init__(
        self, scope: Construct, construct_id: str, maker: FunctionMaker, storage: Storage, queues: Queues, bus: Bus
    ) -> None:
        super().__init__(scope, construct_id)
        settings = maker.settings
        environment = {**maker.environment, "TIMEBALL_LIFECYCLE_BUS": bus.name}
        self.function = replace(maker, environment=environment).make(
            self,
            "lifecycle",
            "lifecycle",
            about="Puts lifecycle events of runs and jobs onto the bus",
            bounds=FunctionBounds(
                Duration.minutes(1),
                memory_mb=1024,
                why="Turns up to a thousand records into events within a second; no run and no caller waits for it",
            ),
        )
        allow(self.function, ["events:PutEvents"], [bus.arn])
        feed(
            self,
            self.function,
            storage,
            queues,
            patterns=[*patterns(settings)],
            most=_MOST_RECORDS,
            gathering=Duration.seconds(1),
        )


def patterns(settings: Settings) -> Iterator[Mapping[str, Any]]:
    """Yield the writes that the function is given: those that may have an event of a wanted type."""
    wanted, states = settings.functions.lifecycle_types, settings.functions.lifecycle_states
    if states:
        yield _writes([{_BEGINS_WITH: "RUN#"}], {"state": {"S": states}})
    jobs = sorted(name for name in wanted if name.startswith("job."))
    if jobs:
        statuses = [name.removeprefix("job.") for name in jobs] if _ENDS.issuperset(jobs) else []
        yield _writes(["JOB"], {"status": {"S": statuses}} if statuses else {})


def _writes(sk: list[Any], image: Mapping[str, Any]) -> Mapping[str, Any]:
    return {
        "eventName": WRITES,
        "dynamodb": {"Keys": {"sk": {"S": sk}}, **({"NewImage": image} if image else {})},
    }
