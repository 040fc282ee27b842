"""The error of a rehearsal that cannot continue."""


class RehearsalError(Exception):
    """The rehearsal was asked for something that it cannot do; the message is a sentence that says what to do."""
