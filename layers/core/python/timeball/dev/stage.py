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
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from timeball.dev.assembly import Assembly
from timeball.dev.child import ChildFailedError
from timeball.dev.data import Data
from timeball.dev.deployment import DeployedStack, DeploymentFailedError, deploy, start_ticking
from timeball.dev.emulator import Emulator
from timeball.dev.warm import FunctionFailedError, await_health, warm

_SECONDS = 60
"""A function's first call may take long on a busy machine."""
_CONFLICT = 409
_UNKNOWN = (401, 403)

TENANT = "demo"

Note = Callable[[str], None]
"""Says how far a step is."""
Step = Callable[[str], AbstractContextManager[Note]]
"""Is entered around each step with what it waits for."""


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


def _is_known(api_url: str, key: str) -> bool:
    """Return whether the API knows a key: a process that was killed early has saved its key and no state."""
    request = urllib.request.Request(f"{api_url}/v1/jobs?limit=1", headers={"Authorization": f"Bearer {key}"})  # noqa: S310 - our own API
    try:
        with urllib.request.urlopen(request, timeout=_SECONDS):  # noqa: S310
            return True
    except urllib.error.HTTPError as refused:
        return refused.code not in _UNKNOWN


def _post(url: str, key: str, body: dict[str, object]) -> Any:  # noqa: ANN401 - JSON
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    request = urllib.request.Request(url, json.dumps(body).encode(), headers)  # noqa: S310 - our own API
    with urllib.request.urlopen(request, timeout=_SECONDS) as answer:  # noqa: S310
        return json.load(answer)


@dataclass(frozen=True)
class Stage:
    """A running Timeball, a tenant's key, and the first key, which can manage tenants."""

    emulator: Emulator
    deployment: DeployedStack
    tenant: str
    key: str
    admin_key: str
    folder: Path
    has_console: bool


@contextlib.contextmanager
def silently(_name: str) -> Iterator[Note]:
    """Enter a step without a word."""
    yield lambda _text: None


def _forget(
    folder: Path, kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
) -> None:
    failures = ChildFailedError | FunctionFailedError | DeploymentFailedError
    if kind is None or not issubclass(kind, failures):
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def run_stage(
    python: Path, assemble: Callable[[Step], Assembly], step: Step = silently, data: Data | None = None
) -> Iterator[Stage]:
    """Run a Timeball until the context is left; its logs are kept only if it failed, its state only in `data`.

    `python` is that of the emulator. `assemble` returns what is deployed, while the emulator starts. `step` is entered
    around each step. Raise `ChildFailedError` if a process fails, `DeploymentFailedError` if the deployment fails,
    `FunctionFailedError` if a function fails.
    """
    folder = Path(tempfile.mkdtemp(prefix="timeball-"))
    with contextlib.ExitStack() as stack:
        stack.push(functools.partial(_forget, folder))
        emulator = stack.enter_context(Emulator(folder, python, data.kept() if data else None))
        assembly = assemble(step)
        with step("Waiting for the embedded AWS to start"):
            emulator.await_health()
        with step(f"Deploying {len(assembly.resources)} resources of the template") as note:
            deployment = deploy(emulator, assembly, note)
        with step("Starting processes of the functions that answer requests and run jobs"):
            warm(emulator, deployment)
        with step("Starting the ticks, and making the tenant and its key"):
            start_ticking(emulator, assembly, deployment)
            admin_key = first_key(emulator, deployment)
            key = _key(deployment, admin_key, data)
        with step("Waiting for the first tick"):
            await_health(deployment.api_url)
        yield Stage(emulator, deployment, TENANT, key, admin_key, folder, assembly.has_console)


def _key(deployment: DeployedStack, admin_key: str, data: Data | None) -> str:
    """Return the key of the tenant: that of an earlier run with the same data, otherwise another."""
    key = data.key if data else ""
    if not key or not _is_known(deployment.api_url, key):
        key = create_key(deployment.api_url, admin_key, TENANT)
    if data:
        data.finish(key)
    return key
