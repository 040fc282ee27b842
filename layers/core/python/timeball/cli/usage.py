"""Options of a command, and the one sentence that a person gets for those that cannot be accepted."""

from argparse import ArgumentParser
from typing import NoReturn


class UsageError(Exception):
    """A request that cannot be accepted: its text is the sentence that says why."""


class Options(ArgumentParser):
    """A parser that raises UsageError, where Python's own one prints its usage and exits."""

    def error(self, message: str) -> NoReturn:
        """Raise the error."""
        raise UsageError(f"{message[:1].upper()}{message[1:]}; see {self.prog} --help.")
