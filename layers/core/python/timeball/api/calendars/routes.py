"""The routes of calendars."""

from timeball.api.calendars.answers import CalendarAnswer, CalendarPageAnswer
from timeball.api.calendars.operations import (
    CALENDAR_PARAMETERS,
    delete_a_calendar,
    list_calendars,
    post_calendar,
    put_calendar,
    read_a_calendar,
)
from timeball.api.calendars.request import CalendarBody, CalendarRequest
from timeball.api.http.access import Access
from timeball.api.http.problems import Problem
from timeball.api.http.route import Route

ROUTES: tuple[Route, ...] = (
    Route(
        "POST",
        "/v1/calendars",
        post_calendar,
        "Create a calendar of dates on which jobs do not fire",
        CalendarAnswer,
        status=201,
        body=CalendarRequest,
        headers=("Idempotency-Key",),
        problems=(Problem.CALENDAR_EXISTS,),
        access=Access.OPERATE,
    ),
    Route(
        "GET",
        "/v1/calendars",
        list_calendars,
        "List calendars by name",
        CalendarPageAnswer,
        query=CALENDAR_PARAMETERS,
        access=Access.READ,
    ),
    Route("GET", "/v1/calendars/{name}", read_a_calendar, "Read a calendar", CalendarAnswer, access=Access.READ),
    Route(
        "PUT",
        "/v1/calendars/{name}",
        put_calendar,
        "Create or replace a calendar; repeating the request changes nothing",
        CalendarAnswer,
        body=CalendarBody,
        also={201: CalendarAnswer},
        headers=("If-Match", "If-None-Match"),
        access=Access.OPERATE,
    ),
    Route(
        "DELETE",
        "/v1/calendars/{name}",
        delete_a_calendar,
        "Delete a calendar that no job names",
        CalendarAnswer,
        headers=("If-Match",),
        problems=(Problem.CALENDAR_IN_USE,),
        access=Access.OPERATE,
    ),
)
