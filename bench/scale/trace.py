"""When each run passed each step from its scan to its call: the trace shows why a late run was late."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from timeball.domain.model.ids import RunId

STEPS = {
    "sent": "its message is sent",
    "received": "it is received",
    "begun": "in an executor that has started",
    "claimed": "claimed, and its instant has come",
    "called": "its target is called",
}
"""The steps of a run, in order."""


@dataclass
class Trace:
    """When each run last passed each step before its first call, and when each call began."""

    calls: dict[RunId, list[int]] = field(default_factory=dict)
    _passed: dict[RunId, dict[str, int]] = field(default_factory=dict)

    def note(self, step: str, runs: Iterable[RunId], at: int) -> None:
        """Record that runs pass a step."""
        for run in runs:
            if run not in self.calls:
                self._passed.setdefault(run, {})[step] = at

    def called(self, run: RunId, at: int) -> None:
        """Record a call; a run that was called twice has two."""
        self.note("called", [run], at)
        self.calls.setdefault(run, []).append(at)

    def when(self, step: str) -> list[int]:
        """Return when (ms) each run that passed a step did so."""
        return [passed[step] for passed in self._passed.values() if step in passed]

    def late(self) -> list[RunId]:
        """Return all runs that were called, the latest last."""
        return sorted(self.calls, key=lambda run: self.calls[run][0] - run.fire_at)

    def beside_the_instant(self, runs: Sequence[RunId]) -> Mapping[str, int]:
        """Return when (ms) half of the runs had passed each step, relative to their instants; negative: before."""
        passed = {step: sorted(self._passed[run][step] - run.fire_at for run in runs) for step in STEPS}
        return {step: ats[len(ats) // 2] for step, ats in passed.items()}
