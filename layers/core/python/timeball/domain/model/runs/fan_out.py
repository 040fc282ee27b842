"""Items: what a run names, at work or in its answer; for each of them a child of its job has a run of its own."""

from dataclasses import dataclass

from timeball.domain.model.ids import RunId

MAX_ITEMS = 1_000
"""So many items may a run name."""


@dataclass(frozen=True)
class FanOut:
    """How far a run has come that has a run of its own for each item which another one, `of`, has named.

    `items` names the list of them, once it is fixed, and `count` says how many there are. Those up to `released` have
    been sent; those up to `over` are known to be over. If its cycle is run again, that was asked for `since` some time:
    runs of items from before are run again, too.
    """

    of: RunId
    items: str | None = None
    count: int = 0
    released: int = 0
    over: int = 0
    since: int | None = None
