"""The errors of ports: the outcome is unknown, or nothing was done."""


class UnavailableError(Exception):
    """The store or the queue did not answer, or not for every item: the outcome is unknown."""


class ContendedError(UnavailableError):
    """The row kept changing during the change, so nothing was done."""
