"""The stage of one seed's story: what all actors share, and the results.

All events are drawn from the seed alone.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field, replace
from itertools import count
from random import Random
from typing import Any

from tests.simulation.hardships import Hardships
from tests.simulation.world.bus import KeptBus
from tests.simulation.world.executions import SimulatedExecutions, seen_by
from tests.simulation.world.heat import Heat
from tests.simulation.world.process import Process, Weather, simulated
from tests.simulation.world.queue import UnrulyQueue
from tests.simulation.world.receiver import HOSTS, Receiver
from tests.simulation.world.store import Blur, LaggingStore
from tests.simulation.world.two_releases import store_of_two_releases
from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import JobKey, LimiterKey
from timeball.domain.time.instants import MINUTE_MS, SECOND_MS, parse_instant
from timeball.engine.context import Context, Rules
from timeball.engine.scanning.scan import ScanResult
from timeball.ports.rows import Swap
from timeball.testing.faults import with_outages
from timeball.testing.recorders import KeptTelemetry
from timeball.testing.virtual_clock import VirtualClock

START = parse_instant("2026-11-21T09:28:45Z")
"""A minute and a quarter before midnight on the Marquesas, so that a day of calendars ends in each story."""

MARQUESAS = "Pacific/Marquesas"
THE_DAY_BEFORE, THE_DAY = "2026-11-20", "2026-11-21"

STORM_MS = 150 * SECOND_MS

_LONG_EACH = 60
_LONG_STORM_MS = 13 * MINUTE_MS
"""Longer than any run waits for its host, and than the longest backoff after the queue gave up on a run."""

_LOSSY_EACH = 4

_TASKS_EACH = 10

_OPERATIONS_EACH = 10
_MOVES_EACH = 10
_GRAPHS_EACH = 5
_NOTICES_EACH = 10
_BLOCKS_EACH = 30
_QUOTAS_EACH = 5
_KEYS_EACH = 5
_RERUNS_EACH = 10
_REMOVALS_EACH = 20
_PIPELINES_EACH = 40
_CADENCES_EACH, _WITH_CADENCES = 40, (31, 36)
"""The first also has operations and removals, the second reruns."""
_GENERATIONS_EACH = 20
_LISTINGS_EACH = 12
_EVENTS_EACH = 10
_EVENT_GRAPHS_EACH = 30
_FLOWS_EACH = 30
_WITH_EXECUTIONS = (9, 12, 28)
_EXECUTIONS_EACH = 30
"""The first also has quotas, the second limiters, and the third tasks."""

_CALM_EXECUTORS, _CALM_LATENCY_MS = 15, 10
_CALM_MS = 20 * SECOND_MS
_TOGETHER_EACH = 10

_RULES = Rules(shards=1, host_failures=3, host_rest_seconds=3, host_retries_per_second=1, running_backfills=1)
"""A short story must meet a host that fails often, so its circuit opens soon and not for long, with few probes.

Few backfills may run at once, so that some of them wait.
"""

TARGET = "user-target-"
"""The name of a target's process, before the number of the attempt that called it."""

MOST_SKEW_MS = 500
"""The largest difference between a process's clock and the true time."""


@dataclass(frozen=True)
class Done:
    """An answer to a user (true time, ms): a verb, its job, the answer, and the request."""

    at: int
    verb: str
    job: JobKey
    answer: Any
    asked: tuple[Any, ...] = ()


@dataclass
class Story:
    """The world of one seed, its processes, the answers to users, and the jobs that users know.

    `partitions` is the number of scan loops with which the ticker begins from now on; at `repartition_at` it changes.
    `touched` is the job that was changed last; `skips` counts the requests to skip a fire of a job. The storm lasts
    until `storm_ends_at`, or until the last user is done. `idle_slots` are slots that stayed free for long, and
    `idle_turns` tokens that no run took.
    """

    seed: int
    trace: Callable[[str], None] = field(default=lambda _: None)
    done: list[Done] = field(default_factory=list)
    listings: list[Any] = field(default_factory=list)
    """The lists of runs that a user has read (actors/listings.py)."""
    jobs: list[JobKey] = field(default_factory=list)
    touched: list[JobKey] = field(default_factory=list)
    skips: Counter[JobKey] = field(default_factory=Counter)
    scanners: list[Process] = field(default_factory=list)
    executors: dict[int, Process] = field(default_factory=dict)
    users: list[Process] = field(default_factory=list)
    processes: list[Process] = field(default_factory=list)
    idle_slots: dict[LimiterKey, str] = field(default_factory=dict)
    idle_turns: dict[LimiterKey, str] = field(default_factory=dict)
    begun: list["asyncio.Task[None]"] = field(default_factory=list)
    rules: Rules = _RULES
    storm_ends_at: int = START + STORM_MS
    partitions: int = 1
    repartition_at: int | None = None
    is_calm: bool = False
    """Whether the story has its users, and no mishaps: a calm story (tests/drills/calm.py)."""
    losses: list[Any] = field(default_factory=list)
    """What was lost (world/loss.py), in stories of losses."""
    loses_since: int = 0
    loses_at: int = 0
    is_mending: bool = False
    """A loss is still to come, or an admin recovers from it."""

    def __post_init__(self) -> None:
        self.random = Random(self.seed)
        self.clock = VirtualClock(START)
        self.weather = Weather(
            fails_before=self.random.choice((0, 0.01, 0.05)),
            fails_after=self.random.choice((0, 0.01, 0.05)),
            slow=self.random.choice((0, 0.01)),
            stalls=self.random.choice((0, 0.002, 0.005)),
            cut_off=self.random.choice((0, 0.1, 0.3)),
        )
        self.telemetry = KeptTelemetry()
        hardships = self.hardships = Hardships(self.seed)
        blur = Blur(
            Random(f"what is not seen as it is of {self.seed}"),
            hardships.has_lagging_lines,
            hardships.has_old_reads,
            hardships.has_short_pages,
        )
        self.store = (
            store_of_two_releases(self.seed, self.clock, self._new_random(), blur)
            if hardships.has_two_releases and not self.has_losses
            else LaggingStore(self.clock, self._new_random(), blur)
        )
        self.rules = replace(self.rules, runs_per_message=5 if self.sends_together else 1)
        refusals = Random(f"what is refused of {self.seed}") if hardships.has_refused_sends else None
        self.queue = UnrulyQueue(self.clock, self._new_random(), self.rules.lead, self.rules.runs_per_message, refusals)
        self.heat = Heat(Random(f"what is hot of {self.seed}"))
        self.receiver = Receiver(self.clock, self._new_random())
        self.names, self.requests = count(1), count(1)
        if self.is_long:
            self.storm_ends_at = START + _LONG_STORM_MS
            self.rules = replace(self.rules, host_rest_seconds=30)
            self.queue.uncarried = 0.1
            self.receiver.down_until[HOSTS[0]] = self.storm_ends_at
        self.task_draw = Random(f"the tasks of {self.seed}")
        self.operation_draw = Random(f"the operations of {self.seed}")
        self.limits_draw = Random(f"the changed limits of {self.seed}")
        self.terms_draw = Random(f"the terms of executors of {self.seed}")
        self.event_draw = Random(f"the events of {self.seed}")
        mishaps = Random(f"what the bus does to events of {self.seed}") if hardships.has_flaky_bus else None
        self.bus = KeptBus(self.clock, self.event_draw, mishaps)
        self.executions_draw = Random(f"the jobs with executions of {self.seed}")
        self.executions = SimulatedExecutions(self.clock, Random(f"the executions of {self.seed}"))
        self._draw_partitions(Random(f"the partitions of {self.seed}"))
        if self.is_calm:
            until, self.executions.all_succeed = self.storm_ends_at, True
            self.calm_down()
            self.storm_ends_at, self.weather.latency_ms, self.receiver.takes_ms = until, _CALM_LATENCY_MS, (10, 200)

    def _draw_partitions(self, draw: Random) -> None:
        """Give half of the stories several shards; half of those also change the number of their partitions."""
        shards = draw.choice((1, 1, 2, 3))
        self.rules = replace(self.rules, shards=shards)
        self.partitions = draw.randrange(1, shards + 1)
        if self.hardships.has_fewer_shards:
            self.store.due.most_shards(shards)  # as in the previous deployment
        if shards > 1 and draw.random() < 0.5:
            self.repartition_at = draw.randrange(START, self.storm_ends_at)

    def repartition(self) -> None:
        """Let the ticker begin with another number of partitions from now on."""
        self.partitions = self.partitions % self.rules.shards + 1
        self.trace(f"{self.partitions} partitions from now on")

    @property
    def is_long(self) -> bool:
        """Whether this is one of the long stories, with few events and some lasting failures.

        One host is down throughout, and the queue gives up on every message of some runs.
        """
        return self.seed % _LONG_EACH == _LONG_EACH - 1

    @property
    def is_lossy(self) -> bool:
        """Whether this is one of the stories in which messages are lost, and sent runs are watched.

        The other stories have no watch: while no message is lost, every promise holds without it.
        """
        return self.seed % _LOSSY_EACH == _LOSSY_EACH - 2

    @property
    def sends_together(self) -> bool:
        """Whether this is one of the stories in which a message names several runs."""
        return self.seed % _TOGETHER_EACH == _TOGETHER_EACH - 1

    @property
    def has_tasks(self) -> bool:
        """Whether this is one of the stories in which most jobs name tasks, and the tasks change meanwhile."""
        return self.seed % _TASKS_EACH == _TASKS_EACH - 2

    @property
    def moves_fires(self) -> bool:
        """Whether this is one of the stories in which calendars move fires, to a day after the story's end."""
        return self.seed % _MOVES_EACH == 3

    @property
    def has_operations(self) -> bool:
        """Whether this is one of the stories in which a user requests bulk operations beside all other changes."""
        return self.seed % _OPERATIONS_EACH == 1

    @property
    def has_graphs(self) -> bool:
        """Whether this is one of the stories in which jobs depend on jobs."""
        return self.seed % _GRAPHS_EACH == 1

    @property
    def has_notices(self) -> bool:
        """Whether this is one of the stories in which users want notices about their jobs."""
        return self.seed % _NOTICES_EACH == 3

    @property
    def has_notices_of_blocks(self) -> bool:
        """Whether this is one of the stories in which users want notices about jobs that their parents stop."""
        return self.has_graphs and self.seed % _BLOCKS_EACH == _BLOCKS_EACH - 4

    @property
    def has_quotas(self) -> bool:
        """Whether this is one of the stories in which quotas bound the runs of users' tenants."""
        return self.seed % _QUOTAS_EACH == _QUOTAS_EACH - 1 and not self.is_long

    @property
    def has_keys(self) -> bool:
        """Whether this is one of the stories in which users' jobs name limiters."""
        return self.seed % _KEYS_EACH == 2 and not self.is_long

    @property
    def has_reruns(self) -> bool:
        """Whether this is one of the stories in which a user reruns their cycles."""
        return self.has_graphs and self.seed % _RERUNS_EACH == _GRAPHS_EACH + 1

    @property
    def has_pipelines(self) -> bool:
        """Whether this is one of the stories in which a user runs whole graphs at once."""
        return self.has_graphs and self.seed % _PIPELINES_EACH == 26

    @property
    def has_cadences(self) -> bool:
        """Whether this is one of the stories in which jobs are judged by the latest cycles of others."""
        return self.seed % _CADENCES_EACH in _WITH_CADENCES

    @property
    def has_listings(self) -> bool:
        """Whether this is one of the stories in which a user lists runs of all jobs."""
        return self.seed % _LISTINGS_EACH == 4

    @property
    def has_removals(self) -> bool:
        """Whether this is one of the stories in which a user cancels jobs, and says what becomes of their children."""
        return self.seed % _REMOVALS_EACH == _REMOVALS_EACH // 2 + 1

    @property
    def has_generations(self) -> bool:
        """Whether this is one of the stories in which a user puts ended jobs again."""
        return self.seed % _GENERATIONS_EACH == _GENERATIONS_EACH // 2

    @property
    def has_events(self) -> bool:
        """Whether this is one of the stories in which most jobs run on events."""
        return self.seed % _EVENTS_EACH == 7

    @property
    def has_event_graphs(self) -> bool:
        """Whether this is one of the stories in which jobs depend on jobs that run on events."""
        return self.has_events and self.seed % _EVENT_GRAPHS_EACH == _EVENT_GRAPHS_EACH - 3

    @property
    def has_flows(self) -> bool:
        """Whether this is one of the stories in which a client repeats submits and triggers again and again."""
        return self.seed % _FLOWS_EACH == 5

    @property
    def has_executions(self) -> bool:
        """Whether this is one of the stories in which most runs follow the executions that they start."""
        return self.seed % _EXECUTIONS_EACH in _WITH_EXECUTIONS

    @property
    def executors_at_work(self) -> int:
        """How many executors there are: few, so that messages wait; in calm stories one for each batch, as on AWS."""
        return _CALM_EXECUTORS if self.is_calm else 3

    @property
    def has_losses(self) -> bool:
        """Whether rows, messages and watches are lost, and an admin recovers: no other story has that (recovery.py)."""
        return False

    @property
    def slowness(self) -> int:
        """How slowly one action follows another."""
        return 4 if self.is_long else 1

    def begin(self, work: Coroutine[Any, Any, None]) -> None:
        """Run some work in parallel to everything else."""
        self.begun.append(asyncio.create_task(work))

    def new_process(self, name: str) -> Process:
        """Return a process with a clock that is slightly wrong."""
        skew_ms = self.random.randrange(-MOST_SKEW_MS, MOST_SKEW_MS + 1)
        process = Process(name, self.clock, self._new_random(), self.weather, skew_ms, trace=self._traced)
        self.processes.append(process)
        return process

    def context(self, process: Process) -> Context:
        """Return the context of a process."""
        rows = with_outages(self.store, self.heat.fails) if self.hardships.has_hot_rows else self.store
        store, queue = simulated(rows, process), simulated(self.queue, process)
        executions = seen_by(process, self.executions)
        rules = self.hardships.settings_of(process.name, self.rules)
        context = Context(store, queue, process, rules, self.telemetry, executions=executions)
        return self.hand(replace(context, side_by_side=process.side_by_side))

    def note_scan(self, context: Context, found: ScanResult, began_at: int, loop: tuple[int, int]) -> None:
        """Note a scan of a process, of the loop of one partition among several. Only calm stories do."""

    def hand(self, context: Context) -> Context:
        """Return the context that the verbs of a process get, which a deliberate fault may change."""
        return context

    def calm_down(self) -> None:
        """End the storm: from now on the world works well."""
        self.trace("the storm is over")
        self.storm_ends_at = self.clock.now()
        self.weather.fails_before = self.weather.fails_after = self.weather.cut_off = 0
        self.weather.slow = self.weather.stalls = 0
        self.store.past.lags = self.queue.unruly = False
        self.heat.hot = self.bus.mishaps = None
        self.executions.is_calm = True
        self.receiver.down_until.clear()
        if self.is_long:
            self.store.circuits.clear()  # the rows of hosts expire
        self.receiver.statuses, self.receiver.takes_ms = (200,), (10, 200, 3_000)
        for row in [*self.store.freezes.values()]:
            ended = [evolve(one, to_at=min(one.span[1], self.clock.now())) for one in row.items]
            self.store.freezes.swap([Swap(row, evolve(row, items=tuple(ended)))], self.clock.now())

    @property
    def ends_at(self) -> int:
        """The instant (true time, ms) up to which fires are checked: recurring jobs go on for ever."""
        return self.storm_ends_at + _CALM_MS

    def _traced(self, text: str) -> None:
        self.trace(f"{self.clock.now() - START:>8} {text}")

    def _new_random(self) -> Random:
        return Random(self.random.random())
