# Generated from aio/shared.py by `python -m docs.client`: change that instead.
"""What jobs share: `timeball.tasks`, `timeball.calendars`, `timeball.freezes`, `timeball.limits`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime

from timeball.client.calls import Call, matching, path_of
from timeball.client.models import (
    CalendarAnswer,
    CalendarRevisionAnswer,
    FreezeAnswer,
    HeldAnswer,
    LimitAnswer,
    TaskAnswer,
    TaskSummaryAnswer,
)
from timeball.client.sync.pages import Pages
from timeball.client.sync.sender import Sender
from timeball.client.values.encoding import json_of, refuse_unless
from timeball.client.values.job import TaskLike


@dataclass(frozen=True)
class Tasks:
    """Registered work that jobs name."""

    sender: Sender

    def create(self, task: TaskLike) -> TaskAnswer:
        """Register a task under an id that the API chooses."""
        return TaskAnswer(self.sender.json("POST", path_of("tasks"), task))

    def put(self, task_id: str, task: TaskLike, *, if_version: int | None = None) -> TaskAnswer:
        """Register a task under an id of yours, or replace it."""
        path = path_of("tasks", task_id)
        return TaskAnswer(self.sender.json("PUT", path, task, headers=matching(if_version)))

    def get(self, task_id: str) -> TaskAnswer:
        """Read a task."""
        return TaskAnswer(self.sender.json("GET", path_of("tasks", task_id)))

    def list(self, *, limit: int | None = None) -> Pages[TaskSummaryAnswer]:
        """List tasks, the newest first."""
        return Pages(self.sender, Call("GET", path_of("tasks"), query={"limit": limit}), TaskSummaryAnswer)

    def delete(self, task_id: str, *, if_version: int | None = None) -> TaskAnswer:
        """Delete a task that no open job names."""
        path = path_of("tasks", task_id)
        return TaskAnswer(self.sender.json("DELETE", path, headers=matching(if_version)))


@dataclass(frozen=True)
class Calendars:
    """Dates on which jobs do not fire."""

    sender: Sender

    def create(
        self,
        name: str,
        timezone: str,
        *,
        dates: Sequence[date | str] = (),
        ranges: Sequence[tuple[date | str, date | str]] = (),
        ics: str | None = None,
    ) -> CalendarAnswer:
        """Make a calendar of dates, of ranges from the first to the last date, or of a file in iCalendar's format."""
        body = {"name": name, **_calendar(timezone, dates, ranges, ics)}
        return CalendarAnswer(self.sender.json("POST", path_of("calendars"), body))

    def put(
        self,
        name: str,
        timezone: str,
        *,
        dates: Sequence[date | str] = (),
        ranges: Sequence[tuple[date | str, date | str]] = (),
        ics: str | None = None,
        if_version: int | None = None,
    ) -> CalendarAnswer:
        """Make a calendar, or replace all of it."""
        body, path = _calendar(timezone, dates, ranges, ics), path_of("calendars", name)
        return CalendarAnswer(self.sender.json("PUT", path, body, headers=matching(if_version)))

    def get(self, name: str) -> CalendarAnswer:
        """Read a calendar."""
        return CalendarAnswer(self.sender.json("GET", path_of("calendars", name)))

    def list(self, *, limit: int | None = None) -> Pages[CalendarAnswer]:
        """List calendars, by name."""
        return Pages(self.sender, Call("GET", path_of("calendars"), query={"limit": limit}), CalendarAnswer)

    def delete(self, name: str, *, if_version: int | None = None) -> CalendarAnswer:
        """Delete a calendar that no open job names."""
        path = path_of("calendars", name)
        return CalendarAnswer(self.sender.json("DELETE", path, headers=matching(if_version)))

    def history(self, name: str, *, limit: int | None = None) -> Pages[CalendarRevisionAnswer]:
        """List the changes of a calendar, the newest first, also of a deleted one."""
        call = Call("GET", path_of("calendars", name, "revisions"), query={"limit": limit})
        return Pages(self.sender, call, CalendarRevisionAnswer)


def _calendar(
    timezone: str,
    dates: Sequence[date | str],
    ranges: Sequence[tuple[date | str, date | str]],
    ics: str | None,
) -> dict[str, object]:
    body: dict[str, object] = {"timezone": timezone}
    if dates:
        body["dates"] = [json_of(one) for one in dates]
    if ranges:
        body["ranges"] = [{"from": json_of(first), "to": json_of(last)} for first, last in ranges]
    if ics is not None:
        body["ics"] = ics
    return body


@dataclass(frozen=True)
class Freezes:
    """Times in which the fires of many jobs do not start."""

    sender: Sender

    def create(
        self,
        *,
        from_: datetime | None = None,
        to: datetime | None = None,
        tags: Mapping[str, str] | None = None,
        task_id: str | None = None,
        job_ids: Sequence[str] | None = None,
        all_jobs: bool = False,
        reason: str | None = None,
    ) -> FreezeAnswer:
        """Freeze jobs from now or `from_` on, until `to` or until it is lifted."""
        body = _freeze(from_, to, _match(tags, task_id, job_ids, all_jobs=all_jobs), reason)
        return FreezeAnswer(self.sender.json("POST", path_of("freezes"), body))

    def preview(
        self,
        *,
        from_: datetime | None = None,
        to: datetime | None = None,
        tags: Mapping[str, str] | None = None,
        task_id: str | None = None,
        job_ids: Sequence[str] | None = None,
        all_jobs: bool = False,
    ) -> HeldAnswer:
        """Show which fires a freeze would hold; nothing is stored."""
        body = _freeze(from_, to, _match(tags, task_id, job_ids, all_jobs=all_jobs), None)
        return HeldAnswer(self.sender.json("POST", path_of("freezes", verb="preview"), body))

    def list(self, *, over: bool = False, limit: int | None = None) -> Pages[FreezeAnswer]:
        """List the freezes that are not over, the newest first, or those that are."""
        query = {"over": over or None, "limit": limit}
        return Pages(self.sender, Call("GET", path_of("freezes"), query=query), FreezeAnswer)

    def get(self, freeze_id: str) -> FreezeAnswer:
        """Read a freeze that is not over."""
        return FreezeAnswer(self.sender.json("GET", path_of("freezes", freeze_id)))

    def lift(self, freeze_id: str) -> FreezeAnswer:
        """Lift a freeze."""
        return FreezeAnswer(self.sender.json("DELETE", path_of("freezes", freeze_id)))


def _match(
    tags: Mapping[str, str] | None, task_id: str | None, job_ids: Sequence[str] | None, *, all_jobs: bool
) -> dict[str, object]:
    match: dict[str, object] = {"tags": tags, "taskId": task_id, "jobIds": job_ids}
    match = {name: value for name, value in match.items() if value is not None}
    refuse_unless("Name the jobs by tags, task_id or job_ids, or give all_jobs=True.", holds=bool(match) != all_jobs)
    return match or {"all": True}


def _freeze(
    from_: datetime | None, to: datetime | None, match: Mapping[str, object], reason: str | None
) -> dict[str, object]:
    body = {"from": from_, "to": to, "match": match, "reason": reason}
    return {name: value for name, value in body.items() if value is not None}


@dataclass(frozen=True)
class Limits:
    """Bounds that jobs share by name."""

    sender: Sender

    def get(self, name: str) -> LimitAnswer:
        """Read a limit: its bounds, the holders of its slots, and the runs that wait."""
        return LimitAnswer(self.sender.json("GET", path_of("limits", name)))

    def put(
        self,
        name: str,
        *,
        limit: int | None = None,
        per_second: float | None = None,
        burst: int | None = None,
        if_version: int | None = None,
    ) -> LimitAnswer:
        """Set the bounds of a limit, which override those of jobs; without any, those of jobs hold again."""
        bounds = {"limit": limit, "perSecond": per_second, "burst": burst}
        given = {bound: value for bound, value in bounds.items() if value is not None}
        path = path_of("limits", name)
        return LimitAnswer(self.sender.json("PUT", path, given, headers=matching(if_version)))
