"""The cost of a run so far, in the units that AWS charges for. The run's row carries it, and each attempt adds to it.

This needs no write of its own: the write that ends an attempt carries it.
"""

from dataclasses import dataclass


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
        return self.plus(Spent(-before.write_units, -before.read_units, -before.batches, -before.executor_ms))


NOTHING = Spent()
