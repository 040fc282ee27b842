"""The guarantee that the effects of a run's end are carried out, although the process that ends it may die first.

Invariant: a run is ended only with a guarantor, and the guarantor is released only after the effects.
"""

from enum import Enum, auto


class Guarantor(Enum):
    """The trace that survives a crash, by which a process finds the ended run again and carries out the effects."""

    MESSAGE = auto()
    """A message that the process which ends the run has received: it is deleted last."""
    SCAN = auto()
    """A due key, written together with the end: the scan carries out the effects, then drops the key."""
    OWNER = auto()
    """The job, or the backfill, whose plan or change ends the run: it stays due until the effects are carried out."""
