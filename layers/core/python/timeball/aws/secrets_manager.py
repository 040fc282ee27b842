"""Secrets in AWS Secrets Manager: their current value, and the one before a rotation.

Invariant: a value is returned, and is never in an error message or a log.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Final

from timeball.aws.request_retries import BRISKLY, Asker
from timeball.ports.secrets import SecretUnreadableError

_CURRENT, _PREVIOUS = "AWSCURRENT", "AWSPREVIOUS"
_ABSENT: Final = "ResourceNotFoundException"
_WHY: Final = {
    _ABSENT: "there is no such secret, or it has no value yet",
    "AccessDeniedException": "Timeball has no right to read it, or to use the key that it is encrypted with",
    "InvalidRequestException": "it is marked to be deleted",
    "DecryptionFailure": "it cannot be decrypted",
}


class SecretsManager:
    """Secrets Manager. The client is made when it is first needed: few processes need a secret."""

    def __init__(self, client: Callable[[], Any], asker: Asker = BRISKLY) -> None:
        self._client, self._asker = client, asker

    def live_values(self, name: str) -> Sequence[str]:
        """Return the current value of a secret and the one before, if there is one."""
        until = self._asker.deadline()
        current = self._value(name, _CURRENT, until)
        if current is None:
            raise SecretUnreadableError(_WHY[_ABSENT])
        with suppress(SecretUnreadableError):  # such as a value that was binary by mistake
            previous = self._value(name, _PREVIOUS, until)
            return [current] if previous is None else [current, previous]
        return [current]

    def _value(self, name: str, stage: str, until: float) -> str | None:
        """Return one value of a secret, None if there is none."""
        from botocore.exceptions import ClientError  # noqa: PLC0415 - only in functions that call AWS

        try:
            answer = self._asker.ask(lambda: self._client().get_secret_value(SecretId=name, VersionStage=stage), until)
        except ClientError as error:
            code = error.response.get("Error", {}).get("Code", "")
            if code == _ABSENT:
                return None
            raise SecretUnreadableError(_WHY.get(code, "Secrets Manager refuses to return it")) from None
        text = answer.get("SecretString")
        if text is None:
            raise SecretUnreadableError("its value is binary, not text")
        return str(text)
