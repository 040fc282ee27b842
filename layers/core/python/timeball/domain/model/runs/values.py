"""The values on a run's row: its attempts, the verdict on a call, its cost, its waits, its items, and its guarantor.

* An attempt is one try of a run, from its claim to its outcome. The target's adapter gives a verdict on the call. The
  engine relies on the verdict alone, not on a protocol's status.
* The cost of a run counts the units that AWS charges for. Each write that ends an attempt carries it, so it needs no
  write of its own.
* A run passes its gates once its start has come: its parents, its concurrency and rate limits, its tenant's quotas, the
  overlap lock, the circuit of its resource, and the pauses and freezes of its job. Lateness counts from `until`.
* A run names items while it runs or in its answer, and a child of its job has a run for each of them.
* The guarantor is the trace by which a process finds an ended run and carries out its effects, although the process
  that ended it may have died. Invariant: a run is ended only with a guarantor, and the guarantor is released only after
  the effects.
"""

from dataclasses import dataclass
from enum import Enum, StrEnum, auto
from typing import Literal, get_args

from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import RunId


class Outcome(StrEnum):
    """How one attempt ended."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    TIMED_OUT = "timed_out"
    LOST = "lost"


@dataclass(frozen=True)
class Attempt:
    """One finished try of a run. Instants are in ms."""

    number: int
    """Counts the attempts of the run, from 1; it is the fencing token."""
    outcome: Outcome
    """How it ended."""
    claimed_at: int
    """When an executor claimed it."""
    started_at: int | None = None
    """When the call left; None: it never left, or the attempt was lost and this is unknown."""
    finished_at: int | None = None
    """When it ended; None: the attempt was lost and this is unknown."""
    status: int | None = None
    """The status that the target's protocol answered with; None: there is none."""
    error: str | None = None
    """The failure, as a sentence; None: there was none."""
    body: str | None = None
    """The target's answer, cut at 16 KB; None: there was none."""
    worker: str | None = None
    """The executor that claimed it; None: the target itself reported how it ended."""
    unheard_from: int | None = None
    """The first attempt, up to this one, that may have started something unknown to Timeball; None: none."""


@dataclass(frozen=True)
class Succeeded:
    """The target did what it was called for."""


@dataclass(frozen=True)
class Accepted:
    """The target has taken the attempt over: its report will follow, or an execution that it started is polled."""

    execution: str | None = None
    """The ARN of the execution to poll; None: the target reports."""


@dataclass(frozen=True)
class Failed:
    """The call failed."""

    may_retry: bool
    """Another attempt makes sense."""
    retry_after_seconds: float | None = None
    """How long the target asks to wait before it; None: the target does not say."""


Verdict = Succeeded | Accepted | Failed


@dataclass(frozen=True)
class Spent:
    """The cost of a run."""

    write_units: int = 0
    """DynamoDB write units of its rows."""
    read_units: int = 0
    """DynamoDB read units of its rows."""
    batches: int = 0
    """Its share of the batches that carried it, in thousandths: one of ten messages in a batch has 100."""
    executor_ms: int = 0
    """Its share of executors' time (ms): runs that were under way together share it."""

    def __bool__(self) -> bool:
        """Whether anything was spent: a row leaves out an empty account."""
        return any(self.counts)

    @property
    def counts(self) -> tuple[int, int, int, int]:
        """All amounts, in the order of the fields."""
        return self.write_units, self.read_units, self.batches, self.executor_ms

    def plus(self, other: "Spent") -> "Spent":
        """Return the sum of both."""
        return Spent(
            self.write_units + other.write_units,
            self.read_units + other.read_units,
            self.batches + other.batches,
            self.executor_ms + other.executor_ms,
        )

    def beyond(self, before: "Spent") -> "Spent":
        """Return what was spent since an earlier account."""
        return Spent(
            self.write_units - before.write_units,
            self.read_units - before.read_units,
            self.batches - before.batches,
            self.executor_ms - before.executor_ms,
        )


NOTHING = Spent()


Gate = Literal["parents", "limits", "quota", "overlap", "circuit", "frozen"]
GATE_NAMES: tuple[Gate, ...] = get_args(Gate)


@dataclass(frozen=True)
class GateWaits:
    """How long each gate held a run. Durations are in ms."""

    until: int = 0
    """The later of its start, jitter included, and the end of its last gate (ms); 0: neither moved the start."""
    parents: int = 0
    """How long it waited for its parents."""
    limits: int = 0
    """How long its concurrency or rate limit held it."""
    quota: int = 0
    """How long a quota of its tenant held it."""
    overlap: int = 0
    """How long it waited for the overlap lock."""
    circuit: int = 0
    """How long an open circuit held it."""
    frozen: int = 0
    """How long a pause or a freeze held it."""
    is_extra: bool = False
    """It was caught up, or asked for again before it began: its lateness means nothing."""

    def by(self, gate: Gate, until: int) -> "GateWaits":
        """Return the account with a gate that held the run until an instant (ms), as far as no earlier gate did."""
        if until <= self.until:
            return self
        return evolve(self, until=until, **{gate: getattr(self, gate) + until - self.until})

    @property
    def at_work_ms(self) -> int:
        """How long gates held it that occur while a job is active, so neither a pause nor a freeze."""
        return self.parents + self.limits + self.quota + self.overlap + self.circuit


NO_WAITS = GateWaits()


MAX_ITEMS = 1_000
"""How many items a run may name."""


@dataclass(frozen=True)
class FanOut:
    """The progress of a head: a run that has a run for each item."""

    of: RunId
    """The run that named the items."""
    items: str | None = None
    """The digest of the list of items; None: the list is not fixed yet."""
    count: int = 0
    """How many items there are."""
    released: int = 0
    """The number of the last item whose run was sent; 0: none yet."""
    over: int = 0
    """All items up to this number have ended; 0: none yet."""
    since: int | None = None
    """When a rerun of its cycle was asked for (ms): older runs of items run again; None: no rerun."""


class Guarantor(Enum):
    """The trace that survives a crash, by which a process finds the ended run again and carries out the effects."""

    MESSAGE = auto()
    """A message that the process which ends the run has received: it is deleted last."""
    SCAN = auto()
    """A due key, written together with the end: the scan carries out the effects, then drops the key."""
    OWNER = auto()
    """The job, or the backfill, whose plan or change ends the run: it stays due until the effects are carried out."""
