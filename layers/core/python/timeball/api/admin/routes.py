"""The routes of admins: tenants, keys, the signing secret. A path without a tenant is about the caller's own keys."""

from timeball.api.admin.answers import (
    KeyAnswer,
    KeyPageAnswer,
    NewKeyAnswer,
    TenantAnswer,
    TenantDetailAnswer,
    TenantPageAnswer,
)
from timeball.api.admin.keys import create_key, list_keys, patch_key, read_a_key, revoke_key, rotate_key
from timeball.api.admin.request import KeyRequest, RotateRequest, TenantRequest
from timeball.api.admin.signing_secret import RotationAnswer, rotate_signing_secret
from timeball.api.admin.tenants import (
    LIST_PARAMETERS,
    create_tenant,
    delete_tenant,
    list_tenants,
    patch_tenant,
    read_a_tenant,
)
from timeball.api.http.access import Access
from timeball.api.http.problems import Problem
from timeball.api.http.route import Route

_TENANTS = "/v1/admin/tenants"
_TENANT = "/v1/admin/tenants/{tenant}"

_OF_TENANTS: tuple[Route, ...] = (
    Route(
        "POST",
        _TENANTS,
        create_tenant,
        "Create a tenant",
        TenantAnswer,
        status=201,
        body=TenantRequest,
        problems=(Problem.TENANT_EXISTS,),
        access=Access.ADMINISTER_ALL,
    ),
    Route(
        "GET",
        _TENANTS,
        list_tenants,
        "List the tenants that you may see, by name",
        TenantPageAnswer,
        query=LIST_PARAMETERS,
        access=Access.ADMINISTER,
    ),
    Route(
        "GET",
        _TENANT,
        read_a_tenant,
        "Read a tenant, its use of its quotas, and its costs",
        TenantDetailAnswer,
        access=Access.ADMINISTER,
    ),
    Route(
        "PATCH",
        _TENANT,
        patch_tenant,
        "Change a tenant's weight and quotas; disable it, or enable it again",
        TenantAnswer,
        body=TenantRequest,
        headers=("If-Match",),
        problems=(Problem.LOCKS_OUT,),
        access=Access.ADMINISTER_ALL,
    ),
    Route(
        "DELETE",
        _TENANT,
        delete_tenant,
        "Delete a tenant that is disabled",
        TenantAnswer,
        headers=("If-Match",),
        problems=(Problem.TENANT_ENABLED,),
        access=Access.ADMINISTER_ALL,
    ),
)


def _of_keys(keys: str, whose: str) -> tuple[Route, ...]:
    """Return the routes of the keys at a path; `whose` names their owner in the summaries."""
    key = f"{keys}/{{keyId}}"
    return (
        Route(
            "POST",
            keys,
            create_key,
            f"Create {whose} API key; only this answer shows it",
            NewKeyAnswer,
            status=201,
            body=KeyRequest,
            access=Access.ADMINISTER,
        ),
        Route(
            "GET",
            keys,
            list_keys,
            f"List {whose} API keys, without the keys themselves",
            KeyPageAnswer,
            query=LIST_PARAMETERS,
            access=Access.ADMINISTER,
        ),
        Route(
            "GET", key, read_a_key, f"Read {whose} API key, without the key itself", KeyAnswer, access=Access.ADMINISTER
        ),
        Route(
            "PATCH",
            key,
            patch_key,
            f"Change what {whose} API key may do, or when it expires",
            KeyAnswer,
            body=KeyRequest,
            headers=("If-Match",),
            problems=(Problem.KEY_REVOKED, Problem.LOCKS_OUT),
            access=Access.ADMINISTER,
        ),
        Route(
            "DELETE",
            key,
            revoke_key,
            f"Revoke {whose} API key",
            KeyAnswer,
            headers=("If-Match",),
            problems=(Problem.LOCKS_OUT,),
            access=Access.ADMINISTER,
        ),
        Route(
            "POST",
            f"{key}/rotate",
            rotate_key,
            f"Create a successor of {whose} API key, which stays valid for a while",
            NewKeyAnswer,
            status=201,
            body=RotateRequest,
            is_body_optional=True,
            problems=(Problem.KEY_REVOKED,),
            access=Access.ADMINISTER,
        ),
    )


ROUTES: tuple[Route, ...] = (
    *_OF_TENANTS,
    *_of_keys(f"{_TENANT}/keys", "a tenant's"),
    *_of_keys("/v1/admin/keys", "your tenant's"),
    Route(
        "POST",
        "/v1/admin/signing-secret/rotate",
        rotate_signing_secret,
        "Replace the secret that signs the tokens of attempts; tokens of attempts under way stay valid",
        RotationAnswer,
        access=Access.ADMINISTER_ALL,
    ),
)
