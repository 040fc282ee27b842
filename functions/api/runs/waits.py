"""The gates that held a run before its first attempt, as its answers tell them."""

from pydantic import Field

from functions.api.http.reply import Answer
from timeball.domain.model.runs.held import Held
from timeball.domain.time.instants import SECOND_MS


class WaitsAnswer(Answer):
    """How long a run was held before its first attempt, in seconds: 0 where it was not."""

    parents: float = Field(description="By the jobs that its own depends on.")
    limits: float = Field(description="By keys that its job names.")
    quota: float = Field(description="By quotas of its tenant.")
    overlap: float = Field(description="By an earlier run of its job.")
    circuit: float = Field(description="By what its target needs, which had failed.")
    frozen: float = Field(description="By a pause or a freeze of its job.")


def waits_answer(held: Held) -> WaitsAnswer:
    """Return what held a run, in seconds."""
    return WaitsAnswer(
        parents=held.parents / SECOND_MS,
        limits=held.limits / SECOND_MS,
        quota=held.quota / SECOND_MS,
        overlap=held.overlap / SECOND_MS,
        circuit=held.circuit / SECOND_MS,
        frozen=held.frozen / SECOND_MS,
    )
