"""The cursor of a list: bound to its query, and harmless if someone invents one."""

from functools import partial

import pytest

from timeball.api.http.cursor import cursor_of, identifier, number, position_in
from timeball.api.http.problems import ProblemError
from timeball.domain.model.ids import JobKey, Origin, RunId
from timeball.domain.time.instants import LATEST

QUERY = ("/v1/jobs", "acme")
RUN = RunId(JobKey("acme", "job_1"), 5, Origin.SCHEDULE)


def test_a_cursor_returns_the_position_that_it_was_made_of() -> None:
    run_of = partial(RunId.parse, "acme")
    assert position_in(cursor_of(QUERY, (7, "job_1", RUN)), QUERY, number, identifier, run_of) == (7, "job_1", RUN)


@pytest.mark.parametrize(
    "position",
    [
        (7,),
        (7, "job_1", 8),
        ("", "job_1"),
        ("x", "job_1"),
        ("-7", "job_1"),
        ("7.5", "job_1"),
        (LATEST, "job_1"),
        ("9" * 40, "job_1"),
        (7, ""),
        (7, "no/id"),
        (7, "two words"),
    ],
)
def test_an_invented_position_is_refused(position: tuple[object, ...]) -> None:
    """The hash of a cursor is no secret, so anyone can make one for any position."""
    with pytest.raises(ProblemError):
        position_in(cursor_of(QUERY, position), QUERY, number, identifier)


def test_a_changed_cursor_is_refused() -> None:
    cursor = cursor_of(QUERY, (7, "job_1"))
    for changed in (f"{cursor}A", cursor[:-1], "!!!", "ä", ""):
        with pytest.raises(ProblemError):
            position_in(changed, QUERY, number, identifier)


def test_a_cursor_of_another_tenant_is_refused() -> None:
    with pytest.raises(ProblemError):
        position_in(cursor_of(QUERY, (7, "job_1")), ("/v1/jobs", "globex"), number, identifier)
