"""List, replay and discard dead letters."""

from functools import partial

from timeball.api.dead_letters.answers import DeadLetterAnswer, DeadLetterPageAnswer, DealtAnswer, dealt_answer
from timeball.api.dead_letters.request import (
    DeadLetterFilter,
    DiscardRequest,
    ReplayRequest,
    Selection,
    read_choice,
    read_filter,
)
from timeball.api.http.access import Access
from timeball.api.http.cursor import PAGE, PageQuery, number
from timeball.api.http.edge import ApiContext, note
from timeball.api.http.reply import Reply, ok
from timeball.api.http.request import Request
from timeball.api.http.request_model import aliases
from timeball.api.http.route import Router
from timeball.api.runs.answers import run_answer
from timeball.domain.model.ids import RunId
from timeball.domain.model.tenants.actor import Action, Resource, ResourceKind
from timeball.engine.context import Context
from timeball.engine.runs.dead_letters import (
    DeadPage,
    Dealt,
    discard,
    list_dead,
    read_dead,
    replay,
)

router = Router()


@router.get(
    "/v1/dead-letters",
    "List the runs that failed for good, the newest first",
    DeadLetterPageAnswer,
    query=(*aliases(DeadLetterFilter), *PAGE),
    access=Access.READ,
)
def list_dead_letters(edge: ApiContext, request: Request) -> Reply:
    """List a tenant's dead letters, the newest first."""
    asked = PageQuery(request)
    wanted = read_filter(request, asked)
    found = list_dead(edge.context, wanted, asked.limit, asked.after(number, partial(RunId.parse, request.tenant)))
    shown = (run_answer(run, DeadLetterAnswer) for run in found.runs)
    return asked.page(edge, zip(shown, found.positions, strict=True), found.next_after)


@router.post(
    "/v1/dead-letters:replay",
    "Try dead letters again, at a pace",
    DealtAnswer,
    body=ReplayRequest,
    headers=("Idempotency-Key",),
    access=Access.OPERATE,
)
def replay_dead_letters(edge: ApiContext, request: Request) -> Reply:
    """Try dead letters again, at most `perSecond` a second, each with a fresh budget of retries."""
    chosen = read_choice("replay", ReplayRequest, request, edge.context.clock.now())
    page = _noted(edge, request, Action.REPLAY, chosen)
    return _dealt(chosen, page, replay(edge.context, page, chosen.per_second, chosen.start_at))


@router.post(
    "/v1/dead-letters:discard",
    "Remove dead letters from the list",
    DealtAnswer,
    body=DiscardRequest,
    headers=("Idempotency-Key",),
    access=Access.OPERATE,
)
def discard_dead_letters(edge: ApiContext, request: Request) -> Reply:
    """Remove dead letters from the list; their runs stay failed in the ledger."""
    chosen = read_choice("discard", DiscardRequest, request, edge.context.clock.now())
    page = _noted(edge, request, Action.DISCARD, chosen)
    return _dealt(chosen, page, discard(edge.context, page))


def _noted(edge: ApiContext, request: Request, action: Action, chosen: Selection) -> DeadPage:
    """Record the request in the list of changes, by its filter or by each run, and return its dead letters."""
    page, asked = _page(edge.context, chosen), chosen.asked
    if asked is None:
        runs = [Resource(ResourceKind.RUN, str(run_id), run_id.job.job_id) for run_id in chosen.ids]
        note(edge, request, action, *runs)
    else:
        note(edge, request, action, Resource(ResourceKind.DEAD_LETTERS, "", asked.job.job_id if asked.job else ""))
    return page


def _page(context: Context, chosen: Selection) -> DeadPage:
    if chosen.within is None:
        return read_dead(context, chosen.ids)
    return list_dead(context, chosen.within, chosen.limit, chosen.after, oldest_first=True)


def _dealt(chosen: Selection, page: DeadPage, dealt: Dealt) -> Reply:
    return ok(dealt_answer(dealt, chosen.next_cursor(page.next_after, dealt.next_start_at)))
