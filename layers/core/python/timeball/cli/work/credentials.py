"""The credentials with which a worker reads its queue, without a library of AWS.

They are in the environment, or the AWS CLI finds them: it knows profiles, single sign-on and the roles of machines.
"""

import json
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from timeball.aws.signing import Credentials
from timeball.cli.status import CommandError, Status

_COMMAND: Final = ("aws", "configure", "export-credentials", "--format", "process")
_AHEAD_SECONDS: Final = 300
"""Credentials that end sooner are asked for again."""


def output_of(command: Sequence[str]) -> str:
    """Return what a command prints. Raises CommandError if there is no such command, or if it fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - a command of ours
    except OSError:
        done = None
    if done is None or done.returncode:
        raise CommandError(
            "There are no AWS credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or install the AWS CLI, "
            "version 2, and log in with it.",
            Status.NOT_ALLOWED,
        )
    return done.stdout


@dataclass
class FoundCredentials:
    """The credentials of this machine, asked for again before they end; `now` returns seconds since 1970."""

    environment: Mapping[str, str]
    now: Callable[[], float]
    run: Callable[[Sequence[str]], str] = output_of
    _kept: Credentials | None = field(default=None, init=False)
    _ends_at: float = field(default=0.0, init=False)

    def __call__(self) -> Credentials:
        """Return credentials that are valid now. Raises CommandError."""
        key_id, secret = (self.environment.get(name) for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"))
        if key_id and secret:
            return Credentials(key_id, secret, self.environment.get("AWS_SESSION_TOKEN") or None)
        if self._kept is None or self.now() > self._ends_at - _AHEAD_SECONDS:
            found: Mapping[str, Any] = json.loads(self.run(_COMMAND))
            ends = found.get("Expiration")
            self._ends_at = float("inf") if ends is None else datetime.fromisoformat(ends).timestamp()
            self._kept = Credentials(found["AccessKeyId"], found["SecretAccessKey"], found.get("SessionToken"))
        return self._kept
