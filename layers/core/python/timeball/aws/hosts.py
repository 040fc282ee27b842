"""The rows of hosts that have failed lately, each in a partition of its own: a dead host's row is written often."""

from collections.abc import Sequence

from timeball.aws.keys import host_key
from timeball.aws.queries import Reader
from timeball.aws.rows import Rows, to_host
from timeball.aws.swaps import swap_rows
from timeball.aws.writes import Insert, Writer
from timeball.domain.host import Host, HostKey
from timeball.ports import Swap, Swapped


class Hosts:
    """The hosts of one table."""

    def __init__(self, writer: Writer, reader: Reader, rows: Rows) -> None:
        self._writer, self._reader, self._rows = writer, reader, rows

    def create(self, hosts: Sequence[Host], now: int) -> list[Host | None]:
        """Insert each host's row that is not there."""
        written = self._writer.write([Insert(self._rows.of_host(host, now)) for host in hosts])
        standing = [
            to_host(host.key, answer.row) if answer.row else None for host, answer in zip(hosts, written, strict=True)
        ]
        return [
            None if answer.done or found == host else found
            for host, answer, found in zip(hosts, written, standing, strict=True)
        ]

    def read(self, keys: Sequence[HostKey]) -> list[Host | None]:
        """Return each host's row."""
        rows = self._reader.get([host_key(key) for key in keys])
        return [to_host(key, row) if row else None for key, row in zip(keys, rows, strict=True)]

    def swap(self, swaps: Sequence[Swap[Host]], now: int) -> list[Swapped[Host]]:
        """Change each host's row if it has the revision that was read. Its expiry moves on with each change."""
        changes = [
            (host_key(swap.before.key), self._rows.of_host(swap.before, 0), self._rows.of_host(swap.after, now))
            for swap in swaps
        ]
        return swap_rows(self._writer, swaps, changes, lambda row, swap: to_host(swap.before.key, row))
