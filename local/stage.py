"""All of Timeball on this machine, as one context: emulator, deployment, ticks, and a tenant with a key.

The tenant and its key are made over the API, as an administrator would, with the first key of the deployment.
"""

import contextlib
import functools
import json
import shutil
import tempfile
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from local.child import ChildFailedError
from local.deploy import DeployedStack, Deployer
from local.emulator import Emulator
from local.warm import FunctionFailedError, await_health, warm

_SECONDS = 60
"""A function's first call may take long on a busy machine."""
_CONFLICT = 409


def first_key(emulator: Emulator, deployment: DeployedStack) -> str:
    """Return the admin key that the deployment has created."""
    name = deployment.outputs["FirstKeyParameter"]
    return str(emulator.client("ssm").get_parameter(Name=name, WithDecryption=True)["Parameter"]["Value"])


def create_key(api_url: str, admin_key: str, tenant: str, role: str = "admin", **fields: object) -> str:
    """Create a tenant, unless it exists, and a key for it; return the key, which is not stored."""
    try:
        _post(f"{api_url}/v1/admin/tenants", admin_key, {"name": tenant})
    except urllib.error.HTTPError as refused:
        if refused.code != _CONFLICT:
            raise
    return str(_post(f"{api_url}/v1/admin/tenants/{tenant}/keys", admin_key, {"role": role, **fields})["key"])


def console_link(api_url: str, key: str) -> str:
    """Return an address that opens the console logged in with a key, once and within ten minutes.

    A browser sends no fragment of an address, so the code is in no log.
    """
    code = _post(f"{api_url}/v1/sessions/codes", key, {})["code"]
    return f"{api_url}/console#s={code}"


def _post(url: str, key: str, body: dict[str, object]) -> Any:  # noqa: ANN401 - JSON
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    request = urllib.request.Request(url, json.dumps(body).encode(), headers)  # noqa: S310 - our own API
    with urllib.request.urlopen(request, timeout=_SECONDS) as answer:  # noqa: S310
        return json.load(answer)


TENANT = "demo"


@dataclass(frozen=True)
class Stage:
    """A running Timeball, a tenant's key, and the first key, which can manage tenants."""

    emulator: Emulator
    deployment: DeployedStack
    tenant: str
    key: str
    admin_key: str
    folder: Path


@contextlib.contextmanager
def _silently(_name: str) -> Iterator[None]:
    yield


def _forget(
    folder: Path, kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
) -> None:
    if kind is None or not issubclass(kind, ChildFailedError | FunctionFailedError):
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def run_stage(
    step: Callable[[str], AbstractContextManager[None]] = _silently,
    overrides: Mapping[str, object] | None = None,
) -> Iterator[Stage]:
    """Run a Timeball until the context is left; its logs are kept only if it failed.

    `step` is entered around each step with its name; `overrides` are settings that differ from the local stage's. Raise
    `ChildFailedError` if a process fails, `FunctionFailedError` if a function fails.
    """
    folder = Path(tempfile.mkdtemp(prefix="timeball-"))
    emulator = Emulator(folder)
    with contextlib.ExitStack() as stack:
        stack.push(functools.partial(_forget, folder))
        with step("Starting the embedded AWS"):
            stack.enter_context(emulator)
        deployer = Deployer(emulator, folder, overrides)
        with step("Preparing the account and the app"):
            deployer.prepare()
        with step("Deploying"):
            deployment = deployer.deploy()
        with step("Warming the functions"):
            warm(emulator, deployment)
        with step("Starting the ticks"):
            deployer.start_ticking(deployment)
        with step("Creating a tenant and a key"):
            admin_key = first_key(emulator, deployment)
            key = create_key(deployment.api_url, admin_key, TENANT)
        with step("Waiting for the first tick"):
            await_health(deployment.api_url)
        yield Stage(emulator, deployment, TENANT, key, admin_key, folder)
