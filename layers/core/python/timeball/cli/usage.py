"""Options of a command, and the one-sentence error for options that cannot be accepted."""

from argparse import ArgumentParser
from typing import NoReturn


class UsageError(Exception):
    """A request that cannot be accepted; its text is a sentence that says why."""


class Options(ArgumentParser):
    """A parser that raises UsageError, where Python's own parser prints its usage and exits."""

    def error(self, message: str) -> NoReturn:
        """Raise the error."""
        raise UsageError(f"{message[:1].upper()}{message[1:]}; see {self.prog} --help.")
