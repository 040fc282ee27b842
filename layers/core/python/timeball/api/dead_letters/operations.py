"""List, replay and discard dead letters."""

from functools import partial
from typing import Final

from pydantic import Field

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
from timeball.api.http.exchange import AnswerModel, IdOfJob, NextCursor, Reply, Request, Text, Time, attribute, ok
from timeball.api.http.problems import Problem, not_found
from timeball.api.http.request_model import aliases
from timeball.api.http.route import Router
from timeball.api.runs.answers import RunAnswer, next_attempt_at, run_answer
from timeball.domain.model.ids import RunId
from timeball.domain.model.tenants.actor import Action, Resource, ResourceKind
from timeball.engine.context import Context
from timeball.engine.runs.dead_letters import (
    DeadPage,
    Dealt,
    discard,
    group_dead,
    list_dead,
    read_dead,
    replay,
)

router = Router()

MAX_SHOWN: Final = 100
"""The most replayed or discarded dead letters that an answer shows."""


class DeadLetterAnswer(RunAnswer):
    """A run that failed for good, with the result of its last attempt."""

    died_at: Time = attribute("finished_at", description="When it failed for good.")
    error: str | None = attribute("last.error", description="The first 200 bytes of the last attempt's error.")
    http_status: int | None = attribute("last.status", description="The HTTP status of the last attempt.")


class DeadLetterPageAnswer(AnswerModel):
    """A page of dead letters, the newest first. A filter may leave a page short or empty although more pages follow."""

    items: list[DeadLetterAnswer] = Field(description="The dead letters.")
    next_cursor: NextCursor


class DeadLetterGroupAnswer(AnswerModel):
    """Dead letters of one job that failed in the same way."""

    fingerprint: str = Field(
        description="Names the group: a hash of the job and the error without numbers, ids and quoted values."
    )
    job_id: IdOfJob
    error: str = Field(description="The error of the newest of them, its first 200 bytes; without one the reason.")
    count: int = Field(description="How many of them this page has.")
    first_at: Time = Field(description="When the oldest of these failed for good.")
    last_at: Time = Field(description="When the newest of these failed for good.")


class DeadLetterGroupPageAnswer(AnswerModel):
    """Groups of dead letters, the one with the newest first. A page counts 1,000 dead letters at the most."""

    items: list[DeadLetterGroupAnswer] = Field(
        description="The groups. A group that goes on in the next page is an item there too: add its counts."
    )
    next_cursor: NextCursor


class DealtRunAnswer(AnswerModel):
    """A dead letter that was replayed or discarded."""

    run_id: Text = attribute("id", description="The id of the run.")
    next_attempt_at: Time | None = Field(description="When a replayed run starts; null for a discarded one.")


class DealtAnswer(AnswerModel):
    """The result of a replay or a discard."""

    done: int = Field(description="How many were replayed or discarded.")
    runs: list[DealtRunAnswer] = Field(description="The first 100 of them.")
    refused: list[Text] = Field(description="The ids of runs that are not dead letters, or whose job cannot run again.")
    next_cursor: str | None = Field(description="With a filter, the `cursor` of the next request; null at the end.")


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


@router.get(
    "/v1/dead-letters:groups",
    "List the groups of dead letters that failed in the same way, with their counts",
    DeadLetterGroupPageAnswer,
    query=(*aliases(DeadLetterFilter), *PAGE),
    access=Access.READ,
)
def list_dead_letter_groups(edge: ApiContext, request: Request) -> Reply:
    """List the groups of a tenant's dead letters, the one with the newest first."""
    asked = PageQuery(request)
    wanted = read_filter(request, asked)
    after = asked.after(number, partial(RunId.parse, request.tenant))
    groups, next_after = group_dead(edge.context, wanted, asked.limit, after)
    return asked.page(edge, ((DeadLetterGroupAnswer.about(one), ()) for one in groups), next_after)


@router.post(
    "/v1/dead-letters:replay",
    "Try dead letters again, at a pace",
    DealtAnswer,
    body=ReplayRequest,
    headers=("Idempotency-Key",),
    problems=(Problem.NOT_FOUND,),
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
    problems=(Problem.NOT_FOUND,),
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
    is_first = asked is not None and asked.fingerprint is not None and chosen.after is None
    if is_first and not page.runs and page.next_after is None:
        raise not_found("You have no dead letters with this fingerprint; list the groups at /v1/dead-letters:groups.")
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
    runs = [DealtRunAnswer.about(run, next_attempt_at=next_attempt_at(run)) for run in dealt.done[:MAX_SHOWN]]
    cursor = chosen.next_cursor(page.next_after, dealt.next_start_at)
    return ok(DealtAnswer.about(dealt, done=len(dealt.done), runs=runs, next_cursor=cursor))
