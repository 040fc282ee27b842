"""The fields of a webhook: a valid URL, headers other than Timeball's own, a body, a secret."""

import re
from contextvars import ContextVar
from ipaddress import AddressValueError, IPv4Address
from typing import Annotated, Any, Final
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, ValidationInfo, ValidatorFunctionWrapHandler

from timeball.api.http.fields import Checked
from timeball.api.http.request_model import cut_behind
from timeball.domain.model.ids import JOB_ID
from timeball.domain.model.tenants.key import SECRET_NAME
from timeball.domain.templates.filling import check_body, check_header, check_url, content_type_of, format_of
from timeball.domain.templates.template import OF_NOTICE, OF_RUN, Vocabulary

MAX_URL_LENGTH: Final = 2048
MAX_HEADERS: Final = 50
MAX_HEADER_BYTES: Final = 8 * 1024
MAX_BODY_LENGTH: Final = 16 * 1024
"""The most characters of a template; the filled-in body may be longer."""

_VOCABULARY: ContextVar[Vocabulary] = ContextVar("vocabulary", default=OF_RUN)
"""The names that templates may have in the target that is being read."""

_URL: Final = re.compile(r"[!-~]+", re.ASCII)
_LABEL: Final = r"[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?"
_HOST: Final = re.compile(rf"{_LABEL}(?:\.{_LABEL})*\.?|\[[0-9A-Fa-f:.]{{2,45}}\]", re.ASCII)
_NUMBER: Final = re.compile(r"[0-9]+|0[xX][0-9A-Fa-f]*", re.ASCII)
_HEADER_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}", re.ASCII)
_HEADER_VALUE: Final = re.compile(r"(?:[!-~](?:[ \t!-~]*[!-~])?)?", re.ASCII)
_OWN_PREFIXES: Final = ("timeball-", "webhook-")
_OWN_HEADERS: Final = frozenset(
    {
        "accept-encoding",
        "connection",
        "content-length",
        "expect",
        "host",
        "idempotency-key",
        "keep-alive",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)


def read_over_notice(asked: Any, read: ValidatorFunctionWrapHandler) -> Any:  # noqa: ANN401 - a target of any type
    """Read a target whose templates are over the fields of a notice."""
    token = _VOCABULARY.set(OF_NOTICE)
    try:
        return read(asked)
    finally:
        _VOCABULARY.reset(token)


def _url_pattern() -> str:
    """Return the pattern of a URL; for an address in brackets it checks only the characters."""
    name = r"([0-9]*[A-Za-z_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?|[0-9]+-[A-Za-z0-9_-]{0,60}[A-Za-z0-9_])"
    octet = "(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
    host = rf"(({_LABEL}\.)*{name}\.?|{octet}(\.{octet}){{3}}\.?|\[[0-9A-Fa-f:.]{{2,45}}\])"
    return rf'^[Hh][Tt][Tt][Pp][Ss]?://{host}(:[0-9]{{0,5}})?([/?][!-"$-~]*)?$'


_URL_SCHEMA: Final = {"pattern": _url_pattern(), "examples": ["https://example.com/hook"]}


def _url(url: str) -> str:
    """Accept an absolute http or https URL that names a host, without characters that HTTP cannot send."""
    if not _URL.fullmatch(url):
        raise ValueError("A URL has no blanks and only ASCII characters; percent-encode others.")
    if not url.lower().startswith(("https://", "http://")):
        raise ValueError("Give a URL that begins with https:// or http://.")
    check_url(url, _VOCABULARY.get())
    if "#" in url:
        raise ValueError("Leave out the fragment (#...): it is never sent.")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise ValueError("This is not a URL; write one such as https://example.com/hook.") from None
    if "@" in parts.netloc:
        raise ValueError("Leave user name and password out of the URL; send an Authorization header instead.")
    bracketed, closing, _ = parts.netloc.rpartition("]")
    host = bracketed + closing if closing else parts.netloc.partition(":")[0]
    if port == 0 or len(host) > 253 or not _HOST.fullmatch(host):
        raise ValueError("The URL names no valid host; write one such as https://example.com/hook.")
    if _is_odd_address(host.removesuffix(".")):
        raise ValueError("Write an address as four decimal numbers, such as 203.0.113.7, or give a name.")
    return url


def _is_odd_address(host: str) -> bool:
    """Say whether a host would be read as an address, as `127.1` and `0x7f000001` are, without being written as one.

    The last label decides: no host name ends in a number.
    """
    if not _NUMBER.fullmatch(host.rpartition(".")[2]):
        return False
    try:
        IPv4Address(host)
    except AddressValueError:
        return True
    return False


def _handler(text: str) -> str:
    if "://" in text:
        return _url(text)
    if not JOB_ID.fullmatch(text):
        raise ValueError("Give an https:// or http:// URL, or the id of a task: 1 to 64 letters, digits, - or _.")
    return text


def _header_name(name: str) -> str:
    if not _HEADER_NAME.fullmatch(name):
        raise ValueError("This is not a valid header name; use letters, digits and hyphens.")
    if name.lower() in _OWN_HEADERS or name.lower().startswith(_OWN_PREFIXES):
        raise ValueError("Leave this header out: Timeball sets it itself.")
    return name


def _header_value(value: str) -> str:
    if not _HEADER_VALUE.fullmatch(value):
        raise ValueError("A header's value is one line of ASCII without leading or trailing blanks.")
    check_header(value, _VOCABULARY.get())
    return value


def _headers(headers: dict[str, str]) -> dict[str, str]:
    if len({name.lower() for name in headers}) < len(headers):
        raise ValueError("Give each header once; upper and lower case are the same.")
    if sum(len(name) + len(value) for name, value in headers.items()) > MAX_HEADER_BYTES:
        raise ValueError(f"All headers together may have {MAX_HEADER_BYTES} bytes.")
    if "{{" in content_type_of(headers):
        raise ValueError("Leave placeholders out of the Content-Type: it decides how the body is escaped.")
    return headers


def _body(text: str, info: ValidationInfo) -> str:
    check_body(text, format_of(content_type_of(info.data.get("headers", {}))), _VOCABULARY.get())
    return text


Handler = Annotated[
    str,
    Field(
        max_length=MAX_URL_LENGTH,
        json_schema_extra={**_URL_SCHEMA, "pattern": rf"{_url_pattern()}|^{JOB_ID.pattern}$"},
    ),
    AfterValidator(_handler),
]
_NO_TASK_ID: Final = "No task can have this id; give 1 to 64 letters, digits, - or _."
TaskId = Annotated[str, Checked(JOB_ID.fullmatch, _NO_TASK_ID, pattern=f"^{JOB_ID.pattern}$")]
Url = Annotated[str, Field(max_length=MAX_URL_LENGTH, json_schema_extra=_URL_SCHEMA), AfterValidator(_url)]
Headers = Annotated[
    dict[
        Annotated[str, AfterValidator(_header_name)],
        Annotated[
            str, Field(json_schema_extra={"pattern": f"^{_HEADER_VALUE.pattern}$"}), AfterValidator(_header_value)
        ],
    ],
    Field(max_length=MAX_HEADERS, json_schema_extra={"propertyNames": {"pattern": f"^{_HEADER_NAME.pattern}$"}}),
    AfterValidator(_headers),
    BeforeValidator(cut_behind(MAX_HEADERS)),
]
Body = Annotated[str, Field(max_length=MAX_BODY_LENGTH), AfterValidator(_body)]
SecretId = Annotated[
    str,
    Checked(
        SECRET_NAME.fullmatch,
        "Give the name of a secret in Secrets Manager, such as timeball/main/orders.",
        pattern=f"^{SECRET_NAME.pattern}$",
        examples=["timeball/main/orders"],
    ),
]
