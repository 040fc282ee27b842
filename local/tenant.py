"""Create a tenant and a key for it over the API, like an administrator, with the first key of the deployment."""

import json
import urllib.error
import urllib.request
from typing import Any

from local.deploy import DeployedStack
from local.emulator import Emulator

_SECONDS = 60
"""A function's first call may take long on a busy machine."""
_CONFLICT = 409


def first_key(emulator: Emulator, deployment: DeployedStack) -> str:
    """Return the admin key that the deployment has created."""
    secret = emulator.client("secretsmanager").get_secret_value(SecretId=deployment.outputs["FirstKeySecret"])
    return str(secret["SecretString"])


def create_key(api_url: str, admin_key: str, tenant: str, role: str = "admin", **fields: object) -> str:
    """Create a tenant, unless it exists, and a key for it; return the key, which is not stored."""
    try:
        _post(f"{api_url}/v1/admin/tenants", admin_key, {"name": tenant})
    except urllib.error.HTTPError as refused:
        if refused.code != _CONFLICT:
            raise
    return str(_post(f"{api_url}/v1/admin/tenants/{tenant}/keys", admin_key, {"role": role, **fields})["key"])


def _post(url: str, key: str, body: dict[str, object]) -> Any:  # noqa: ANN401 - JSON
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    request = urllib.request.Request(url, json.dumps(body).encode(), headers)  # noqa: S310 - our own API
    with urllib.request.urlopen(request, timeout=_SECONDS) as answer:  # noqa: S310
        return json.load(answer)
