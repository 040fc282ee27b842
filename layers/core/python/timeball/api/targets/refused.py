"""Targets that a tenant may not call in this deployment: closed addresses, and ARNs that are not listed.

A call may not be signed with another tenant's secret either.
"""

from ipaddress import ip_address
from urllib.parse import urlsplit

from timeball.api.http.edge import ApiContext
from timeball.api.http.problems import FieldError
from timeball.domain.model.tenants.key import may_name, prefix_of
from timeball.domain.model.terms.target import HttpTarget, Target

_UNLISTED = (
    "Your tenant may not use this in this deployment; its operator must add it to the setting timeball:targets and "
    "deploy again. Timeball's own resources are never called."
)


def closed_target(
    edge: ApiContext, tenant: str, field: str, target: Target, url_field: str | None = None
) -> list[FieldError]:
    """Return what is wrong with a tenant's target, by the name of its field; `url_field` is the field of its URL.

    The addresses of a host name are looked up and checked at each call.
    """
    if isinstance(target, HttpTarget):
        closed = _closed_url(edge, url_field or f"{field}.url", target.url)
        return [*closed, *_foreign_secret(edge, tenant, f"{field}.secretId", target.secret_id)]
    return [FieldError(f"{field}.{name}", _UNLISTED) for name in edge.allowed.closed(target, tenant)]


def _foreign_secret(edge: ApiContext, tenant: str, field: str, name: str | None) -> list[FieldError]:
    if name is None or may_name(name, tenant, edge.webhook_secrets):
        return []
    own = prefix_of(tenant, edge.webhook_secrets)
    return [FieldError(field, f"Name a secret of your tenant: its name begins with {own}.")]


def _closed_url(edge: ApiContext, field: str, url: str) -> list[FieldError]:
    parts = urlsplit(url)
    try:
        address = ip_address((parts.hostname or "").removesuffix("."))
    except ValueError:
        return []
    if edge.addresses.is_open(address, parts.port or (443 if parts.scheme == "https" else 80)):
        return []
    return [FieldError(field, "Webhooks do not call this address: it is private, local or reserved.")]
