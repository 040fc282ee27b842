"""The errors of the domain: each says in one sentence what is wrong and what to do instead."""


class InvalidSchedule(ValueError):  # noqa: N818 - it says what is wrong, as an API error does
    """A schedule that is invalid: its text says what is wrong and what to write instead."""
