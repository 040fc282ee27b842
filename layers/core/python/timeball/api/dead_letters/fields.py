"""Fields of requests about dead letters: the form of each value, with the sentence for a wrong one."""

from typing import Annotated, Final

from pydantic import AfterValidator, WithJsonSchema

from timeball.domain.model.ids import JOB_ID, RUN_ID, RunId
from timeball.domain.model.reason import FAILURES

_REASONS: Final = [reason.value for reason in FAILURES]


def _job_id(text: str) -> str:
    if not JOB_ID.fullmatch(text):
        raise ValueError("No job can have this id; give the jobId of an answer.")
    return text


def _task_id(text: str) -> str:
    if not JOB_ID.fullmatch(text):
        raise ValueError("No task can have this id; give the taskId of an answer.")
    return text


def _run_id(text: str) -> str:
    if RunId.parse("", text) is None:
        raise ValueError("No run can have this id; give the runId of an answer.")
    return text


def _reason(text: str) -> str:
    if text not in _REASONS:
        raise ValueError(f"Give one of {', '.join(_REASONS)}.")
    return text


JobId = Annotated[str, AfterValidator(_job_id), WithJsonSchema({"type": "string", "pattern": f"^{JOB_ID.pattern}$"})]
TaskId = Annotated[str, AfterValidator(_task_id), WithJsonSchema({"type": "string", "pattern": f"^{JOB_ID.pattern}$"})]
RunIdText = Annotated[str, AfterValidator(_run_id), WithJsonSchema({"type": "string", "pattern": f"^{RUN_ID}$"})]
ReasonText = Annotated[str, AfterValidator(_reason), WithJsonSchema({"type": "string", "enum": _REASONS})]
