"""The gates that held a run before its first attempt, in answers."""

from pydantic import Field

from timeball.api.http.reply import AnswerModel
from timeball.domain.model.runs.values import GateWaits
from timeball.domain.time.instants import SECOND_MS


class WaitsAnswer(AnswerModel):
    """How long each gate held a run before its first attempt, in seconds; 0 if it did not."""

    parents: float = Field(description="Seconds until its parents let it run.")
    limits: float = Field(description="Seconds until the limits of its job admitted it.")
    quota: float = Field(description="Seconds until the quotas of its tenant admitted it.")
    overlap: float = Field(description="Seconds until an earlier run of its job let it run.")
    circuit: float = Field(description="Seconds while the circuit of its target's resource was open.")
    frozen: float = Field(description="Seconds in a pause or a freeze of its job.")


def waits_answer(gate_waits: GateWaits) -> WaitsAnswer:
    """Return how long each gate held a run, in seconds."""
    return WaitsAnswer(
        parents=gate_waits.parents / SECOND_MS,
        limits=gate_waits.limits / SECOND_MS,
        quota=gate_waits.quota / SECOND_MS,
        overlap=gate_waits.overlap / SECOND_MS,
        circuit=gate_waits.circuit / SECOND_MS,
        frozen=gate_waits.frozen / SECOND_MS,
    )
