"""Secrets in memory, and failures to read them."""

from collections.abc import Sequence

from timeball.ports.errors import UnavailableError
from timeball.ports.secrets import SecretUnreadableError


class MemorySecrets:
    """Secrets by their names. A new value makes the current one the previous one.

    `asked` counts how often values were read; while it `is_away`, reads raise UnavailableError.
    """

    def __init__(self) -> None:
        self._live: dict[str, tuple[str, ...]] = {}
        self.asked = 0
        self.is_away = False

    def put(self, name: str, value: str) -> None:
        """Give a secret a value."""
        self._live[name] = (value, *self._live.get(name, ())[:1])

    def live_values(self, name: str) -> Sequence[str]:
        """Return the current value and the one before."""
        self.asked += 1
        if self.is_away:
            raise UnavailableError("the secrets are away")
        if name not in self._live:
            raise SecretUnreadableError("there is no such secret, or it has no value yet")
        return self._live[name]
