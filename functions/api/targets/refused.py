"""What may not be called in this deployment, however well it is said: closed addresses, ARNs that are not listed."""

from ipaddress import ip_address
from urllib.parse import urlsplit

from functions.api.http.edge import Edge
from functions.api.http.problems import FieldError
from timeball.domain.model.target import HttpTarget, Target, arns_of

_UNLISTED = (
    "This deployment may not use it; whoever runs it lists what may be called in the setting timeball:targets, and "
    "deploys again."
)


def closed_target(edge: Edge, field: str, target: Target, url_field: str | None = None) -> list[FieldError]:
    """Say what is wrong with the target in a field; its URL stands there, unless it has a field of its own.

    What a host's name stands for is looked up, and validated, at each call.
    """
    if isinstance(target, HttpTarget):
        return _closed_url(edge, url_field or f"{field}.url", target.url)
    named = arns_of(target)
    return [FieldError(f"{field}.{name}", _UNLISTED) for name, arn in named.items() if not edge.allowed.covers(arn)]


def _closed_url(edge: Edge, field: str, url: str) -> list[FieldError]:
    parts = urlsplit(url)
    try:
        address = ip_address((parts.hostname or "").removesuffix("."))
    except ValueError:
        return []
    if edge.addresses.is_open(address, parts.port or (443 if parts.scheme == "https" else 80)):
        return []
    return [FieldError(field, "Webhooks do not call this address: it is private, local or reserved.")]
