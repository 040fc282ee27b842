"""The outcome of a change of a single run: it was done, there is no such run, or the reason for the refusal."""

from timeball.engine.runs.effects import Answered

DONE = "done"
NOT_FOUND = "not found"


def outcome(answered: Answered) -> str:
    """Return the outcome of a change."""
    refusal, run = answered
    return refusal or (NOT_FOUND if run is None else DONE)
