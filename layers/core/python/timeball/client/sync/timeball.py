# Generated from aio/timeball.py by `python -m docs.client`: change that instead.
"""The client itself."""

from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from timeball.client.calls import Call, Query, Reply, path_of, span
from timeball.client.clocks import Clock, MachineClock
from timeball.client.connection import TIMEOUT_SECONDS, connection_of
from timeball.client.models import (
    ChangeAnswer,
    HealthAnswer,
    MeAnswer,
    NowAnswer,
    PreviewAnswer,
    SloAnswer,
    StatsAnswer,
    TrialAnswer,
    UpcomingAnswer,
)
from timeball.client.sync.access import Admin, Keys, Sessions, Tenants
from timeball.client.sync.jobs import Jobs
from timeball.client.sync.many import Backfills, Events, Operations
from timeball.client.sync.pages import Pages
from timeball.client.sync.runs import Cycles, Failures, Runs
from timeball.client.sync.sender import Sender
from timeball.client.sync.shared import Calendars, Freezes, Limits, Tasks
from timeball.client.values.encoding import UNSET, Given
from timeball.client.values.targets import target_fields

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    import httpx

    from timeball.client.values.policies import OnCalendar
    from timeball.client.values.schedules import At, Cron, Every
    from timeball.client.values.targets import Target


class Timeball:
    """A client of a Timeball.

    Without arguments it is the Timeball of `TIMEBALL_URL` and `TIMEBALL_KEY`, or of the profile that `timeball login`
    has kept. A `transport` of httpx replaces the network, a `clock` the waits.
    """

    def __init__(
        self,
        url: str | None = None,
        key: str | None = None,
        *,
        profile: str | None = None,
        timeout: float = TIMEOUT_SECONDS,
        transport: "httpx.BaseTransport | None" = None,
        clock: Clock | None = None,
    ) -> None:
        connection = connection_of(url, key, profile, timeout)
        self._sender = sender = Sender(connection, clock or MachineClock(), transport)
        self.jobs = Jobs(sender)
        self.runs = Runs(sender)
        self.cycles = Cycles(sender)
        self.failures = Failures(sender)
        self.backfills = Backfills(sender)
        self.operations = Operations(sender)
        self.events = Events(sender)
        self.tasks = Tasks(sender)
        self.calendars = Calendars(sender)
        self.freezes = Freezes(sender)
        self.limits = Limits(sender)
        self.sessions = Sessions(sender)
        self.keys = Keys(sender)
        self.tenants = Tenants(sender)
        self.admin = Admin(sender)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.url!r})"

    @property
    def url(self) -> str:
        """The address of the API, without a slash at its end."""
        return self._sender.url

    def request(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        query: Query | None = None,
        headers: "Mapping[str, str] | None" = None,
    ) -> Any:  # noqa: ANN401 - an answer is whatever JSON it is
        """Send any request of the API, and return the JSON of its answer; None if it has no body."""
        return (self.send(method, path, body, query=query, headers=headers)).body

    def send(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        query: Query | None = None,
        headers: "Mapping[str, str] | None" = None,
    ) -> Reply:
        """Send any request of the API, and return its answer with status and headers."""
        if not path.startswith("/"):
            raise ValueError(f"The path {path!r} begins without a slash: give one, such as /v1/jobs.")
        return self._sender.send(Call(method.upper(), path, body, query or {}, headers or {}))

    def pages(self, path: str, *, query: Query | None = None) -> Pages[Any]:
        """Return any list of the API, which pages by itself; its items are JSON."""
        return Pages(self._sender, Call("GET", path, query=query or {}), lambda item: item)

    def now(self) -> NowAnswer:
        """Read the present state: health, what needs attention, what runs, and what fires next."""
        return NowAnswer(self._sender.json("GET", path_of("now")))

    def me(self) -> MeAnswer:
        """Read who the caller is: key, role, tenant, tags, expiry, limits."""
        return MeAnswer(self._sender.json("GET", path_of("me")))

    def health(self) -> HealthAnswer:
        """Read whether the ticker ticks and the store answers; raise Unavailable if not."""
        return HealthAnswer(self._sender.json("GET", "/healthz"))

    def stats(self) -> StatsAnswer:
        """Read the numbers of jobs by status, of dead letters, and of messages in the queues."""
        return StatsAnswer(self._sender.json("GET", path_of("stats")))

    def slo(self) -> SloAnswer:
        """Read the lateness and the failure rate of runs."""
        return SloAnswer(self._sender.json("GET", path_of("slo")))

    def preview(
        self,
        when: "Cron | Every | At",
        *,
        calendar: "str | OnCalendar | None" = None,
        from_: "datetime | None" = None,
        count: int | None = None,
    ) -> PreviewAnswer:
        """Show the next fire times of a schedule; nothing is stored."""
        also = {"calendar": {"name": calendar} if isinstance(calendar, str) else calendar, "from": from_}
        given = {name: value for name, value in {**also, "count": count}.items() if value is not None}
        body = {**when.to_json(), **given}
        return PreviewAnswer(self._sender.json("POST", path_of("schedules", verb="preview"), body))

    def test_call(
        self, call: "Target | str", *, payload: Given = UNSET, timeout_seconds: int | None = None
    ) -> TrialAnswer:
        """Try a target, a URL or a task: one call, shown whole; nothing is stored."""
        body = {**target_fields(call), "payload": payload}
        if timeout_seconds is not None:
            body["timeoutSeconds"] = timeout_seconds
        return TrialAnswer(self._sender.json("POST", path_of("targets", verb="test"), body))

    def upcoming(
        self,
        *,
        from_: "datetime | None" = None,
        to: "datetime | None" = None,
        tag: "str | Sequence[str] | None" = None,
        job_id: str | None = None,
        limit: int | None = None,
    ) -> Pages[UpcomingAnswer]:
        """List the fires to come of all jobs, and which will not run."""
        query = {**span(from_, to), "tag": tag, "jobId": job_id, "limit": limit}
        return Pages(self._sender, Call("GET", path_of("upcoming"), query=query), UpcomingAnswer)

    def changes(
        self,
        *,
        job_id: str | None = None,
        actor: str | None = None,
        from_: "datetime | None" = None,
        to: "datetime | None" = None,
        limit: int | None = None,
    ) -> Pages[ChangeAnswer]:
        """List all actions with their authors, the newest first."""
        query = {"jobId": job_id, "actor": actor, **span(from_, to), "limit": limit}
        return Pages(self._sender, Call("GET", path_of("changes"), query=query), ChangeAnswer)

    def close(self) -> None:
        """Close the connections."""
        self._sender.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
