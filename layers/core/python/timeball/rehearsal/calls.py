"""The calls that targets have received in a rehearsal, in their order."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, overload

from timeball.rehearsal.moments import local_text


@dataclass(frozen=True)
class Called:
    """One call of a target: an attempt of a run."""

    job_id: str
    """The job."""
    run_id: str
    """The run, the same in all of its attempts."""
    attempt: int
    """The number of the attempt; the first is 1."""
    fire_time: datetime
    """The fire time of the run, in UTC."""
    at: datetime
    """When the call left, in UTC."""
    url: str
    """The URL; of a target of AWS, its ARN."""
    method: str = "POST"
    """The HTTP method."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """The headers, by their names in lower case; for a target of AWS, those that a webhook would get."""
    body: str = ""
    """The body as it was sent; for a target of AWS, the payload."""
    zone: str = "UTC"
    """The time zone of the job's schedule; UTC if it has none."""
    status: int | None = None
    """The status of the answer; None: there is none, or none yet."""

    @property
    def payload(self) -> Any:  # noqa: ANN401 - whatever JSON it is
        """The body as JSON; None if it is empty, and the text itself if it is not JSON."""
        try:
            return json.loads(self.body) if self.body else None
        except ValueError:
            return self.body

    @property
    def local(self) -> str:
        """The fire time as a clock in the job's zone shows it, such as `2027-03-28 03:00`."""
        return local_text(self.fire_time, self.zone)


class Calls(Sequence[Called]):
    """Calls in their order."""

    def __init__(self, calls: Sequence[Called] = ()) -> None:
        self._calls = tuple(calls)

    @overload
    def __getitem__(self, position: int) -> Called: ...

    @overload
    def __getitem__(self, position: slice) -> "Calls": ...

    def __getitem__(self, position: int | slice) -> "Called | Calls":
        """Return a call, or some."""
        return Calls(self._calls[position]) if isinstance(position, slice) else self._calls[position]

    def __len__(self) -> int:
        return len(self._calls)

    def __iter__(self) -> Iterator[Called]:
        return iter(self._calls)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Calls) and self._calls == other._calls

    def __hash__(self) -> int:
        return hash(self._calls)

    def __repr__(self) -> str:
        shown = [f"{one.job_id} at {one.local}, attempt {one.attempt}: {one.status}" for one in self._calls[:20]]
        more = [f"… and {len(self) - 20} more"] if len(self) > len(shown) else []
        return f"Calls({'; '.join(shown + more)})"

    def of(self, job_id: str) -> "Calls":
        """Return the calls of a job."""
        return Calls([one for one in self._calls if one.job_id == job_id])

    def to(self, url: str) -> "Calls":
        """Return the calls of a URL or an ARN."""
        return Calls([one for one in self._calls if one.url == url])

    def local(self, tz: str | None = None) -> list[str]:
        """Return the fire time of each run that was called, once, as a clock in the job's zone or in `tz` shows it."""
        return [local_text(one.fire_time, tz or one.zone) for one in self._runs()]

    @property
    def fire_times(self) -> list[datetime]:
        """The fire time of each run that was called, once, in UTC."""
        return [one.fire_time for one in self._runs()]

    @property
    def times(self) -> list[datetime]:
        """When each call left, in UTC."""
        return [one.at for one in self._calls]

    @property
    def attempts(self) -> list[int]:
        """The number of each call's attempt."""
        return [one.attempt for one in self._calls]

    @property
    def payloads(self) -> list[Any]:
        """What each call has sent."""
        return [one.payload for one in self._calls]

    @property
    def run_ids(self) -> list[str]:
        """The id of each run that was called, once."""
        return [one.run_id for one in self._runs()]

    @property
    def statuses(self) -> list[int | None]:
        """The status of each answer."""
        return [one.status for one in self._calls]

    def _runs(self) -> list[Called]:
        return list({one.run_id: one for one in reversed(self._calls)}.values())[::-1]
