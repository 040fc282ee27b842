"""A request of the API as a value, and what is common to all: the address, the headers, the meaning of an answer."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

from timeball import __version__
from timeball.client.errors import ConfigurationError, error_of
from timeball.client.retries import Outcome, seconds_of
from timeball.client.values.encoding import instant_text, json_of

if TYPE_CHECKING:
    import httpx

Query = Mapping[str, object]
"""Parameters by their names in the API. A list repeats its parameter, and None leaves it out."""

AGENT = f"timeball-client/{__version__}"


@dataclass(frozen=True)
class Call:
    """One request, which is sent once or more."""

    method: str
    path: str
    """With a slash at its beginning; ids in it are escaped."""
    body: object = None
    """What becomes JSON; None sends no body."""
    query: Query = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Reply:
    """A successful answer."""

    status: int
    headers: Mapping[str, str]
    """By their names in lower case."""
    text: str

    @property
    def body(self) -> Any:  # noqa: ANN401 - an answer is whatever JSON it is
        """The parsed JSON; None if there is no body, and the text itself if it is not JSON."""
        if not self.text:
            return None
        return json.loads(self.text) if "json" in self.headers.get("content-type", "") else self.text


def path_of(*parts: str, verb: str = "") -> str:
    """Return the path of a resource: parts are names in the path or ids, and are escaped; a verb follows a colon."""
    for part in parts:
        if part in ("", ".", ".."):
            raise ValueError(f"{part!r} is no id: give the id of the resource.")
    named = "".join(f"/{quote(part, safe=_SAFE)}" for part in ("v1", *parts))
    return f"{named}:{verb}" if verb else named


def matching(version: int | None) -> dict[str, str]:
    """Return the header of a change that is done only if the resource still has a version."""
    return {} if version is None else {"If-Match": f'"{version}"'}


def keyed(idempotency_key: str | None) -> dict[str, str]:
    """Return the header of a request that the program itself repeats; without a key each call has another one."""
    return {} if idempotency_key is None else {"Idempotency-Key": idempotency_key}


def span(from_: datetime | None, to: datetime | None) -> dict[str, object]:
    """Return the parameters of a range of time."""
    return {"from": from_, "to": to}


_SAFE = "-._~!$&'()*+,;=:@"


def address_of(url: str, call: Call) -> str:
    """Return the whole address of a call at the API of a URL, with the query as it is sent."""
    query = urlencode([(name, _text(one)) for name, value in call.query.items() for one in _values(value)])
    return f"{url}{call.path}{'&' if '?' in call.path else '?'}{query}" if query else f"{url}{call.path}"


def _values(value: object) -> Iterable[object]:
    if value is None:
        return ()
    return value if isinstance(value, Iterable) and not isinstance(value, str) else (value,)


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return instant_text(value) if isinstance(value, datetime) else str(value)


def headers_of(call: Call, key: str | None, idempotency_key: str | None) -> dict[str, str]:
    """Return the headers of a call; its own win over those of all calls."""
    common = {"Accept": "application/json", "User-Agent": AGENT}
    if key:
        common["Authorization"] = f"Bearer {key}"
    if call.body is not None:
        common["Content-Type"] = "application/json"
    if idempotency_key:
        common["Idempotency-Key"] = idempotency_key
    taken = {name.lower() for name in call.headers}
    return {name: value for name, value in common.items() if name.lower() not in taken} | dict(call.headers)


def content_of(call: Call) -> bytes | None:
    """Return the body of a call as it is sent."""
    if call.body is None:
        return None
    try:
        return json.dumps(json_of(call.body), ensure_ascii=False, allow_nan=False).encode()
    except (TypeError, ValueError) as refused:
        raise ValueError(f"The body cannot be sent as JSON: {refused}") from None


def outcome_of(response: "httpx.Response", now: float) -> Outcome:
    """Return what became of a try that was answered; `now` is in seconds since 1970."""
    return Outcome(response.status_code, retry_after=seconds_of(response.headers.get("retry-after"), now))


def reply_of(response: "httpx.Response", outcome: Outcome) -> Reply:
    """Return a successful answer, or raise the error that it is; an unchanged resource (304) is a success.

    Every success of `/v1` is JSON or empty. Anything else there is an answer of another server.
    """
    if response.is_success or response.status_code == 304:
        kind = response.headers.get("content-type", "no content type")
        if response.text and "json" not in kind and "/v1/" in response.url.path:
            address = f"{response.url.scheme}://{response.url.netloc.decode()}"
            raise ConfigurationError(
                f"{address} is not Timeball's API: it answered {kind}, and not JSON. Compare the URL with "
                "the one that `make run` prints, or with the deployment's output ApiUrl."
            )
        return Reply(
            response.status_code, {name.lower(): text for name, text in response.headers.items()}, response.text
        )
    try:
        problem = json.loads(response.text)
    except ValueError:
        problem = {}
    raise error_of(
        response.status_code,
        problem if isinstance(problem, dict) else {},
        request_id=response.headers.get("x-request-id"),
        retry_after=outcome.retry_after,
    )
