"""The client itself."""

from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from timeball.client.aio.access import AsyncAdmin, AsyncKeys, AsyncSessions, AsyncTenants
from timeball.client.aio.jobs import AsyncJobs
from timeball.client.aio.many import AsyncBackfills, AsyncEvents, AsyncOperations
from timeball.client.aio.pages import AsyncPages
from timeball.client.aio.runs import AsyncCycles, AsyncFailures, AsyncRuns
from timeball.client.aio.sender import AsyncSender
from timeball.client.aio.shared import AsyncCalendars, AsyncFreezes, AsyncLimits, AsyncTasks
from timeball.client.calls import Call, Query, Reply, path_of, span
from timeball.client.clocks import AsyncClock, AsyncMachineClock
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
from timeball.client.values.encoding import UNSET, Given
from timeball.client.values.targets import target_fields

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    import httpx

    from timeball.client.values.policies import OnCalendar
    from timeball.client.values.schedules import At, Cron, Every
    from timeball.client.values.targets import Target


class AsyncTimeball:
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
        transport: "httpx.AsyncBaseTransport | None" = None,
        clock: AsyncClock | None = None,
    ) -> None:
        connection = connection_of(url, key, profile, timeout)
        self._sender = sender = AsyncSender(connection, clock or AsyncMachineClock(), transport)
        self.jobs = AsyncJobs(sender)
        self.runs = AsyncRuns(sender)
        self.cycles = AsyncCycles(sender)
        self.failures = AsyncFailures(sender)
        self.backfills = AsyncBackfills(sender)
        self.operations = AsyncOperations(sender)
        self.events = AsyncEvents(sender)
        self.tasks = AsyncTasks(sender)
        self.calendars = AsyncCalendars(sender)
        self.freezes = AsyncFreezes(sender)
        self.limits = AsyncLimits(sender)
        self.sessions = AsyncSessions(sender)
        self.keys = AsyncKeys(sender)
        self.tenants = AsyncTenants(sender)
        self.admin = AsyncAdmin(sender)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.url!r})"

    @property
    def url(self) -> str:
        """The address of the API, without a slash at its end."""
        return self._sender.url

    async def request(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        query: Query | None = None,
        headers: "Mapping[str, str] | None" = None,
    ) -> Any:  # noqa: ANN401 - an answer is whatever JSON it is
        """Send any request of the API, and return the JSON of its answer; None if it has no body."""
        return (await self.send(method, path, body, query=query, headers=headers)).body

    async def send(
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
        return await self._sender.send(Call(method.upper(), path, body, query or {}, headers or {}))

    def pages(self, path: str, *, query: Query | None = None) -> AsyncPages[Any]:
        """Return any list of the API, which pages by itself; its items are JSON."""
        return AsyncPages(self._sender, Call("GET", path, query=query or {}), lambda item: item)

    async def now(self) -> NowAnswer:
        """Read the present state: health, what needs attention, what runs, and what fires next."""
        return NowAnswer(await self._sender.json("GET", path_of("now")))

    async def me(self) -> MeAnswer:
        """Read who the caller is: key, role, tenant, tags, expiry, limits."""
        return MeAnswer(await self._sender.json("GET", path_of("me")))

    async def health(self) -> HealthAnswer:
        """Read whether the ticker ticks and the store answers; raise Unavailable if not."""
        return HealthAnswer(await self._sender.json("GET", "/healthz"))

    async def stats(self) -> StatsAnswer:
        """Read the numbers of jobs by status, of dead letters, and of messages in the queues."""
        return StatsAnswer(await self._sender.json("GET", path_of("stats")))

    async def slo(self) -> SloAnswer:
        """Read the lateness and the failure rate of runs."""
        return SloAnswer(await self._sender.json("GET", path_of("slo")))

    async def preview(
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
        return PreviewAnswer(await self._sender.json("POST", path_of("schedules", verb="preview"), body))

    async def test_call(
        self, call: "Target | str", *, payload: Given = UNSET, timeout_seconds: int | None = None
    ) -> TrialAnswer:
        """Try a target, a URL or a task: one call, shown whole; nothing is stored."""
        body = {**target_fields(call), "payload": payload}
        if timeout_seconds is not None:
            body["timeoutSeconds"] = timeout_seconds
        return TrialAnswer(await self._sender.json("POST", path_of("targets", verb="test"), body))

    def upcoming(
        self,
        *,
        from_: "datetime | None" = None,
        to: "datetime | None" = None,
        tag: "str | Sequence[str] | None" = None,
        job_id: str | None = None,
        limit: int | None = None,
    ) -> AsyncPages[UpcomingAnswer]:
        """List the fires to come of all jobs, and which will not run."""
        query = {**span(from_, to), "tag": tag, "jobId": job_id, "limit": limit}
        return AsyncPages(self._sender, Call("GET", path_of("upcoming"), query=query), UpcomingAnswer)

    def changes(
        self,
        *,
        job_id: str | None = None,
        actor: str | None = None,
        from_: "datetime | None" = None,
        to: "datetime | None" = None,
        limit: int | None = None,
    ) -> AsyncPages[ChangeAnswer]:
        """List all actions with their authors, the newest first."""
        query = {"jobId": job_id, "actor": actor, **span(from_, to), "limit": limit}
        return AsyncPages(self._sender, Call("GET", path_of("changes"), query=query), ChangeAnswer)

    async def close(self) -> None:
        """Close the connections."""
        await self._sender.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
