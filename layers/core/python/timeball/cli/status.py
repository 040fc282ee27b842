"""The exit status of a command, and the error that ends one."""

from enum import IntEnum


class Status(IntEnum):
    """The exit status of a command."""

    OK = 0
    BAD = 1  # the command did its work, and the outcome is bad: a run failed, a check found a fault
    USAGE = 2
    NOT_FOUND = 3
    NOT_ALLOWED = 4
    CONFLICT = 5
    QUOTA = 6
    UNAVAILABLE = 7


class CommandError(Exception):
    """A command that cannot go on; its text is a sentence that says why."""

    def __init__(self, sentence: str, status: Status = Status.USAGE) -> None:
        super().__init__(sentence)
        self.status = status
