"""Create, read, change, rotate and revoke a tenant's keys, as its admin or an admin of the operating tenant.

Invariants: only the answer that creates a key contains the key itself. No key grants what outlives it: a key that
another key creates, rotates or gives more access ends no later than that key.
"""

from collections.abc import Mapping
from typing import Any

from pydantic import Field

from timeball.api.admin.request import KeyRequest, RotateRequest, read_key
from timeball.api.admin.tenants import standing_tenant
from timeball.api.http.access import Access
from timeball.api.http.body import merge
from timeball.api.http.cursor import PAGE, PageQuery, text_like
from timeball.api.http.edge import ApiContext
from timeball.api.http.exchange import (
    MERGE_PATCH,
    AnswerModel,
    CreatedAt,
    NameForPeople,
    NextCursor,
    Reply,
    Request,
    Time,
    Version,
    check_version,
    created,
    expected_version,
    ok,
    read_body,
    read_optional_body,
)
from timeball.api.http.problems import FieldError, Problem, ProblemError, invalid, not_found
from timeball.api.http.request_model import aliases, read_valid
from timeball.api.http.route import Router
from timeball.domain.model.evolve import evolve
from timeball.domain.model.tenants.actor import Action, Resource, ResourceKind
from timeball.domain.model.tenants.key import KEY_ID, Key, Role, fresh_key, grants_more, hash_of, id_in, tenant_of
from timeball.domain.time.instants import DAY_MS, SECOND_MS, format_instant
from timeball.engine.changes.history import announce
from timeball.engine.compare_and_swap import compare_and_swap
from timeball.ports.errors import ContendedError, UnavailableError
from timeball.ports.rows import Swap

router = Router()


class KeyAnswer(AnswerModel):
    """An API key without the key itself."""

    key_id: str = Field(description="The id of the key.")
    tenant: str = Field(description="The tenant that it belongs to.")
    name: NameForPeople
    role: Role = Field(description="What the key may do.")
    tags: Mapping[str, str] = Field(description="The key sees and creates only jobs that have all of these tags.")
    created_at: CreatedAt
    created_by: str | None = Field(description="The id of the key that created it.")
    expires_at: Time | None = Field(description="When it expires; null: never.")
    revoked_at: Time | None = Field(description="When it was revoked; null if it was not.")
    version: Version = Field(validation_alias="revision")


class NewKeyAnswer(KeyAnswer):
    """A new key."""

    key: str = Field(description="The key itself, which no later answer shows.")


class KeyPageAnswer(AnswerModel):
    """A page of keys, by id."""

    items: list[KeyAnswer] = Field(description="The keys.")
    next_cursor: NextCursor


@router.post(
    "/keys",
    "Create an API key; only this answer shows it",
    NewKeyAnswer,
    status=201,
    body=KeyRequest,
    access=Access.ADMINISTER,
)
def create_key(edge: ApiContext, request: Request) -> Reply:
    """Create a key; only this answer shows it."""
    wanted, errors = read_key(read_body(request), edge.context.clock.now())
    longest_at = _ends_at(edge, request)
    if wanted.expires_at is not None:
        errors += _outlives(wanted.expires_at, longest_at)
    if errors or wanted.role is None:
        raise invalid(errors)
    tenant, ends_at = standing_tenant(edge, request).name, wanted.expires_at or longest_at
    made = Key("", "", Role(wanted.role), 0, wanted.name, wanted.tags or {}, expires_at=ends_at)
    return _created(edge, request, tenant, made)


@router.get(
    "/keys",
    "List API keys, without the keys themselves",
    KeyPageAnswer,
    query=PAGE,
    access=Access.ADMINISTER,
)
def list_keys(edge: ApiContext, request: Request) -> Reply:
    """List a tenant's keys, including revoked and expired ones."""
    asked = PageQuery(request)
    (after,) = asked.after(text_like(KEY_ID)) or ("",)
    tenant = standing_tenant(edge, request).name
    found = edge.admin.keys.of_owner(tenant, after, asked.limit + 1)
    return asked.first(edge, found, KeyAnswer.about, lambda one: (one.key_id,))


@router.get("/keys/{keyId}", "Read an API key, without the key itself", KeyAnswer, access=Access.ADMINISTER)
def get_key(edge: ApiContext, request: Request) -> Reply:
    """Read a key, without the key itself."""
    key = _standing(edge, request)
    return ok(KeyAnswer.about(key), version=key.revision)


@router.patch(
    "/keys/{keyId}",
    "Change what an API key may do, or when it expires",
    KeyAnswer,
    body=KeyRequest,
    headers=("If-Match",),
    problems=(Problem.KEY_REVOKED, Problem.LOCKS_OUT),
    access=Access.ADMINISTER,
)
def update_key(edge: ApiContext, request: Request) -> Reply:
    """Change what a key may do, or when it expires. The change takes effect within a minute."""
    patch, version = read_body(request, MERGE_PATCH), expected_version(request)
    key = _live(_standing(edge, request))
    after = _patched(key, patch, edge.context.clock.now())
    if grants_more(key, after) and (refused := _outlives(after.expires_at, _ends_at(edge, request))):
        raise invalid(refused)
    is_own = key.key_id == request.by.key_id
    if is_own and (after.role, after.expires_at) != (key.role, key.expires_at):
        raise _locks_out()
    check_version("key", key.revision, version, "change")
    changed = key if after == key else _swapped(edge, request, key, after, Action.PATCH)
    return ok(KeyAnswer.about(changed), version=changed.revision)


@router.post(
    "/keys/{keyId}/rotate",
    "Create a successor of an API key, which stays valid for a while",
    NewKeyAnswer,
    status=201,
    body=RotateRequest,
    is_body_optional=True,
    problems=(Problem.KEY_REVOKED,),
    access=Access.ADMINISTER,
)
def rotate_key(edge: ApiContext, request: Request) -> Reply:
    """Create a successor of a key; the old key stays valid for a while, so that no client is cut off."""
    wanted = read_valid(RotateRequest, read_optional_body(request))
    old, now = _live(_standing(edge, request)), edge.context.clock.now()
    overlap_ms = DAY_MS if wanted.overlap_seconds is None else wanted.overlap_seconds * SECOND_MS
    lifetime_ms = None if old.expires_at is None else old.expires_at - old.created_at
    longest_at = _ends_at(edge, request)
    if refused := _outlives(old.expires_at, longest_at):  # the successor would end before the old key
        raise invalid(refused)
    bounds = (None if lifetime_ms is None else now + lifetime_ms, longest_at)
    new_ends_at = min((one for one in bounds if one is not None), default=None)
    reply = _created(edge, request, old.tenant, evolve(old, expires_at=new_ends_at, revision=1))
    ends_at = now + overlap_ms

    def ended(_: int, key: Key) -> Key | None:
        goes_on = key.revoked_at is None and (key.expires_at is None or key.expires_at > ends_at)
        return evolve(key, expires_at=ends_at) if goes_on else None

    _note(edge, request, Action.ROTATE, old)
    if not compare_and_swap(edge.admin.keys.swap, [old], ended, now)[0].done:
        raise UnavailableError(f"key {old.key_id} kept changing, and its successor is made")
    return reply


@router.delete(
    "/keys/{keyId}",
    "Revoke an API key",
    KeyAnswer,
    headers=("If-Match",),
    problems=(Problem.LOCKS_OUT,),
    access=Access.ADMINISTER,
)
def revoke_key(edge: ApiContext, request: Request) -> Reply:
    """Revoke a key; it stops working within a minute. A repeat gives the same answer."""
    version = expected_version(request)
    key = _standing(edge, request)
    if key.revoked_at is not None:
        check_version("key", key.revision, version, "change")
        return ok(KeyAnswer.about(key), version=key.revision)
    if key.key_id == request.by.key_id:
        raise _locks_out()
    check_version("key", key.revision, version, "change")
    done = _swapped(edge, request, key, evolve(key, revoked_at=edge.context.clock.now()), Action.REVOKE)
    return ok(KeyAnswer.about(done), version=done.revision)


def _patched(key: Key, patch: Mapping[str, Any], now: int) -> Key:
    """Return a key after a patch. Raises ProblemError that names every error."""
    document = {"role": key.role.value, "name": key.name, "tags": dict(key.tags)}
    if key.expires_at is not None:
        document["expiresAt"] = format_instant(key.expires_at)
    unknown = {name: None for name in patch if name not in aliases(KeyRequest)}  # a null, too
    wanted, errors = read_key({**merge(document, patch), **unknown}, now, was_to_end_at=key.expires_at)
    if errors or wanted.role is None:
        raise invalid(errors)
    return evolve(key, role=Role(wanted.role), name=wanted.name, tags=wanted.tags or {}, expires_at=wanted.expires_at)


def _created(edge: ApiContext, request: Request, tenant: str, like: Key) -> Reply:
    now = edge.context.clock.now()
    text = fresh_key(tenant, edge.random_bytes() + edge.random_bytes())
    key = evolve(like, key_id=id_in(text) or "", hashed=hash_of(text), created_at=now, created_by=request.by.key_id)
    _note(edge, request, Action.CREATE, key)
    if edge.admin.keys.insert([key], now)[0] is not None:
        raise ContendedError("a fresh id was taken")
    location = f"/v1/admin/tenants/{tenant}/keys/{key.key_id}"
    return created(NewKeyAnswer.about(key, key=text), location, version=key.revision)


def _standing(edge: ApiContext, request: Request) -> Key:
    key_id = request.path["keyId"]
    tenant = standing_tenant(edge, request).name
    is_own = KEY_ID.fullmatch(key_id) and tenant_of(key_id) == tenant
    key = edge.admin.keys.read([key_id])[0] if is_own else None
    if key is None:
        raise not_found("The tenant has no API key with this id; list its keys at .../keys.")
    return key


def _ends_at(edge: ApiContext, request: Request) -> int | None:
    """Return when the key of a request expires (ms); None: never."""
    own = edge.admin.keys.read([request.by.key_id or ""])[0]
    return None if own is None else own.expires_at


def _outlives(ends_at: int | None, longest_at: int | None) -> list[FieldError]:
    """Return an error if a key would expire after the key that creates or changes it."""
    if longest_at is None or (ends_at is not None and ends_at <= longest_at):
        return []
    sentence = (
        f"The key of this request expires at {format_instant(longest_at)} and grants nothing after that: "
        "give that time or an earlier one, or use a key that never expires."
    )
    return [FieldError("expiresAt", sentence)]


def _live(key: Key) -> Key:
    if key.revoked_at is not None:
        raise ProblemError(Problem.KEY_REVOKED, "This key is revoked for good; create another one.")
    return key


def _swapped(edge: ApiContext, request: Request, before: Key, after: Key, action: Action) -> Key:
    _note(edge, request, action, before)
    done = edge.admin.keys.swap([Swap(before, after)], edge.context.clock.now())[0]
    if not done.done or done.row is None:
        raise ContendedError(f"key {before.key_id} was changed meanwhile")
    return done.row


def _locks_out() -> ProblemError:
    return ProblemError(
        Problem.LOCKS_OUT, "This request uses this very key, and it may be the last admin's; use another key for it."
    )


def _note(edge: ApiContext, request: Request, action: Action, key: Key) -> None:
    """Record an action on a key in the list of changes of the key's tenant, whichever tenant the caller has."""
    announce(edge.context, key.tenant, request.by, action, [Resource(ResourceKind.KEY, key.key_id)])
