"""Lines about attempts are printed as JSON, one by one, and only those that the setting wants."""

import json

import pytest

from timeball.aws.attempt_lines import AttemptDetail, PrintedAttempts
from timeball.domain.attempts.attempt_line import Line


@pytest.mark.parametrize(
    ("detail", "wanted"),
    [(AttemptDetail.ALL, (True, True)), (AttemptDetail.FAILED, (False, True)), (AttemptDetail.OFF, (False, False))],
)
def test_the_setting_says_which_attempts_have_a_line(detail: AttemptDetail, wanted: tuple[bool, bool]) -> None:
    log = PrintedAttempts(detail)
    assert (log.wants(has_succeeded=True), log.wants(has_succeeded=False)) == wanted


def test_each_line_is_an_object_by_itself(capsys: pytest.CaptureFixture[str]) -> None:
    lines: list[Line] = [{"message": "attempt", "attempt": 1, "reason": None}, {"message": "attempt", "attempt": 2}]
    PrintedAttempts(AttemptDetail.ALL).write(lines)
    assert [json.loads(line) for line in capsys.readouterr().out.splitlines()] == lines
