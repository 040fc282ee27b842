"""Where `make setup` has installed what the local stage needs."""

from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parent.parent
EMULATOR: Final = ROOT / ".venv-ministack/bin/python"
"""The Python of the embedded AWS."""


class NotInstalledError(RuntimeError):
    """The emulator's environment is not set up."""


def require_emulator() -> None:
    """Raise `NotInstalledError` unless the embedded AWS is installed."""
    if not EMULATOR.exists():
        raise NotInstalledError("the embedded AWS is not installed: run `make setup`")
