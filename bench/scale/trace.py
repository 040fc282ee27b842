"""When each run passed what lies between its scan and its call: so a late one tells what it was late for."""

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
"""What a run passes, in this order."""


@dataclass
class Trace:
    """When all runs passed each step before their first calls, the last time; and when each call began."""

    calls: dict[RunId, list[int]] = field(default_factory=dict)
    _passed: dict[RunId, dict[str, int]] = field(default_factory=dict)

    def note(self, step: str, runs: Iterable[RunId], at: int) -> None:
        """Note that runs pass a step."""
        for run in runs:
            if run not in self.calls:
                self._passed.setdefault(run, {})[step] = at

    def called(self, run: RunId, at: int) -> None:
        """Note a call: a run that was called twice has two."""
        self.note("called", [run], at)
        self.calls.setdefault(run, []).append(at)

    def when(self, step: str) -> list[int]:
        """Return when (ms) each run that passed a step did so."""
        return [passed[step] for passed in self._passed.values() if step in passed]

    def late(self) -> list[RunId]:
        """Return all runs that were called, the latest last."""
        return sorted(self.calls, key=lambda run: self.calls[run][0] - run.fire_at)

    def beside_the_instant(self, runs: Sequence[RunId]) -> Mapping[str, int]:
        """Return when (ms) half of some runs had passed each step: before their instant if it is less than 0."""
        passed = {step: sorted(self._passed[run][step] - run.fire_at for run in runs) for step in STEPS}
        return {step: ats[len(ats) // 2] for step, ats in passed.items()}
