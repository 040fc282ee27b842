"""The caller of a request, and sessions, by which a person at a screen uses an API key without keeping it there.

Invariants: only the answer that makes a session key or a code contains it. A session makes nothing but its own second
session key. A code is used up by one conditional write before its session key is shown, so it begins one session.
"""

from collections.abc import Mapping

from pydantic import Field

from timeball import __version__
from timeball.api.http.access import Access
from timeball.api.http.edge import ApiContext
from timeball.api.http.exchange import (
    AnswerModel,
    NameForPeople,
    Reply,
    Request,
    Time,
    created,
    ok,
    read_optional_body,
    time_of,
)
from timeball.api.http.problems import FieldError, Problem, ProblemError, invalid, over_quota
from timeball.api.http.quotas import quotas_of
from timeball.api.http.request_model import Strict, read_valid
from timeball.api.http.route import Router
from timeball.domain.model.evolve import evolve
from timeball.domain.model.tenants.key import Key, Role
from timeball.domain.model.tenants.session import (
    IDLE_MS,
    LONGEST_CHANGES_SECONDS,
    Session,
    begun,
    fresh_code,
    fresh_session_id,
    fresh_session_key,
    is_offer,
    offered,
    session_of_code,
    with_changes,
)
from timeball.domain.time.instants import SECOND_MS, format_instant
from timeball.engine.compare_and_swap import compare_and_swap
from timeball.ports.errors import ContendedError, UnavailableError
from timeball.ports.rows import Swap

router = Router()

_PATH = "/v1/sessions/current"
_RAISES = "Leave this out, and ask with the session key that this answer gives."


class LimitsOfCallerAnswer(AnswerModel):
    """The limits of a tenant; null: no bound."""

    active_jobs: int | None = Field(description="The most open jobs.")
    submits_per_second: int | None = Field(description="The most jobs and events submitted in a second.")
    runs_per_second: int | None = Field(description="The most attempts that begin in a second.")
    runs_at_once: int | None = Field(description="The most runs under way at once.")
    least_period_seconds: int | None = Field(description="The least seconds between two fires of a job.")
    payload_bytes: int | None = Field(description="The most bytes of a payload.")
    running_backfills: int | None = Field(description="The most backfills that run at once.")
    event_patterns: int | None = Field(description="The most distinct event patterns of its jobs.")
    requests_per_second: int | None = Field(description="The most requests in a second.")
    runs_created_per_minute: int | None = Field(
        description="The most runs that events and fan-outs create in a minute."
    )


class SessionAnswer(AnswerModel):
    """A session of an API key."""

    session_id: str = Field(description="The id of the session.")
    key_id: str = Field(description="The id of its API key. The session ends with this key at the latest.")
    tenant: str = Field(description="The tenant of the API key.")
    tags: Mapping[str, str] = Field(description="The session sees and changes only jobs that have all of these tags.")
    role: Role = Field(description="The role of the session key that the request sent, or that this answer gives.")
    key_role: Role = Field(description="The role of the API key, which `allowChangesForSeconds` asks for.")
    expires_at: Time = Field(description="When that session key ends.")
    session_expires_at: Time = Field(description="When the session ends.")
    idle_seconds: int = Field(description="The session ends early after so many seconds without a request.")
    ended_at: Time | None = Field(description="When it was ended; null if it was not.")


class NewSessionAnswer(SessionAnswer):
    """A session with a new session key."""

    key: str = Field(description="The session key, sent as `Authorization: Bearer tbs_…`; no later answer shows it.")


class SessionCodeAnswer(AnswerModel):
    """A one-time code, which begins a session of the API key that made it."""

    code: str = Field(description="The code, which no later answer shows. It works once.")
    expires_at: Time = Field(description="When the code ends.")


class MeAnswer(AnswerModel):
    """The caller of the request."""

    key_id: str = Field(description="The id of the API key; `iam/` and an AWS principal for a signed request.")
    name: NameForPeople
    role: Role = Field(description="What the request may do.")
    tenant: str = Field(description="The tenant of the key.")
    tags: Mapping[str, str] = Field(description="The key sees and creates only jobs that have all of these tags.")
    expires_at: Time | None = Field(description="When the key or the session key of the request ends; null: never.")
    limits: LimitsOfCallerAnswer = Field(description="The limits of the tenant.")
    session: SessionAnswer | None = Field(description="The session of the request; null if it has an API key itself.")
    server_version: str = Field(description="The release of the Timeball that answers, such as 0.1.0.")


class SessionRequest(Strict):
    """A new session, or the right to make changes for a while."""

    code: str | None = Field(
        None, description="A one-time code, sent without an Authorization header, begins the session.", max_length=256
    )
    allow_changes_for_seconds: int | None = Field(
        None,
        ge=1,
        le=LONGEST_CHANGES_SECONDS,
        description=(
            "With a session key: for how many seconds another session key may do what the API key may. It guards "
            "against slips, and not against theft."
        ),
    )


@router.get("/v1/me", "Read who the caller is", MeAnswer, keeps_bounds=True, access=Access.IDENTIFY)
def get_me(edge: ApiContext, request: Request) -> Reply:
    """Read the caller: its key, role, tenant, tags, expiry and limits."""
    quotas = quotas_of(edge, request)
    limits = {name: getattr(quotas, name) or None for name in LimitsOfCallerAnswer.model_fields}
    key = None if _is_signed(request) else _key(edge, request)
    session = None if key is None or request.session is None else _shown(_current(edge, request), key, request)
    answer = MeAnswer(
        key_id=request.by.key_id or "",
        name=None if key is None else key.name,
        role=Role(request.by.role or ""),
        tenant=request.tenant,
        tags=request.bounds,
        expires_at=session.expires_at if session else time_of(None if key is None else key.expires_at),
        limits=LimitsOfCallerAnswer(**limits),
        session=session,
        server_version=__version__,
    )
    return ok(answer)


@router.post(
    "/v1/sessions",
    "Begin a session, or let it make changes for a while; only this answer shows the session key",
    NewSessionAnswer,
    status=201,
    body=SessionRequest,
    is_body_optional=True,
    keeps_bounds=True,
    takes_code=True,
    access=Access.SIGN_IN,
)
def create_session(edge: ApiContext, request: Request) -> Reply:
    """Begin a session of an API key, by the key or by a code; or make the second session key of a session."""
    body = read_optional_body(request)
    if not request.tenant and "code" not in body:
        raise _unauthenticated("Send an API key, `Authorization: Bearer tb_...`, or a one-time code as `code`.")
    wanted = read_valid(SessionRequest, body)
    if not request.tenant:
        return _exchange(edge, wanted)
    if wanted.code is not None:
        raise invalid([FieldError("code", "Send a code without an Authorization header, or leave it out.")])
    key = _key(edge, request)
    if request.session is not None:
        return _allow_changes(edge, request, key, wanted.allow_changes_for_seconds)
    if wanted.allow_changes_for_seconds is not None:
        raise invalid([FieldError("allowChangesForSeconds", _RAISES)])
    now = edge.context.clock.now()
    session_id = fresh_session_id(key.key_id, edge.random_bytes())
    text = fresh_session_key(session_id, edge.random_bytes() + edge.random_bytes())
    session = begun(Session(session_id, now, now, now), text, key, now)
    _insert(edge, session, now)
    return _created(session, key, text)


@router.post(
    "/v1/sessions/codes",
    "Make a one-time code, which begins a session of this API key; only this answer shows it",
    SessionCodeAnswer,
    status=201,
    keeps_bounds=True,
    access=Access.SIGN_IN,
)
def create_session_code(edge: ApiContext, request: Request) -> Reply:
    """Make a code that begins a session once, within ten minutes."""
    if request.session is not None:
        raise _needs_key("make codes")
    key, now = _key(edge, request), edge.context.clock.now()
    session_id = fresh_session_id(key.key_id, edge.random_bytes())
    code = fresh_code(session_id, edge.random_bytes())
    session = offered(session_id, code, now)
    _insert(edge, session, now)
    return created(SessionCodeAnswer(code=code, expires_at=format_instant(session.expires_at)), "/v1/sessions")


@router.delete(
    _PATH,
    "End the session of this request",
    SessionAnswer,
    problems=(Problem.NO_SESSION,),
    keeps_bounds=True,
    access=Access.SIGN_IN,
)
def end_session(edge: ApiContext, request: Request) -> Reply:
    """End the session of this request, and both of its session keys, within a minute."""
    key, now = _key(edge, request), edge.context.clock.now()
    if request.session is None:
        raise ProblemError(
            Problem.NO_SESSION, "This request has an API key, which stays valid; an admin revokes it at /v1/admin/keys."
        )

    def ended(_: int, session: Session) -> Session | None:
        return evolve(session, ended_at=now) if session.ended_at is None else None

    done = compare_and_swap(edge.admin.sessions.swap, [_current(edge, request)], ended, now)[0]
    if done.row is None or done.row.ended_at is None:
        raise UnavailableError("the session kept changing")
    return ok(_shown(done.row, key, request))


def _exchange(edge: ApiContext, wanted: SessionRequest) -> Reply:
    """Begin the session that a code offers, for an API key and a tenant that may use it now."""
    if wanted.allow_changes_for_seconds is not None:
        raise invalid([FieldError("allowChangesForSeconds", _RAISES)])
    now = edge.context.clock.now()
    session = _offer(edge, wanted.code or "", now)
    key = edge.admin.keys.read([session.key_id])[0]
    if key is None or not key.is_valid(now) or not key.role.includes(Role.VIEWER):
        raise _no_such_code()
    tenant = edge.admin.tenants.read([key.tenant])[0]
    if tenant is None or tenant.deleted_at is not None or tenant.disabled_at is not None:
        raise _no_such_code()
    text = fresh_session_key(session.session_id, edge.random_bytes() + edge.random_bytes())
    done = edge.admin.sessions.swap([Swap(session, begun(session, text, key, now))], now)[0]
    if not done.done or done.row is None:
        raise _no_such_code()  # another request has used it
    return _created(done.row, key, text)


def _offer(edge: ApiContext, code: str, now: int) -> Session:
    """Return the session that a code offers; refuse a code that is used, old, or none, with one sentence for all."""
    session_id = session_of_code(code)
    if session_id is None:
        raise _no_such_code()
    if not edge.codes.takes(now):
        raise over_quota("codesPerSecond", "Too many codes were sent; repeat this request a second later.", 1)
    session = edge.admin.sessions.read([session_id])[0]
    if session is None or not is_offer(session, code, now):
        raise _no_such_code()
    return session


def _allow_changes(edge: ApiContext, request: Request, key: Key, seconds: int | None) -> Reply:
    """Make the session key that may do what the API key may, in place of an earlier one."""
    if seconds is None:
        raise _needs_key("begin sessions; with `allowChangesForSeconds` it may make changes for a while")
    session, now = _current(edge, request), edge.context.clock.now()
    text = fresh_session_key(session.session_id, edge.random_bytes() + edge.random_bytes())

    def allowed(_: int, standing: Session) -> Session | None:
        return with_changes(standing, text, seconds, now) if standing.is_open(now) else None

    done = compare_and_swap(edge.admin.sessions.swap, [session], allowed, now)[0]
    if not done.done or done.row is None:
        raise _over()
    return _created(done.row, key, text, may_change=True)


def _insert(edge: ApiContext, session: Session, now: int) -> None:
    if edge.admin.sessions.insert([session], now)[0] is not None:
        raise ContendedError("a fresh id was taken")


def _key(edge: ApiContext, request: Request) -> Key:
    """Return the API key of the caller as it is now: the authorizer may have read it a minute ago."""
    if _is_signed(request):
        raise ProblemError(Problem.FORBIDDEN, "A signed request has no API key, and sessions belong to API keys.")
    key = edge.admin.keys.read([request.by.key_id or ""])[0]
    if key is None or not key.is_valid(edge.context.clock.now()):
        raise _over()
    return key


def _is_signed(request: Request) -> bool:
    return (request.by.key_id or "").startswith("iam/")


def _current(edge: ApiContext, request: Request) -> Session:
    """Return the session of a request as it is now, if it is open. Raises ProblemError."""
    session = edge.admin.sessions.read([request.session or ""])[0]
    if session is None or not session.is_open(edge.context.clock.now()):
        raise _over()
    return session


def _created(session: Session, key: Key, text: str, *, may_change: bool = False) -> Reply:
    shown = _answer(session, key, key.role if may_change else Role.VIEWER, may_change=may_change)
    return created(NewSessionAnswer(**shown.model_dump(), key=text), _PATH)


def _shown(session: Session, key: Key, request: Request) -> SessionAnswer:
    role = Role(request.by.role or "")
    return _answer(session, key, role, may_change=role is not Role.VIEWER)


def _answer(session: Session, key: Key, role: Role, *, may_change: bool) -> SessionAnswer:
    ends_at = min(session.expires_at, key.expires_at or session.expires_at)
    return SessionAnswer(
        session_id=session.session_id,
        key_id=key.key_id,
        tenant=key.tenant,
        tags=key.tags,
        role=role,
        key_role=key.role,
        expires_at=format_instant(min(ends_at, session.changes_until) if may_change else ends_at),
        session_expires_at=format_instant(ends_at),
        idle_seconds=IDLE_MS // SECOND_MS,
        ended_at=time_of(session.ended_at),
    )


def _needs_key(what: str) -> ProblemError:
    return ProblemError(Problem.FORBIDDEN, f"This needs the API key itself; a session cannot {what}.")


def _over() -> ProblemError:
    return _unauthenticated("This key or session is over; begin another session.", 'Bearer error="invalid_token"')


def _no_such_code() -> ProblemError:
    return _unauthenticated("This code was used, is older than ten minutes, or never existed; ask for another.")


def _unauthenticated(sentence: str, challenge: str = "Bearer") -> ProblemError:
    return ProblemError(Problem.UNAUTHENTICATED, sentence, headers={"WWW-Authenticate": challenge})
