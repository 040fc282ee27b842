"""An intent in its job's row: the process that continues it reads exactly what was written."""

import pytest

from timeball.aws.dynamodb.table.codec import from_text, to_text
from timeball.domain.model.ids import JobKey, Origin, RunId
from timeball.domain.model.jobs.job import Intent, Verb
from timeball.domain.time.schedule import Every, Schedule

INTENTS = {
    "nothing but the verb": Intent(Verb.PAUSE, 1, None),
    "the old plan": Intent(Verb.RESCHEDULE, 1, 2, Schedule(Every(60, 3))),
    "cut off among runs": Intent(
        Verb.RESCHEDULE, 1, 2, Schedule(Every(60, 3)), RunId(JobKey("acme", "job"), 4, Origin.BACKFILL, "bf7")
    ),
    "cut off among backfills": Intent(Verb.CANCEL, 1, None, None, None, "bf7"),
}


@pytest.mark.parametrize("case", INTENTS)
def test_an_intent_is_read_as_it_was_written(case: str) -> None:
    assert from_text(Intent, to_text(INTENTS[case])) == INTENTS[case]
