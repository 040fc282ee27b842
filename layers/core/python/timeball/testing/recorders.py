"""Ports that record what they are asked for: pollers, telemetry, lines of logs, and trials that call no target."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from timeball.domain.archive import ArchiveObject
from timeball.domain.attempts.attempt_line import Line
from timeball.domain.lifecycle import LifecycleEvent
from timeball.ports.errors import UnavailableError
from timeball.ports.event_bus import EventRefusal
from timeball.ports.target import Trial, Tried
from timeball.ports.telemetry import Measurement


@dataclass
class KeptPollers:
    """How many are ready, by priority; and their changes, in order."""

    pollers: dict[str, int]
    changes: list[tuple[str, int]] = field(default_factory=list)

    def ready(self) -> Mapping[str, int]:
        """Return how many are ready."""
        return dict(self.pollers)

    def make_ready(self, priority: str, pollers: int) -> None:
        """Make so many ready."""
        self.pollers[priority] = pollers
        self.changes.append((priority, pollers))


class KeptTelemetry:
    """Adds up events with a reason by name and reason, and the others by name; keeps timings and levels, by name."""

    def __init__(self) -> None:
        self.counts: Counter[tuple[str, str]] = Counter()
        self.totals: Counter[str] = Counter()
        self.timings: defaultdict[str, list[int]] = defaultdict(list)

    def note(self, events: Sequence[Measurement]) -> None:
        """Keep each event."""
        for event in events:
            if event.is_timing or event.is_level:
                self.timings[event.name].append(event.value)
            elif event.reason:
                self.counts[event.name, event.reason] += event.value
            else:
                self.totals[event.name] += event.value


class KeptAttempts:
    """Keeps the lines about attempts, in order."""

    def __init__(self) -> None:
        self.lines: list[Line] = []

    def wants(self, *, has_succeeded: bool) -> bool:  # noqa: ARG002 - all are wanted
        """Return that each attempt has a line."""
        return True

    def write(self, lines: Sequence[Line]) -> None:
        """Keep lines."""
        self.lines += lines


class MemoryTrials:
    """Records trials, and answers each with `comes`; with None it raises UnavailableError."""

    def __init__(self) -> None:
        self.made: list[Trial] = []
        self.comes: Tried | None = Tried("succeeded", may_retry=False, status=200, body="ok", error=None)

    def make(self, trial: Trial) -> Tried:
        """Record the trial."""
        self.made.append(trial)
        if self.comes is None:
            raise UnavailableError("the result of the trial is unknown")
        return self.comes


class MemoryArchive:
    """An archive: the lines of each object by its key. It may refuse the next puts."""

    def __init__(self) -> None:
        self.objects: dict[str, str] = {}
        self.refuses = 0

    def put(self, objects: Sequence[ArchiveObject]) -> None:
        """Keep objects; if it refuses, the first ones may be kept already."""
        for one in objects:
            if self.refuses:
                self.refuses -= 1
                raise UnavailableError("the archive does not answer")
            self.objects[one.key] = one.text


class MemoryLifecycle:
    """A bus for lifecycle events: those that it has taken, in order. It may be silent about the next ones."""

    def __init__(self) -> None:
        self.events: list[LifecycleEvent] = []
        self.silent = 0

    def publish(self, events: Sequence[LifecycleEvent]) -> list[EventRefusal | None]:
        """Take events; while it is silent they may be on the bus or not."""
        outcomes: list[EventRefusal | None] = []
        for event in events:
            is_silent, self.silent = self.silent > 0, max(0, self.silent - 1)
            if not is_silent:
                self.events.append(event)
            outcomes.append(EventRefusal("No answer came.", is_unknown=True) if is_silent else None)
        return outcomes
