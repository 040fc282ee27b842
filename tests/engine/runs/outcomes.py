"""What became of a change of a single run: why it was refused; or that it was done, or that there is no such run."""

from timeball.engine.runs.refusal import Answered

DONE = "done"
NOT_FOUND = "not found"


def outcome(answered: Answered) -> str:
    """Return what became of a change."""
    refusal, run = answered
    return refusal or (NOT_FOUND if run is None else DONE)
