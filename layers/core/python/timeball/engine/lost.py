"""Keep what is known of lost attempts, before a newer attempt takes their place in the run's row.

Only an attempt that a take-over has already replaced is kept: one whose lease is out may still finish.
"""

from collections.abc import Sequence

from timeball.domain.run import Outcome, Run
from timeball.engine.world import World


def keep_lost_attempts(world: World, runs: Sequence[Run], now: int) -> None:
    """Give a lost attempt that stands as a run's last one a row of its own. May be repeated."""
    lost = [(run.id, run.last) for run in runs if run.last is not None and run.last.outcome is Outcome.LOST]
    if lost:
        world.store.save_attempts(lost, now)
