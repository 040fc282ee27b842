"""What a port raises: it does not know the outcome, or has none to tell."""


class UnavailableError(Exception):
    """The store or the queue did not answer, or not for every item: the outcome is unknown."""


class ContendedError(UnavailableError):
    """What was to be changed kept changing meanwhile: nothing of what was asked for was done."""
