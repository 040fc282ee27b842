import io
import json
import os
from pathlib import Path

import pytest

from local.demo import running
from local.demo_ledger import Ledger, disagreements, earliest_retries
from local.demo_scenario import BURST, CRON, EVERY, Progress, due_of, planned
from local.demo_table import Display, each_lateness, table, verdict
from local.demo_tally import DemoTally, Due, early_retries, percentile, tally, total
from local.receiver import ReceivedRequest
from timeball.domain.time.instants import format_instant

AT = 1_795_253_400_000
DUE = [Due("a", AT), Due("b", AT)]


def arrival(
    job: str = "a", late: int = 5, *, attempt: int = 1, run: str = "", fire_at: int = AT, status: int = 200
) -> ReceivedRequest:
    return ReceivedRequest(AT + late, "/ok", run or f"run_{job}", job, attempt, fire_at, b"", status)


A, B = arrival("a"), arrival("b", 20)

# The arrivals; then the expected counts: arrived, early, doubled, lost, and the lateness of each.
TALLIES: list[tuple[str, list[ReceivedRequest], tuple[int, int, int, int, tuple[int, ...]]]] = [
    ("all in time", [A, B], (2, 0, 0, 0, (5, 20))),
    ("nothing", [], (0, 0, 0, 2, ())),
    ("one is missing", [B], (1, 0, 0, 1, (20,))),
    ("one before its time", [arrival("a", -1), B], (2, 1, 0, 0, (-1, 20))),
    ("an attempt twice", [A, A, B], (2, 0, 1, 0, (5, 20))),
    ("an attempt after success", [A, arrival("a", 9, attempt=2), B], (2, 0, 1, 0, (5, 20))),
    (
        "a second run of an instant",
        [arrival(status=500), arrival("a", 9, attempt=2, run="other"), B],
        (2, 0, 1, 0, (5, 20)),
    ),
    ("an instant that was not due", [A, B, arrival("a", fire_at=AT + 1)], (2, 0, 1, 0, (5, 20))),
    ("a retry that succeeds", [arrival(status=500), arrival("a", 900, attempt=2), B], (2, 0, 0, 0, (5, 20))),
    ("no success", [arrival(status=500), B], (1, 0, 0, 1, (5, 20))),
    ("somebody else's job", [A, B, arrival("z")], (2, 0, 0, 0, (5, 20))),
]


@pytest.mark.parametrize(("arrivals", "expected"), [row[1:] for row in TALLIES], ids=[row[0] for row in TALLIES])
def test_due_instants_are_compared_with_arrivals(
    arrivals: list[ReceivedRequest], expected: tuple[int, int, int, int, tuple[int, ...]]
) -> None:
    one = tally(DUE, arrivals, lost_before=AT + 1)
    assert (one.arrived, one.early, one.doubled, one.lost, one.lateness) == expected


def test_a_call_that_may_still_arrive_is_not_lost() -> None:
    assert tally(DUE, [], lost_before=AT).lost == 0


@pytest.mark.parametrize(("share", "value"), [(0.5, 50), (0.99, 99), (1, 100), (0, 1)])
def test_a_percentile_is_a_measured_value(share: float, value: int) -> None:
    assert percentile(range(1, 101), share) == value
    assert percentile([], share) is None


JOB = {"retryPolicy": {"jitter": "none"}, "retryTimetable": [1, 2]}
RUN = {"runId": "run_a", "fireTime": format_instant(AT), "attempt": 1, "status": "succeeded", "startedAt": None}

# The ledger's row, the arrivals, and a word of each complaint.
STORIES = [
    ("the same story", RUN, [arrival()], []),
    ("no row", None, [], ["no row"]),
    ("no row of what arrived", None, [arrival()], ["no row", "no row"]),
    ("a call that nobody made", RUN, [arrival(), arrival()], ["2 calls"]),
    ("a success that nobody saw", RUN, [], ["0 calls", "0 calls"]),
    ("a start before its time", RUN | {"startedAt": format_instant(AT - 1)}, [arrival()], ["before its time"]),
]


@pytest.mark.parametrize(
    ("row", "arrivals", "words"), [case[1:] for case in STORIES], ids=[case[0] for case in STORIES]
)
def test_the_ledger_and_the_receiver_agree(
    row: dict[str, object] | None, arrivals: list[ReceivedRequest], words: list[str]
) -> None:
    ledger = Ledger({"a": JOB}, {"a": [row] if row else []})
    said = disagreements(ledger, [Due("a", AT)], arrivals)
    assert len(said) == len(words)
    assert all(word in sentence for word, sentence in zip(words, said, strict=True))


def test_a_retry_before_the_end_of_its_wait_is_early() -> None:
    attempts = [{"number": 1, "finishedAt": format_instant(AT + 10)}, {"number": 2, "finishedAt": None}]
    earliest = earliest_retries(Ledger({"a": JOB}, {"a": [RUN | {"attempts": attempts}]}))
    assert earliest == {("run_a", 2): AT + 1010}
    assert early_retries([arrival("a", 1009, attempt=2), arrival("a", 1010, attempt=2), arrival()], earliest) == 1


def test_the_plan_has_fifty_jobs_in_one_second_and_a_cron_only_on_request() -> None:
    jobs = planned("http://127.0.0.1:1", AT, with_cron=True)
    assert {job["scheduleAt"] for job in jobs[BURST]} == {format_instant(AT + 15_000)}
    assert len(jobs[BURST]) == 50
    assert {*jobs} - {*planned("http://127.0.0.1:1", AT, with_cron=False)} == {CRON}
    every = {"jobId": "e", "scheduleAt": None, **jobs[EVERY][0]}
    assert [due.fire_at - AT for due in due_of(every)] == [*range(6_000, 36_001, 2_000)]


RIGHT = DemoTally(due=2, arrived=2, early=0, doubled=0, lost=0, lateness=(5, 20))
WRONG = DemoTally(due=3, arrived=1, early=1, doubled=2, lost=2, lateness=(-3,))


def test_the_verdict_names_every_problem() -> None:
    assert verdict([RIGHT]).startswith("none lost, none doubled, none early\np50 5 ms, p99 20 ms (receiver's clock")
    assert verdict([RIGHT, WRONG]).startswith("2 lost, 2 doubled, 1 early\np50 5 ms")
    assert total([RIGHT, WRONG]).due == 5
    assert (RIGHT.is_right, WRONG.is_right) == (True, False)


def test_the_table_has_a_row_for_each_group_and_blanks_for_what_is_unknown() -> None:
    nothing = DemoTally(due=1, arrived=0, early=0, doubled=0, lost=0, lateness=())
    heading, right, empty = table({"now": RIGHT, "cron": nothing})
    assert heading.split() == ["due", "arrived", "early", "doubled", "lost", "p50", "p99", "max"]
    assert right.split() == ["now", "2", "2", "0", "0", "0", "5", "ms", "20", "ms", "20", "ms"]
    assert empty.split() == ["cron", "1", "0", "0", "0", "0"]
    assert len(heading) == len(right) == len(empty)


def test_each_lateness_is_listed_a_few_to_a_line() -> None:
    many = DemoTally(due=20, arrived=20, early=0, doubled=0, lost=0, lateness=tuple(range(20)))
    _, first, second = each_lateness({"burst": many})
    assert [*map(int, f"{first} {second}".replace("burst", "").split())] == [*range(20)]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_gets_the_table_redrawn_and_a_file_gets_a_line_now_and_then() -> None:
    terminal, file = Terminal(), io.StringIO()
    for out in (terminal, file):
        display = Display(out)
        for now in (AT, AT + 200, AT + 5_200):
            display.show(Progress(now, AT + 2_000, AT + 9_000, {"now": RIGHT}))
    assert terminal.getvalue().count("\x1b[4F") == 2
    assert terminal.getvalue().count("now ") == 3
    assert file.getvalue().splitlines() == [
        "2 of 2 have arrived; the burst is due in 2 s",
        "2 of 2 have arrived; the last is due in 4 s",
    ]


def test_a_session_that_ended_is_reported_and_ignored(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    session = tmp_path / "session.json"
    assert running(session) is None
    assert capsys.readouterr().out == ""
    # A port without a listener, of a process that lives.
    session.write_text(json.dumps({"apiUrl": "http://127.0.0.1:1", "apiKey": "tb_x", "pid": os.getpid()}))
    assert running(session) is None
    assert "is ignored" in capsys.readouterr().out
