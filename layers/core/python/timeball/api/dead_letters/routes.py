"""The routes of dead letters."""

from timeball.api.dead_letters.answers import DeadLetterPageAnswer, DealtAnswer
from timeball.api.dead_letters.operations import discard_dead_letters, list_dead_letters, replay_dead_letters
from timeball.api.dead_letters.request import DEAD_LETTER_PARAMETERS, DiscardRequest, ReplayRequest
from timeball.api.http.access import Access
from timeball.api.http.route import Route

ROUTES: tuple[Route, ...] = (
    Route(
        "GET",
        "/v1/dead-letters",
        list_dead_letters,
        "List the runs that failed for good, the newest first",
        DeadLetterPageAnswer,
        query=DEAD_LETTER_PARAMETERS,
        access=Access.READ,
    ),
    Route(
        "POST",
        "/v1/dead-letters:replay",
        replay_dead_letters,
        "Try dead letters again, at a pace",
        DealtAnswer,
        body=ReplayRequest,
        headers=("Idempotency-Key",),
        access=Access.OPERATE,
    ),
    Route(
        "POST",
        "/v1/dead-letters:discard",
        discard_dead_letters,
        "Remove dead letters from the list",
        DealtAnswer,
        body=DiscardRequest,
        headers=("Idempotency-Key",),
        access=Access.OPERATE,
    ),
)
