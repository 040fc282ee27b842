"""The backfills of a job: rows beside it, in the due index while there is something to do for them."""

from collections.abc import Sequence
from itertools import islice

from timeball.aws.keys import BACKFILL, backfill_key, job_key
from timeball.aws.queries import Reader
from timeball.aws.rows import Rows, to_backfill
from timeball.aws.swaps import swap_rows
from timeball.aws.writes import Insert, Writer
from timeball.domain.backfill import Backfill
from timeball.domain.ids import BackfillKey, JobKey
from timeball.ports import Swap, Swapped


class Backfills:
    """The backfills of one table."""

    def __init__(self, writer: Writer, reader: Reader, rows: Rows) -> None:
        self._writer, self._reader, self._rows = writer, reader, rows

    def create(self, backfills: Sequence[Backfill], now: int) -> list[Backfill | None]:
        """Insert each backfill that is not there."""
        written = self._writer.write([Insert(self._rows.of_backfill(backfill, now)) for backfill in backfills])
        standing = [to_backfill(answer.row) if answer.row else None for answer in written]
        return [
            None if answer.done or found == backfill else found
            for backfill, answer, found in zip(backfills, written, standing, strict=True)
        ]

    def read(self, keys: Sequence[BackfillKey]) -> list[Backfill | None]:
        """Return each backfill."""
        return [to_backfill(row) if row else None for row in self._reader.get([backfill_key(key) for key in keys])]

    def swap(self, swaps: Sequence[Swap[Backfill]], now: int) -> list[Swapped[Backfill]]:
        """Change each backfill's row if it has the revision that was read."""
        changes = [
            (
                backfill_key(swap.before.key),
                self._rows.of_backfill(swap.before, now),
                self._rows.of_backfill(swap.after, now),
            )
            for swap in swaps
        ]
        return swap_rows(self._writer, swaps, changes, lambda row, _: to_backfill(row))

    def of_job(self, job: JobKey, after: str, limit: int | None) -> list[Backfill]:
        """Return a job's backfills behind a name."""
        # A space sorts before whatever a name goes on with.
        first = f"{BACKFILL}{after} " if after else BACKFILL
        rows = self._reader.between(job_key(job)["pk"], first, f"{BACKFILL}~")
        return [to_backfill(row) for row in islice(rows, limit)]
