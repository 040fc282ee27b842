"""An intent as its job's row keeps it: whoever goes on with it reads what was written."""

import pytest

from timeball.aws.dynamodb.table.codec import from_text, to_text
from timeball.domain.model.job import Intent, Searched, Verb
from timeball.domain.time.schedule import Every, Schedule

INTENTS = {
    "nothing but the verb": Intent(Verb.PAUSE, 1, None),
    "the old plan": Intent(Verb.RESCHEDULE, 1, 2, Schedule(Every(60, 3))),
    "cut off, nothing found": Intent(Verb.CANCEL, 1, 2, None, Searched(4, None)),
    "cut off behind a live run": Intent(Verb.RESCHEDULE, 1, 2, Schedule(Every(60, 3)), Searched(4, 5)),
    "cut off among backfills": Intent(Verb.CANCEL, 1, None, None, None, "bf7"),
}


@pytest.mark.parametrize("case", INTENTS)
def test_an_intent_is_read_as_it_was_written(case: str) -> None:
    assert from_text(Intent, to_text(INTENTS[case])) == INTENTS[case]
