"""A whole Timeball over two mocked tables: the API, scans, an executor and targets, from one moment to the next.

The last part of a target's path is the status of its answers, and `/long` answers at length.
"""

import itertools
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, cast

from tests.api.client import Api
from tests.contract.backends import MotoPosts, MotoTable, thin_client
from tests.engine.play import NotingCaller, Play
from timeball.aws.dynamodb.store import store_over
from timeball.aws.dynamodb.table.collection import TableAccess
from timeball.aws.dynamodb.table.mapper import Mapper
from timeball.aws.dynamodb.table.queries import TableReader
from timeball.aws.dynamodb.table.schema import JOBS, TENANTS
from timeball.aws.dynamodb.table.shapes import SHAPES, Shapes
from timeball.aws.dynamodb.table.writes import Writer, to_values
from timeball.aws.dynamodb.tenants import dynamo_tenants
from timeball.aws.request_retries import PATIENTLY
from timeball.domain.model.ids import RunId
from timeball.domain.model.jobs.job import Priority
from timeball.domain.model.terms.target import HttpTarget
from timeball.domain.time.instants import SECOND_MS
from timeball.engine.context import Rules
from timeball.engine.events.receive import receive
from timeball.engine.scanning.buckets import Sweeps
from timeball.engine.scanning.eras import note_era
from timeball.engine.scanning.scan import scan
from timeball.ports.due_index import Owner
from timeball.ports.store import Store
from timeball.ports.target import Answer, Call
from timeball.targets.http.verdict import answered

Row = dict[str, Any]
LONG = '{"answer": "' + "ä long text, " * 40 + '"}'


def store_of(table: MotoTable, shapes: Shapes = SHAPES) -> Store:
    """Return the store of a release over a table. The ids of its writes are counted."""
    client, pool = thin_client("dynamodb", MotoPosts("dynamodb")), ThreadPoolExecutor(1)
    reader, writer = (
        TableReader(client, table.name, PATIENTLY),
        Writer(client, table.name, pool, PATIENTLY, in_batches=False),
    )
    ids = (f"{number:08x}" for number in itertools.count(1))
    return store_over(TableAccess(reader, writer, Mapper(), pool, lambda: next(ids), shapes))


class SayingCaller(NotingCaller):
    """A target that answers with the status that its path names."""

    async def call(self, call: Call) -> Answer:
        target, at = call.work.target, self.clock.now()
        self.calls.append((at, call))
        said = target.url.rpartition("/")[2] if isinstance(target, HttpTarget) else ""
        await self.clock.sleep_until(at + 40)
        return answered(
            call, at, self.clock.now(), int(said) if said.isdigit() else 200, LONG if said == "long" else "{}"
        )


@dataclass(frozen=True)
class Tables:
    """The two tables, which are emptied for each world."""

    jobs: MotoTable
    tenants: MotoTable

    @classmethod
    def new(cls) -> "Tables":
        """Create them: within `moto()`, and once."""
        return cls(MotoTable(JOBS), MotoTable(TENANTS))

    def fill(self, rows: Mapping[str, Iterable[Row]]) -> None:
        """Replace all rows."""
        for name, table in (("jobs", self.jobs), ("tenants", self.tenants)):
            table.replace({})
            for row in rows.get(name, ()):
                table.client.put_item(TableName=table.name, Item=to_values(row))

    def rows(self) -> dict[str, list[Row]]:
        """Copy all rows, in the order of their keys."""
        return {
            name: sorted(table.rows(), key=lambda row: (row["pk"], row["sk"]))
            for name, table in (("jobs", self.jobs), ("tenants", self.tenants))
        }


class World:
    """One Timeball. `api` is its API, and `play` has its queues, its clock and its target."""

    def __init__(self, tables: Tables, at: int, shapes: Shapes = SHAPES) -> None:
        self.tables, self.store = tables, store_of(tables.jobs, shapes)
        self.play = Play(self.store, at, Rules())
        tenants = dynamo_tenants(thin_client("dynamodb", MotoPosts("dynamodb")), tables.tenants.name)
        self.api = Api(cast("Any", self.store), self.play.clock, cast("Any", tenants), counts=True)
        self.play.queue, self.play.tally = self.api.queue, self.api.tally
        self.play.caller = self.caller = SayingCaller(self.play.clock, executions=self.play.executions)
        self.sweeps = Sweeps()

    def send(self, method: str, path: str, body: object = None, **also: Any) -> Any:
        """Send a request that succeeds, and return the body of its answer."""
        answer = self.api.call(method, path, body, **also)
        assert answer.status < 300, f"{method} {path}: {answer.text}"
        return answer.body

    def create(self, path: str, **fields: object) -> str:
        """Create a job whose target has a path, and return its id."""
        return str(self.send("POST", "/v1/jobs", {"handler": f"https://shop.example/{path}", **fields})["jobId"])

    @property
    def now(self) -> int:
        return self.play.clock.now()

    def moment(self) -> None:
        """Let everything happen that may happen now: ticks, events, calls."""
        note_era(self.play.context())
        messages, self.api.bus.queue = self.api.bus.queue, []
        receive(self.play.context(), self.api.bus, messages)
        for _ in range(50):
            done = scan(self.play.context(), 0, Owner("2026-11-21T09:30:00Z", "loop"), self.sweeps)
            executed = [self.play.execute_next() for _ in range(20)]
            if not done.backlog and not any(executed):
                break
        self.play.watch()
        self.api.flush()

    def run_until(self, at: int) -> None:
        """Go from one moment to the next."""
        self.moment()
        while self.now < at:
            waits = [visible_at for _, visible_at in self.play.messages()]
            waits += [watch.at for watch in self.play.queue.watches]
            waits += [
                row["due_at"] - self.play.rules.lookahead_ms for row in self.tables.jobs.rows() if "due_at" in row
            ]
            following = min((one for one in waits if one > self.now), default=at)
            self.play.clock.advance(max(SECOND_MS, min(following, at) - self.now))
            self.moment()

    def sent(self) -> list[list[str]]:
        """Return the messages that wait in each queue: the tenant and the run."""
        return [[run.job.tenant, str(run)] for priority in Priority for run, _ in self.play.queue.waiting(priority)]

    def send_again(self, messages: Iterable[Iterable[str]]) -> None:
        """Put messages back into the queues, as they were before another process read its first."""
        named = [RunId.parse(*one) for one in messages]
        runs = self.store.runs.read([run for run in named if run is not None])
        self.play.queue.send([run for run in runs if run is not None], self.now)
