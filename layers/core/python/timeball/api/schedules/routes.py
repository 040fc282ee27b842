"""The routes of schedules."""

from timeball.api.http.access import Access
from timeball.api.http.route import Route
from timeball.api.schedules.preview import PreviewAnswer, PreviewRequest, preview_schedule

ROUTES: tuple[Route, ...] = (
    Route(
        "POST",
        "/v1/schedules:preview",
        preview_schedule,
        "Show the next fire times of a schedule; nothing is stored",
        PreviewAnswer,
        body=PreviewRequest,
        keeps_bounds=True,
        access=Access.READ,
    ),
)
