"""Stories of losses: rows are lost or old, queues and watches are emptied, and an admin recovers, twice.

`make simulate STORIES=--recover SEEDS=10000` plays them. They are stories of their own, because the others promise
more: their rows stand.
"""

from collections.abc import Callable
from random import Random

from tests.simulation.checker import PROMISES, sentence
from tests.simulation.play import play
from tests.simulation.promises import recovery
from tests.simulation.story import START, Story
from timeball.domain.time.instants import MINUTE_MS, SECOND_MS

_LONG_EACH = 50
_LONG_MS = 15 * MINUTE_MS
_WINDOWS_SECONDS = (2, 10, 30, 60, 90)

NOT_PROMISED = {
    "a due key is dropped after the effects": "the job's row may be as it was before them",
    "a job is opened again by a rerun alone": "a recovery opens a job that has ended, if a fire of it has no row",
    "a run does not wait for failures of another path": "the job may have had another target, which is lost",
    "each call has the work that was asked for": "the job may have had other work, which is lost",
    "each change has an actor and a revision": "the log may know a change that is lost on the job's row",
    "a fire that is skipped as missed was missed": "a change that is lost on the job's row may have skipped it",
    "each due instant has one row": "fires before since, or before the newest change of their job, stay lost",
    "exactly the fires that a calendar or freeze prevented say so": "a change that is lost may have skipped them",
    "guarded runs come one by one": "the holder of a lock is lost with the job's row",
    "lateness counts from the end of the last hold": "the job may have had another schedule, which is lost",
    "nothing starts on a date of its calendar": "the job may have had another calendar, which is lost",
    "no run is counted twice": "what is lost was counted",
}
"""What does not hold where rows are lost, and why."""


class StoryOfALoss(Story):
    """A story in which rows, messages and watches are lost. It has no special features."""

    def __post_init__(self) -> None:
        draw = Random(f"when rows are lost in {self.seed}")
        window_ms = _LONG_MS if self._is_slow else draw.choice(_WINDOWS_SECONDS) * SECOND_MS
        self.loses_since = START + draw.randrange(15, 60) * SECOND_MS
        self.loses_at = self.loses_since + window_ms
        self.storm_ends_at = self.loses_at + draw.choice((20, 45)) * SECOND_MS
        super().__post_init__()

    @property
    def has_losses(self) -> bool:
        return True

    @property
    def is_lossy(self) -> bool:
        return True

    @property
    def slowness(self) -> int:
        return 6 if self._is_slow else 1

    @property
    def _is_slow(self) -> bool:
        """Whether all of fifteen minutes may be lost."""
        return self.seed % _LONG_EACH == _LONG_EACH - 1


for _feature in ("is_long", "moves_fires", *(name for name in vars(Story) if name.startswith("has_"))):
    if _feature not in vars(StoryOfALoss):
        setattr(StoryOfALoss, _feature, False)


def complaints(seed: int, trace: Callable[[str], None] = lambda _: None) -> list[str]:
    """Play a story of a loss, and return all complaints about it."""
    story = play(seed, trace, StoryOfALoss)
    kept = [promise for promise in PROMISES if sentence(promise) not in NOT_PROMISED]
    return [f"{sentence(promise)}: {text}" for promise in (*recovery.PROMISES, *kept) for text in promise(story)]
