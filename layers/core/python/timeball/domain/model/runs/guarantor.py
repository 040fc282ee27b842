"""Who guarantees that the effects of a run's end are carried out, although whoever ends it may die before them.

Invariant: a run is ended only with a guarantor, and a guarantor is let go of only after the effects.
"""

from enum import Enum, auto


class Guarantor(Enum):
    """What is found again, by somebody who carries out the effects of the end that it meets."""

    MESSAGE = auto()
    """A message in the hands of whoever ends the run: it is deleted last."""
    SCAN = auto()
    """A due key, which the end is written with: the scan carries out the effects, then drops it."""
    OWNER = auto()
    """The job, or the backfill, whose plan or change ends the run: it stays due until that is carried out."""
