"""The emulator of AWS, on the loopback interface, with its state in its own folder.

It enforces the functions' IAM policies, so that a missing permission fails here and not in an account. Beside it run a
shield, which keeps web pages and webhooks from it, and what unpacks each archive once and saves its state (`inside`).
"""

import http.client
import json
import os
import shutil
import socket
import time
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from timeball.dev.child import Child, ChildFailedError

REGION = "us-east-1"
ACCOUNT = "000000000000"

_LAUNCHER = Path(__file__).parent / "inside/launcher.py"
_KEYS = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test"}
_START_SECONDS = 60
_POLL_SECONDS = 0.05
_PATIENCE_SECONDS = 300
"""A function's first call may take longer than boto3's timeout, after which boto3 would call it again."""
_SAVING_SECONDS = 60
"""How long the emulator may take to save its state at its end."""


@dataclass(frozen=True)
class PersistentState:
    """State that outlives the emulator's process."""

    folder: Path
    """The folder of the state; without the mark in it the emulator saves nothing."""
    port: int
    """The port, which the state names in many addresses: the same for the life of the folder."""
    lock: int = -1
    """The descriptor of a lock, which the emulator holds too: it may still save when this process has ended."""

    @property
    def is_whole(self) -> bool:
        """Return whether a deployment was finished, so that the state is worth being saved."""
        return self.mark.exists()

    def finish(self) -> None:
        """Say that the deployment is finished: from now on the emulator saves its state."""
        self.mark.touch()

    @property
    def mark(self) -> Path:
        """Return the file that says so."""
        return self.folder / "deployed"


class Emulator:
    """An embedded AWS; entering the context starts it, leaving the context ends it and its Lambda processes."""

    def __init__(self, folder: Path, python: Path, kept: PersistentState | None = None) -> None:
        """Take the folder for its log and its files, which exists and belongs to this emulator only, and its Python."""
        self._folder = folder
        self._python = python
        self._kept = kept
        self._port = kept.port if kept else free_port()
        self.endpoint = f"http://127.0.0.1:{self._port}"

    def __enter__(self) -> Self:
        state = self._folder / "state"
        state.mkdir()
        self._child = Child(
            # -P: no other file of that folder may be imported.
            [str(self._python), "-P", str(_LAUNCHER)],
            environment=self._own_environment(state),
            folder=state,
            log=self._folder / "emulator.log",
            inherited=[self._kept.lock] if self._kept and self._kept.lock >= 0 else [],
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._kept:
            self._child.terminate(_SAVING_SECONDS)
        self._child.end()
        shutil.rmtree(self._folder / "state", ignore_errors=True)

    def await_health(self) -> None:
        """Wait until the emulator answers; raise `ChildFailedError` if it does not start."""
        give_up_at = time.monotonic() + _START_SECONDS
        while not self._is_healthy():
            if self._child.exit_code() is not None or time.monotonic() > give_up_at:
                raise ChildFailedError("the embedded AWS did not start", self._child.log)
            time.sleep(_POLL_SECONDS)

    @property
    def pid(self) -> int:
        """Return the process id of the emulator, which is also that of its process group."""
        return self._child.pid

    @property
    def client_environment(self) -> dict[str, str]:
        """Return the environment in which a tool of AWS uses this emulator and nothing else."""
        return {
            **_KEYS,
            "AWS_REGION": REGION,
            "AWS_DEFAULT_REGION": REGION,
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_ENDPOINT_URL_S3": self.endpoint,
            "AWS_CONFIG_FILE": os.devnull,
            "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
            "AWS_EC2_METADATA_DISABLED": "true",
        }

    def client(self, service: str) -> Any:  # noqa: ANN401 -- boto3 makes its clients' classes as it runs
        """Return a client of a service, with the permissions of the account's owner."""
        import boto3  # noqa: PLC0415 - the emulator starts meanwhile
        from botocore.config import Config  # noqa: PLC0415 - as above

        return boto3.client(  # type: ignore[call-overload]
            service,
            endpoint_url=self.endpoint,
            region_name=REGION,
            aws_access_key_id=_KEYS["AWS_ACCESS_KEY_ID"],
            aws_secret_access_key=_KEYS["AWS_SECRET_ACCESS_KEY"],
            config=Config(read_timeout=_PATIENCE_SECONDS),
        )

    def wait(self) -> None:
        """Wait until the emulator ends, which is an error; raise `ChildFailedError`."""
        raise ChildFailedError(f"the embedded AWS ended with exit code {self._child.wait()}", self._child.log)

    def _own_environment(self, state: Path) -> dict[str, str]:
        # Its Lambdas inherit this, and must find neither our settings nor the user's AWS configuration.
        return {
            **_KEYS,
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": str(state),
            "TMPDIR": str(state),
            "LANG": "C.UTF-8",
            "BIND_HOST": "127.0.0.1",
            "GATEWAY_PORT": str(self._port),
            "AUTH": "true",
            # These have their own listeners, on all interfaces and without the shield.
            "IOT_MTLS_ENABLED": "0",
            "SFTP_ENABLED": "0",
            # The process of a function stays alive for the next burst.
            "LAMBDA_WARM_TTL_SECONDS": "86400",
            "MINISTACK_REGION": REGION,
            **self._persistence(),
        }

    def _persistence(self) -> dict[str, str]:
        if self._kept is None:
            return {}
        return {"PERSIST_STATE": "1", "STATE_DIR": str(self._kept.folder), "TIMEBALL_DEPLOYED": str(self._kept.mark)}

    def _is_healthy(self) -> bool:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=5)
        try:
            connection.request("GET", "/_ministack/health")
            answer = connection.getresponse()
            return answer.status == http.HTTPStatus.OK and bool(json.loads(answer.read()))
        except (OSError, http.client.HTTPException, ValueError):
            return False
        finally:
            connection.close()


def free_port() -> int:
    """Return a port of the loopback interface that no program uses now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
