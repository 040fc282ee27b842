"""The context that every verb of the engine gets: the ports, and the settings that decisions need.

It also holds rows that a process has read lately and that seldom change, such as calendars and freezes.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from timeball.domain.attempts.circuit_breaker import CircuitRules
from timeball.domain.attempts.claim import ClaimRules
from timeball.domain.model.ids import MOST_SHARDS, Shards
from timeball.domain.model.jobs.freeze import KNOWN_MS
from timeball.domain.model.tenants import tenant
from timeball.domain.model.tenants.tenant import Quotas
from timeball.domain.model.terms.dependency import MOST_PARENTS
from timeball.domain.planning.era import Era
from timeball.domain.sharing.fairness import Pace
from timeball.domain.time.instants import SECOND_MS
from timeball.engine.batches import SideBySide, one_after_the_other
from timeball.ports.clock import Clock
from timeball.ports.queue import Lead, Queue
from timeball.ports.rows import Row, Rows
from timeball.ports.store import Store
from timeball.ports.target import Executions, Unknown
from timeball.ports.telemetry import AttemptLog, NoAttemptLog, Telemetry
from timeball.setting import whole

MARGIN_SECONDS = 5
"""How far clocks may differ, and how long a delayed request may be under way."""

_MAX_KNOWN = 5_000

_NEVER = (0, None)


class Known:
    """Rows by key, each at most KNOWN_MS old; None for a row that is absent.

    Several threads may read. No thread relies on an entry that another thread may drop meanwhile. `paces` holds, by
    tenant, the pace at which this process creates the runs of events; `digests` holds the digests of tenants' jobs;
    `last_tick` is the store's newest answer about the ticker; `era` is the era of this process once it is stored.
    """

    def __init__(self) -> None:
        self.paces: dict[str, Pace] = {}
        self.digests: dict[object, Any] = {}
        self.rosters: dict[object, Any] = {}
        self.last_tick: object = None
        self.era: Era | None = None
        self._rows: dict[tuple[str, object], tuple[int, Any]] = {}

    def read(self, kind: str, rows: Rows[Any, Row], keys: Sequence[Any], now: int) -> list[Row | None]:
        """Return the rows of a kind. Rows that were not read lately are read strongly. Raises UnavailableError."""
        fresh_from = now - KNOWN_MS
        known = {key: self._rows.get((kind, key), _NEVER) for key in keys}
        lacking = [key for key, (read_at, _) in known.items() if read_at <= fresh_from]
        if lacking:
            read = {key: (now, row) for key, row in zip(lacking, rows.read(lacking), strict=True)}
            known |= read
            if len(self._rows) + len(lacking) > _MAX_KNOWN:
                self._rows.clear()
            self._rows.update(((kind, key), row) for key, row in read.items())
        return [known[key][1] for key in keys]

    def forget(self, kind: str, key: object) -> None:
        """Drop a row that this process has changed, so that the next read fetches it."""
        self._rows.pop((kind, key), None)


@dataclass(frozen=True)
class Rules:
    """The engine's settings."""

    shards: int = whole(
        4,
        1,
        MOST_SHARDS,
        "Shards of the due index for new jobs; those of earlier deployments are scanned too",
    )
    lookahead_seconds: int = whole(5, 1, 20, "How long before its time a run is sent to its queue")
    lead_seconds: int = whole(3, 0, 9, "How long before its time a message comes to an executor, which may start cold")
    few_lead_ms: int = whole(
        3000,
        0,
        9000,
        "`lead_seconds`, in ms, for at most fifty runs that are sent together: an executor is paid for while it "
        "waits, and a cold one must start within this time",
    )
    runs_per_message: int = whole(
        5,
        1,
        5,
        "Runs of a tenant and instant that one message to an executor names at the most. More are cheaper, and more "
        "are called at once after quiet; a queue counts a tenant's messages, so it must be 1 where executors are few",
    )
    misfire_seconds: int = whole(60, 5, 3600, "How late a run may start without being a misfire")
    lease_seconds: int = whole(30, 20, 300, "How long a claim holds unless it is renewed")
    heartbeat_seconds: int = whole(10, 2, 100, "How often an executor renews its claims")
    host_failures: int = whole(5, 2, 1000, "After how many failures in a row a resource is not called for a while")
    host_rest_seconds: int = whole(
        30, 1, 600, "How long such a resource is not called at first; this doubles each time in a row"
    )
    host_retries_per_second: int = whole(
        10, 1, 1000, "Retries a second that go to a resource that failed lately; twice as many at once"
    )
    active_jobs: int = whole(
        0,
        0,
        tenant.MOST_ACTIVE_JOBS,
        "How many jobs that have not ended a tenant may have, unless it has a quota of its own; 0: any number",
    )
    submits_per_second: int = whole(
        0,
        0,
        tenant.MOST_SUBMITS,
        "Jobs that a tenant may submit in a second if it has no quota of its own; 0: any, and none is counted",
    )
    runs_per_second: int = whole(
        0,
        0,
        tenant.MOST_RUNS_PER_SECOND,
        "Attempts of a tenant that may begin in a second if it has no quota of its own; the others wait; 0: any",
    )
    runs_at_once: int = whole(
        0,
        0,
        tenant.MOST_RUNS_AT_ONCE,
        "Runs of a tenant that may be under way at once if it has no quota of its own; the others wait; 0: any",
    )
    least_period_seconds: int = whole(
        1,
        0,
        tenant.LONGEST_LEAST_PERIOD_SECONDS,
        "How far apart a job's fires must be at least, unless its tenant has a quota of its own; 0: a second",
    )
    payload_bytes: int = whole(
        tenant.MOST_PAYLOAD_BYTES,
        0,
        tenant.MOST_PAYLOAD_BYTES,
        "How large a payload may be, unless its tenant has a quota of its own; 0: 262144 (256 KB)",
    )
    requests_per_job_and_minute: int = whole(
        60, 1, 10_000, "Jobs, triggers and backfills that the calls of one job may ask for in a minute"
    )
    max_parents: int = whole(2000, 1, MOST_PARENTS, "How many jobs a job may depend on")
    max_children: int = whole(10_000, 1, 10_000, "How many jobs that have not ended may depend on one job")
    max_ancestors: int = whole(10_000, 1, 10_000, "How many jobs a job may depend on, counting those of its parents")
    max_subscribers: int = whole(100, 1, 1000, "How many jobs may run on the same pattern of events")
    running_backfills: int = whole(
        10,
        1,
        tenant.MOST_RUNNING_BACKFILLS,
        "How many of a tenant's backfills run at once if it has no quota of its own; the others wait",
    )
    event_patterns: int = whole(
        50,
        0,
        tenant.MOST_EVENT_PATTERNS,
        "Distinct patterns of events that a tenant's jobs may have if it has no quota of its own: each needs one of "
        "the bus's 300 rules, which all tenants share; 0: any",
    )
    requests_per_second: int = whole(
        25,
        0,
        tenant.MOST_REQUESTS_PER_SECOND,
        "Requests of a tenant's keys that each process of the authorizer lets pass in a second, twice as many at once, "
        "unless the tenant has a quota of its own; more get a 429; 0: any",
    )
    runs_created_per_minute: int = whole(
        0,
        0,
        tenant.MOST_RUNS_CREATED,
        "Runs of a tenant that events and fan-outs may make in a minute if it has no quota of its own; the others are "
        "made later; 0: any, and none is counted",
    )

    @property
    def quotas(self) -> Quotas:
        """The quotas of a tenant that has none of its own."""
        return Quotas(**{one.name: getattr(self, one.name) for one in fields(Quotas)})

    @property
    def lookahead_ms(self) -> int:
        """How far ahead of its due time a run is sent."""
        return self.lookahead_seconds * SECOND_MS

    @property
    def lead(self) -> Lead:
        """How long before its runs' instant a message reaches an executor."""
        return Lead(self.lead_ms, min(self.few_lead_ms, self.lead_ms))

    @property
    def lead_ms(self) -> int:
        """How long before its run's instant a message reaches an executor, at the least: it may start cold."""
        return self.lead_seconds * SECOND_MS

    @property
    def early_ms(self) -> int:
        """How long before its run's instant a message may arrive if the sender's clock is wrong."""
        return self.lead_ms + SECOND_MS + self.margin_ms

    @property
    def misfire_ms(self) -> int:
        """How late a fire may be before it counts as missed."""
        return self.misfire_seconds * SECOND_MS

    @property
    def lease_ms(self) -> int:
        """How long a claim holds unless it is renewed."""
        return self.lease_seconds * SECOND_MS

    @property
    def margin_ms(self) -> int:
        """How long before the end of its lease a worker stops, and how long after that end another worker may begin."""
        return MARGIN_SECONDS * SECOND_MS

    @property
    def claim(self) -> ClaimRules:
        """The settings that the claim needs."""
        return ClaimRules(self.early_ms, self.misfire_ms, self.margin_ms, self.lease_ms, self.lookahead_ms)

    @property
    def circuits(self) -> CircuitRules:
        """The settings that the circuit breaker needs."""
        return CircuitRules(
            failures=self.host_failures,
            open_ms=self.host_rest_seconds * SECOND_MS,
            retries_per_second=self.host_retries_per_second,
            burst=2 * self.host_retries_per_second,
        )


@dataclass(frozen=True)
class Context:
    """The store, the queue, the clock, the rules, and where counts, timings and lines about attempts go.

    `known` holds rows that this process has read lately. `executions` reads and stops the executions that runs have
    started and follow. `weights_of` returns the weights of tenants that compete; a tenant without an entry has weight
    1. `shard_secret` is unknown to tenants, so that no tenant can choose its due shard. `side_by_side` runs blocking
    calls that share no row at the same time, if the process has threads for them. `console` is the console's address
    for notices; empty: none is deployed.
    """

    store: Store
    queue: Queue
    clock: Clock
    rules: Rules
    telemetry: Telemetry
    known: Known = field(default_factory=Known)
    executions: Executions = field(default_factory=Unknown)
    weights_of: Callable[[Sequence[str]], Mapping[str, int]] = lambda _: {}
    shard_secret: bytes = b""
    side_by_side: SideBySide = one_after_the_other
    attempt_log: AttemptLog = field(default_factory=NoAttemptLog)
    console: str = ""

    @property
    def shards(self) -> Shards:
        """The due shards of new rows."""
        return Shards(self.rules.shards, self.shard_secret)
