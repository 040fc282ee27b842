"""Trials by an executor, invoked for one at a time: only executors may call targets and read their secrets."""

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from timeball.aws.dynamodb.table.codec import from_text, to_text
from timeball.aws.dynamodb.table.mapper import to_work, work_text
from timeball.aws.patience import Asker, Patience
from timeball.ports.errors import UnavailableError
from timeball.ports.trials import Trial, Tried

LONGEST_SECONDS: Final = 20
"""How long a target may take: its executor may first start cold, and API Gateway gives up after 30 s."""

TRYING: Final = Asker(Patience(connect_seconds=1, read_seconds=LONGEST_SECONDS + 5, longest_seconds=27))
_TRIAL: Final = "trial"


class ExecutorTrials:
    """An executor, by its name. The client is made when it is first needed."""

    def __init__(self, client: Callable[[], Any], function: str, asker: Asker = TRYING) -> None:
        self._client, self._function, self._asker = client, function, asker

    def make(self, trial: Trial) -> Tried:
        """Let the executor call the target, once."""
        asked = {"tenant": trial.tenant, "work": work_text(trial.work), "timeoutSeconds": trial.timeout_seconds}
        event = json.dumps({_TRIAL: asked}).encode()
        answer = self._asker.ask_once(lambda: self._client().invoke(FunctionName=self._function, Payload=event))
        trial_answer = answer["Payload"].read()
        if "FunctionError" in answer:
            raise UnavailableError("the executor of a trial has failed")
        tried: Tried = from_text(Tried, json.loads(trial_answer)[_TRIAL])
        return tried


def trial_in(event: Mapping[str, Any]) -> Trial | None:
    """Return the trial that an event of a function asks for, if it does."""
    asked = event.get(_TRIAL)
    return None if asked is None else Trial(asked["tenant"], to_work(asked["work"]), asked["timeoutSeconds"])


def trial_answer(tried: Tried) -> dict[str, str]:
    """Return the answer of a function that has made a trial."""
    return {_TRIAL: to_text(tried)}
