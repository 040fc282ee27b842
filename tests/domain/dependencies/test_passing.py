"""The results of a job's parents that its call receives: each result is whole, or left out."""

import json

import pytest

from timeball.domain.dependencies.passing import KEPT_BYTES, MAX_PASSED_BYTES, PassedParent, handed
from timeball.domain.model.ids import JobKey, Origin, RunId

RUN = RunId(JobKey("acme", "a"), 5, Origin.SCHEDULE)


def _of_one(answer: str | None) -> dict[str, object]:
    text = handed('{"n":1}', [PassedParent("rows", "succeeded", RUN, answer)])
    assert text is not None
    document = json.loads(text)
    assert document["payload"] == {"n": 1}
    told: dict[str, object] = document["parents"]["rows"]
    assert (told["status"], told["runId"]) == ("succeeded", "a.5.s")
    return told


# An answer, and the result that is passed on.
RESULTS: dict[str, tuple[str | None, object]] = {
    "an object": ('{"rows": [1, 2]}', {"rows": [1, 2]}),
    "a text": ("all right", "all right"),
    "a JSON string": ('"all right"', "all right"),
    "a null": ("null", None),
    "none": (None, None),
    "an empty one": ("", None),
    "half an object": ('{"rows": ', '{"rows": '),
    "no number for every parser": ("NaN", "NaN"),
    "quotes and line ends": ('say "hi"\n', 'say "hi"\n'),
    "one with a template in it": ("{{payload}}", "{{payload}}"),
    "too deep for a parser": ("[" * 9_000, "[" * 9_000),
}


@pytest.mark.parametrize("case", RESULTS)
def test_a_json_answer_is_passed_on_as_json_and_any_other_as_a_string(case: str) -> None:
    answer, result = RESULTS[case]
    assert _of_one(answer) == {"status": "succeeded", "runId": "a.5.s", "result": result}


@pytest.mark.parametrize("answer", ["x" * KEPT_BYTES, '{"a":"' + "ä" * (KEPT_BYTES // 2 - 4)], ids=["text", "json"])
def test_an_answer_that_was_cut_is_left_out_and_marked_as_too_large(answer: str) -> None:
    assert _of_one(answer) == {"status": "succeeded", "runId": "a.5.s", "result": None, "resultTooLarge": True}


def test_answers_are_passed_on_up_to_256_kb_together() -> None:
    answer = json.dumps("x" * (KEPT_BYTES - 2))
    most = MAX_PASSED_BYTES // KEPT_BYTES
    parents = [PassedParent(f"p{number}", "succeeded", RUN, answer) for number in range(most)]
    assert handed(None, parents) is not None
    assert handed(None, [*parents, PassedParent("one", "succeeded", RUN, "1")]) is None


def test_without_a_payload_it_is_null_and_a_parent_without_a_run_has_null_fields() -> None:
    assert json.loads(handed(None, [PassedParent("a")]) or "") == {
        "payload": None,
        "parents": {"a": {"status": None, "runId": None, "result": None}},
    }
