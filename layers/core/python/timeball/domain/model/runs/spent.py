"""What a run has cost so far, in what AWS charges for. It stands on the run's row and grows with each attempt's end.

So it costs no write of its own: the write that ends an attempt carries it.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Spent:
    """Write units and read units of its rows; its part of the batches that it went in, and of its executors' time.

    `batches` are thousandths: one of ten messages that went together has 100. `executor_ms` of an executor that had
    several runs in hand is shared among these.
    """

    write_units: int = 0
    read_units: int = 0
    batches: int = 0
    executor_ms: int = 0

    def __bool__(self) -> bool:
        """Whether there is anything: a row leaves out what is nothing."""
        return any(self.counts)

    @property
    def counts(self) -> tuple[int, int, int, int]:
        """All that was spent, in order."""
        return self.write_units, self.read_units, self.batches, self.executor_ms

    def plus(self, other: "Spent") -> "Spent":
        """Return both together."""
        return Spent(
            self.write_units + other.write_units,
            self.read_units + other.read_units,
            self.batches + other.batches,
            self.executor_ms + other.executor_ms,
        )

    def beyond(self, before: "Spent") -> "Spent":
        """Return what was spent since it was so much."""
        return self.plus(Spent(-before.write_units, -before.read_units, -before.batches, -before.executor_ms))


NOTHING = Spent()
