"""The requests of admins: tenants and keys."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Annotated, Any, Final

from pydantic import ConfigDict, Field, WithJsonSchema

from timeball.api.http.fields import Instant, Name, Tags
from timeball.api.http.problems import FieldError
from timeball.api.http.request_model import ByValue, Strict, read_fields
from timeball.api.http.schema_rules import needed, together
from timeball.api.jobs.notify import NotifyRequest, bad_notify
from timeball.api.jobs.patch import patched_notify
from timeball.api.schedules.fields import ZoneName
from timeball.domain.model.jobs.job import Priority
from timeball.domain.model.tenants import tenant as bounds
from timeball.domain.model.tenants.key import Role
from timeball.domain.model.tenants.tenant import Tenant

MAX_KEY_TAGS: Final = 10
LONGEST_OVERLAP_SECONDS: Final = 7 * 24 * 3600

RoleName = Annotated[str, Field(), WithJsonSchema({"enum": [role.value for role in Role]})]


def _rules_of_a_tenant(schema: dict[str, Any]) -> None:
    needed("name")(schema)
    schema["properties"]["name"]["pattern"] = f"^{bounds.TENANT_NAME.pattern}$"


def _quota(most: int, *, description: str, least: int = 0) -> Any:  # noqa: ANN401 - as pydantic's Field
    return Field(None, ge=least, le=most, description=description)


class QuotasRequest(Strict):
    """Quotas of one tenant; null: the setting for all tenants."""

    active_jobs: int | None = _quota(bounds.MOST_ACTIVE_JOBS, description="The most open jobs; 0: no bound.")
    submits_per_second: int | None = _quota(
        bounds.MOST_SUBMITS,
        description="The most jobs and events submitted in a second; 0: no bound, and nothing is counted.",
    )
    runs_per_second: int | None = _quota(
        bounds.MOST_RUNS_PER_SECOND, description="The most attempts that begin in a second; more wait. 0: no bound."
    )
    runs_at_once: int | None = _quota(
        bounds.MOST_RUNS_AT_ONCE, description="The most runs under way at once; more wait. 0: no bound."
    )
    least_period_seconds: int | None = _quota(
        bounds.LONGEST_LEAST_PERIOD_SECONDS, description="The least seconds between two fires of a job; 0: one second."
    )
    payload_bytes: int | None = _quota(bounds.MOST_PAYLOAD_BYTES, description="The most bytes of a payload; 0: 256 KB.")
    running_backfills: int | None = _quota(
        bounds.MOST_RUNNING_BACKFILLS, least=1, description="The most backfills that run at once; more wait."
    )
    event_patterns: int | None = _quota(
        bounds.MOST_EVENT_PATTERNS, description="The most distinct event patterns of its jobs; 0: no bound."
    )
    requests_per_second: int | None = _quota(
        bounds.MOST_REQUESTS_PER_SECOND,
        description=(
            "The most requests in a second, of all its keys, that each process of the authorizer admits; 0: no bound."
        ),
    )
    runs_created_per_minute: int | None = _quota(
        bounds.MOST_RUNS_CREATED,
        description="The most runs that events and fan-outs create in a minute; more are created later. 0: no bound.",
    )


class DefaultsRequest(Strict):
    """Defaults of one tenant's jobs; null: none."""

    timezone: ZoneName | None = Field(None, description="The IANA time zone of new jobs that name none.")
    priority_ceiling: Annotated[Priority, ByValue] | None = Field(
        None, description="The highest priority that its jobs may state, and that their new runs have."
    )
    notify: NotifyRequest | None = Field(
        None,
        description=f"The `notify` of new jobs that state none; at most {bounds.MOST_NOTIFY_BYTES} bytes of JSON.",
    )


class TenantRequest(Strict):
    """A tenant."""

    model_config = ConfigDict(json_schema_extra=_rules_of_a_tenant)

    name: str | None = Field(None, description="1 to 40 letters, digits and hyphens; it never changes.")
    weight: int | None = Field(
        None,
        ge=bounds.LEAST_WEIGHT,
        le=bounds.GREATEST_WEIGHT,
        description="Its share where tenants contend: weight 2 gets twice the dispatches of weight 1, the default.",
    )
    quotas: QuotasRequest | None = Field(None, description="Its own quotas.")
    defaults: DefaultsRequest | None = Field(None, description="The defaults of its jobs.")
    disabled: bool | None = Field(None, description="True: nothing of it starts, and its keys may only report on runs.")


def _rules_of_a_key(schema: dict[str, Any]) -> None:
    needed("role")(schema)
    few = {"properties": {"tags": {"maxProperties": MAX_KEY_TAGS}}}
    unbounded = [{"properties": {"tags": {"maxProperties": 0}}}, {"properties": {"role": {"not": {"const": "admin"}}}}]
    together(also=[few, {"anyOf": unbounded}])(schema)


class KeyRequest(Strict):
    """An API key."""

    model_config = ConfigDict(json_schema_extra=_rules_of_a_key)

    role: RoleName | None = Field(None, description="What the key may do.")
    name: Name | None = Field(None, description="A name for people.")
    tags: Tags | None = Field(
        None, description=f"The key sees and creates only jobs that have all of these tags; at most {MAX_KEY_TAGS}."
    )
    expires_at: Instant | None = Field(None, description="When it expires; default: never.")


class RotateRequest(Strict):
    """A key that replaces another."""

    overlap_seconds: int | None = Field(
        None, ge=0, le=LONGEST_OVERLAP_SECONDS, description="How many seconds the old key stays valid; default: a day."
    )


def read_tenant(body: dict[str, Any], named: str | None = None) -> tuple[TenantRequest, list[FieldError]]:
    """Return the tenant that is asked for, or the change of the tenant `named`; and every error."""
    wanted, given, errors = read_fields(TenantRequest, body)
    if "name" not in {error.field for error in errors}:
        errors += _bad_new_name(wanted, given) if named is None else _changed_name(body, wanted, named)
    notify = None if wanted.defaults is None else wanted.defaults.notify
    return wanted, [*errors, *(_of_defaults(error) for error in bad_notify(notify))]


def _bad_new_name(wanted: TenantRequest, given: set[str]) -> Iterator[FieldError]:
    if "name" not in given:
        yield FieldError("name", "This field is required.")
    elif not bounds.TENANT_NAME.fullmatch(wanted.name or ""):
        yield FieldError("name", "Give 1 to 40 letters, digits and hyphens.")


def _changed_name(body: dict[str, Any], wanted: TenantRequest, named: str) -> Iterator[FieldError]:
    if "name" in body and wanted.name != named:
        yield FieldError("name", "A tenant keeps its name; leave this out.")


def read_tenant_patch(body: dict[str, Any], tenant: Tenant) -> tuple[TenantRequest, list[FieldError]]:
    """Return the change that a merge patch makes of a tenant, with the whole `notify`; and every error."""
    defaults, errors = body.get("defaults"), list[FieldError]()
    if isinstance(defaults, dict) and isinstance(defaults.get("notify"), dict):
        notify, errors = patched_notify(tenant.defaults.notify, defaults["notify"])
        body = {**body, "defaults": {**defaults, "notify": notify}}
    wanted, others = read_tenant(body, tenant.name)
    return wanted, [*others, *map(_of_defaults, errors)]


def _of_defaults(error: FieldError) -> FieldError:
    return replace(error, field=f"defaults.{error.field}")


def read_key(
    body: dict[str, Any], now: int, *, was_to_end_at: int | None = None
) -> tuple[KeyRequest, list[FieldError]]:
    """Return the key that is asked for, and every error; an expiry that the key has already may be in the past."""
    wanted, given, errors = read_fields(KeyRequest, body)
    errors += [*_bad_role(wanted, given, {error.field for error in errors}), *_bad_tags(wanted)]
    if wanted.expires_at is not None and wanted.expires_at <= now and wanted.expires_at != was_to_end_at:
        errors.append(FieldError("expiresAt", "This is in the past; give a later time, or revoke the key."))
    return wanted, errors


def _bad_role(wanted: KeyRequest, given: set[str], wrong: set[str]) -> Iterator[FieldError]:
    roles = [role.value for role in Role]
    if "role" not in given:
        yield FieldError("role", f"Say what the key may do: give one of {', '.join(roles)}.")
    elif "role" not in wrong and wanted.role not in roles:
        yield FieldError("role", f"Use one of {', '.join(roles)}.")


def _bad_tags(wanted: KeyRequest) -> Iterator[FieldError]:
    if wanted.tags and wanted.role == Role.ADMIN:
        yield FieldError("tags", "An admin's key cannot be bounded to tags; leave them out.")
    if len(wanted.tags or ()) > MAX_KEY_TAGS:
        yield FieldError("tags", f"A key may be bounded to at most {MAX_KEY_TAGS} tags.")
