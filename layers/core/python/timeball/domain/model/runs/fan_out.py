"""Items: a run names them while it runs or in its answer, and a child of its job has a run for each of them."""

from dataclasses import dataclass

from timeball.domain.model.ids import RunId

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
