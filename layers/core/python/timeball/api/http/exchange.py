"""A request as the operations see it, the headers that control it, and the reply.

Names are in camelCase. An answer has all of its fields, null where there is no value. Fields that many answers share
are types here, such as `CreatedAt`, with their descriptions; http/fields.py has those of requests.
"""

import base64
import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Final, Self
from urllib.parse import parse_qsl

from pydantic import (
    AliasChoices,
    AliasGenerator,
    AliasPath,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    WithJsonSchema,
)
from pydantic.alias_generators import to_camel

from timeball.api.http.body import read_object, read_objects
from timeball.api.http.problems import FieldError, Problem, ProblemError, invalid, shortened
from timeball.domain.model.tenants.actor import NO_ACTOR, Actor
from timeball.domain.model.tenants.tenant import NO_DEFAULTS, NO_QUOTAS, Defaults, Quotas
from timeball.domain.time.instants import SECOND_MS, format_instant


def _text(at: object) -> object:
    return format_instant(at) if isinstance(at, int) else at


def _seconds(duration: object) -> object:
    return duration / SECOND_MS if isinstance(duration, int) else duration


Text = Annotated[str, BeforeValidator(str)]
"""The text of a value, such as a run's id."""
Filled = Annotated[str | None, BeforeValidator(lambda text: text or None)]
"""A text that is null if it is empty."""
Seconds = Annotated[float, BeforeValidator(_seconds)]
"""A duration in an answer; milliseconds become seconds."""
Time = Annotated[
    str,
    BeforeValidator(_text),
    WithJsonSchema({"type": "string", "format": "date-time", "examples": ["2026-11-21T09:30:00.000Z"]}),
]
"""A time in an answer; an instant (ms) becomes its text."""

CreatedAt = Annotated[Time, Field(description="When it was created.")]
UpdatedAt = Annotated[Time, Field(description="When it last changed.")]
CreatedBy = Annotated[str | None, Field(description="The id of the API key that created it.")]
EndedAt = Annotated[Time | None, Field(description="When it ended.")]
IdOfJob = Annotated[str, Field(description="The id of the job.")]
IdOfRun = Annotated[Text, Field(description="The id of the run.")]
NameForPeople = Annotated[str | None, Field(description="A name for people.")]
WhyItFailed = Annotated[str | None, Field(description="Why it failed.")]
Version = Annotated[int, Field(description="The number of the version, from 1; the `ETag` is this number in quotes.")]
NextCursor = Annotated[str | None, Field(description="The `cursor` of the next page; null on the last page.")]


class AnswerModel(BaseModel):
    """A part of an answer, also made from a value of the domain whose attributes have the names of its fields."""

    model_config = ConfigDict(alias_generator=to_camel, validate_by_name=True, frozen=True, from_attributes=True)

    @classmethod
    def about(cls, value: object, **others: Any) -> Self:  # noqa: ANN401 - fields of any types
        """Return the answer about a value, a dataclass; `others` are fields that it does not have."""
        if others:
            known, value = vars(value), object.__new__(type(value))
            vars(value).update(known, **others)
        return cls.model_validate(value)


BY_NAME: Final = ConfigDict(alias_generator=AliasGenerator(serialization_alias=to_camel))
"""The configuration of a model that is only made by the names of its fields, which is faster for long lists."""


def attribute(path: str, *, description: str, serialization_alias: str | None = None) -> Any:  # noqa: ANN401 - as Field
    """Return a field that is the attribute at a path, such as `id.job.job_id`; null if the first one is null."""
    first, *others = path.split(".")
    source = AliasChoices(AliasPath(first, *others), first) if others else first
    return Field(validation_alias=source, serialization_alias=serialization_alias, description=description)


class ActorAnswer(AnswerModel):
    """The caller that made a change."""

    key_id: str | None = Field(description="The id of the API key.")
    role: str | None = Field(description="The role of the API key.")
    address: str | None = Field(description="The address that the request came from.")


@dataclass(frozen=True)
class Reply:
    """What an operation answers."""

    status: int
    """The HTTP status."""
    body: str
    """The text; JSON unless `media_type` says otherwise."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Headers besides those that every answer has."""
    media_type: str = "application/json"
    compared: str = ""
    """The text from which the ETag of an answer that is read comes, if that is not its body."""


def ok(answer: BaseModel, *, version: int | None = None, is_repeated: bool = False) -> Reply:
    """Return a 200, with an ETag if there is a version; `is_repeated` says that an Idempotency-Key was used again."""
    return Reply(200, text_of(answer), {**_versioned(version), **_replayed(is_repeated=is_repeated)})


def moving(answer: BaseModel, version: int, *, has_moved: bool = True) -> Reply:
    """Return a 200 about a resource that moves without a new version.

    Its ETag is the version while it has certainly not moved since; otherwise it has the version and a digest.
    """
    text = text_of(answer)
    return Reply(200, text, {"ETag": f'"{version}.{digest(text)}"' if has_moved else etag(version)})


def as_of(answer: BaseModel, moments: Mapping[str, Any]) -> Reply:
    """Return a 200 whose ETag ignores these fields of the answer, which say when it was read."""
    compared = answer.model_dump_json(by_alias=True, exclude_unset=True, exclude=dict(moments))
    return Reply(200, text_of(answer), compared=compared)


def digest(text: str) -> str:
    """Return the digest of an answer, as ETags have it."""
    return base64.urlsafe_b64encode(hashlib.blake2b(text.encode(), digest_size=9).digest()).decode()


def accepted(answer: BaseModel) -> Reply:
    """Return a 202: the request will be carried out, and there is nothing to read yet."""
    return Reply(202, text_of(answer))


def created(answer: BaseModel, location: str, *, version: int | None = None, is_repeated: bool = False) -> Reply:
    """Return a 201, with an ETag if there is a version; `is_repeated` says that an Idempotency-Key was used again."""
    replayed = _replayed(is_repeated=is_repeated)
    return Reply(201, text_of(answer), {**_versioned(version), "Location": location, **replayed})


def text_of(answer: BaseModel) -> str:
    """Return an answer as JSON text, with the fields that were set."""
    return answer.model_dump_json(by_alias=True, exclude_unset=True)


def etag(version: int) -> str:
    """Return the ETag of a version."""
    return f'"{version}"'


def time_of(at: int | None) -> str | None:
    """Return an instant (ms) as text; None without one."""
    return None if at is None else format_instant(at)


def _replayed(*, is_repeated: bool) -> dict[str, str]:
    return {"Idempotency-Replayed": "true"} if is_repeated else {}


def _versioned(version: int | None) -> dict[str, str]:
    return {} if version is None else {"ETag": etag(version)}


ANY_VERSION: Final = None
NO_VERSION: Final = 0
"""The version of a foreign ETag; no resource ever has it."""

JSON: Final = ("application/json",)
EVENTS: Final = ("application/json", "application/cloudevents+json", "application/cloudevents-batch+json")
MERGE_PATCH: Final = ("application/merge-patch+json", "application/json")

_IDEMPOTENCY_KEY: Final = re.compile(r"[!-~]{1,255}", re.ASCII)
_ETAG: Final = re.compile(r'(?:W/)?"[!#-~]*"', re.ASCII)
_OWN_ETAG: Final = re.compile(r'"([1-9][0-9]{0,17})(?:\.[A-Za-z0-9_-]{12})?"', re.ASCII)


@dataclass(frozen=True)
class Request:
    """A request of a tenant."""

    tenant: str
    """The caller's tenant."""
    by: Actor = NO_ACTOR
    """The caller."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Headers; names are in lower case."""
    path: Mapping[str, str] = field(default_factory=dict)
    """The ids in the path, by name."""
    route: str = ""
    """The path of its route, such as `/v1/jobs/{jobId}`."""
    base: str = ""
    """The part of the URL before the path: the stage of the gateway, such as `/prod`."""
    parameters: tuple[str, ...] = ()
    """The query parameters that its route has."""
    query: Mapping[str, str] = field(default_factory=dict)
    """Query parameters; the gateway joins the values of a repeated name with commas."""
    raw_query: str = ""
    """The query string as it was sent."""
    body: bytes = b""
    """The body as it was sent."""
    bounds: Mapping[str, str] = field(default_factory=dict)
    """The tags of the caller's key: it sees and creates only jobs that have all of them."""
    attempt: int | None = None
    """The attempt of the caller's token; None if the caller has a key."""
    key_name: str | None = None
    """The name of the caller's API key; None if it has none."""
    quotas: Quotas | None = NO_QUOTAS
    """The quotas of the caller's tenant; None if the authorizer did not give them."""
    defaults: Defaults | None = NO_DEFAULTS
    """The defaults of the caller's tenant; None if the authorizer did not give them."""
    session: str | None = None
    """The session by which the caller uses its key; None: it sent the key itself."""

    def each(self, name: str) -> list[str]:
        """Return every value of a parameter that may be repeated; a value may contain commas."""
        return [text for one, text in self.parameters_given() if one == name]

    def parameters_given(self) -> list[tuple[str, str]]:
        """Return each name with each of its values."""
        return parse_qsl(self.raw_query, keep_blank_values=True) or [*self.query.items()]


def expected_version(request: Request) -> int | None:
    """Return the version of If-Match: ANY_VERSION for none or `*`, NO_VERSION for a foreign ETag.

    Raises ProblemError if the header is not a single ETag.
    """
    header = request.headers.get("if-match")
    if header is None or header.strip() == "*":
        return ANY_VERSION
    if not _ETAG.fullmatch(header.strip()):
        raise invalid([FieldError("If-Match", 'Give the ETag of one answer, such as "3" with its quotes, or *.')])
    own = _OWN_ETAG.fullmatch(header.strip())
    return int(own[1]) if own else NO_VERSION


def expects_nothing(request: Request) -> bool:
    """Say whether If-None-Match requires that the resource does not exist. Raises ProblemError for all but `*`."""
    header = request.headers.get("if-none-match")
    if header is not None and header.strip() != "*":
        raise invalid([FieldError("If-None-Match", "Give *, which means: only if the resource does not exist.")])
    return header is not None


def stale(what: str, version: int, verb: str) -> ProblemError:
    """Return the problem for an If-Match with another version than the resource has."""
    return ProblemError(
        Problem.STALE_VERSION,
        f"The {what} is at version {version} now; read it again before you {verb} it.",
        headers={"ETag": etag(version)},
    )


def check_version(what: str, version: int, expected: int | None, verb: str) -> None:
    """Raise ProblemError if If-Match names another version than a resource has."""
    if expected is not None and version != expected:
        raise stale(what, version, verb)


def idempotency_key(request: Request, errors: list[FieldError]) -> str | None:
    """Return the Idempotency-Key, or None if it is missing or invalid; an invalid one adds to the errors."""
    key = request.headers.get("idempotency-key")
    if key is None or _IDEMPOTENCY_KEY.fullmatch(key):
        return key
    errors.append(FieldError("Idempotency-Key", "Give 1 to 255 visible ASCII characters, such as a UUID."))
    return None


def key_conflict() -> ProblemError:
    """Return the problem for an Idempotency-Key that was used with another body before."""
    return ProblemError(
        Problem.IDEMPOTENCY_CONFLICT,
        "This Idempotency-Key was used with another body; send that body again, or use a new key.",
    )


def read_body(request: Request, accepted: Sequence[str] = JSON) -> dict[str, Any]:
    """Return the JSON object of the body, if its type is accepted. Raises ProblemError."""
    _check_content_type(request, accepted)
    return read_object(request.body)


def read_one_or_many(request: Request, accepted: Sequence[str], most: int) -> dict[str, Any] | list[Any]:
    """Return the JSON object of the body, or an array of at most `most` values. Raises ProblemError."""
    _check_content_type(request, accepted)
    return read_objects(request.body, most)


def read_optional_body(request: Request) -> dict[str, Any]:
    """Return the JSON object of the body; an empty object if there is no body. Raises ProblemError."""
    return read_body(request) if request.body.strip() else {}


def refuse_fields(request: Request) -> None:
    """Raise ProblemError unless the body is missing or an empty object."""
    body = read_optional_body(request)
    if body:
        raise invalid(FieldError(shortened(name), "This request takes no fields; leave it out.") for name in body)


def _check_content_type(request: Request, accepted: Sequence[str]) -> None:
    """Raise ProblemError unless the body's declared type is accepted and UTF-8; no declaration is accepted too."""
    header = request.headers.get("content-type", "application/json")
    media_type, *parameters = (part.strip().lower() for part in header.split(";"))
    charsets = {part.partition("=")[2].strip('" ') for part in parameters if part.startswith("charset=")}
    if media_type not in accepted or charsets - {"utf-8", "utf8"}:
        headers = {"Accept-Patch": ", ".join(accepted)} if accepted is MERGE_PATCH else {}
        raise ProblemError(
            Problem.UNSUPPORTED_MEDIA_TYPE, f"Send the body as {' or '.join(accepted)}, in UTF-8.", headers=headers
        )
