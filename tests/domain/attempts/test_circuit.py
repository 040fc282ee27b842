"""The circuit of a host and of its paths: when it opens, which run probes, and which runs take rate tokens."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from timeball.domain.attempts.circuit_breaker import (
    CALL,
    MOST_SEGMENTS,
    Circuit,
    CircuitKey,
    CircuitRules,
    Observation,
    Segment,
    after_answers,
    check,
)
from timeball.domain.model.ids import JobKey, Origin, RunId
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.time.instants import parse_instant

NOW = parse_instant("2026-11-21T09:30:00Z")
RULES = CircuitRules(failures=3, open_ms=30_000, longest_open_ms=100_000, retries_per_second=10, burst=5)
HOST = Circuit(CircuitKey("acme", "https://target.example"))
FRESH = Run(RunId(JobKey("acme", "job"), NOW, Origin.SCHEDULE), RunState.QUEUED, 1, "normal", 0, NOW, NOW)
RETRY = replace(FRESH, state=RunState.RETRYING, attempt=1)
RESTS = replace(HOST, failures=3, openings=1, open_until=NOW + 30_000)


def _after(host: Circuit, failed: Sequence[bool]) -> Circuit:
    return after_answers(host, [Observation(one) for one in failed], NOW, RULES)


def _runs(count: int, like: Run) -> list[Run]:
    return [replace(like, id=replace(like.id, fire_at=NOW + step)) for step in range(count)]


def _admitted(host: Circuit, runs: Sequence[Run], at: int) -> tuple[Circuit, list[int | None]]:
    waits: list[int | None] = []
    for run in runs:
        host, admission = check(host, run, at, RULES)
        waits.append(admission.until)
    return host, waits


# Each case: the host before, the answers (True: failed), and failures and rests afterwards.
ANSWERS: dict[str, tuple[Circuit, tuple[bool, ...], int, int]] = {
    "one failure": (HOST, (True,), 1, 0),
    "as many as it may have in a row": (HOST, (True, True), 2, 0),
    "one more": (HOST, (True, True, True), 3, 1),
    "a success in between": (HOST, (True, True, False, True, True), 2, 0),
    "a success at the end": (HOST, (True, True, False), 0, 0),
    "calls that were on their way when the rest began": (RESTS, (True, True, True), 3, 1),
    "a success of such a call": (RESTS, (False,), 0, 0),
    "the probe failed": (replace(RESTS, is_half_open=True), (True,), 4, 2),
    "the probe succeeded": (replace(RESTS, is_half_open=True), (False,), 0, 0),
}


@pytest.mark.parametrize("case", ANSWERS)
def test_a_host_rests_after_this_many_failures_in_a_row(case: str) -> None:
    host, failed, failures, openings = ANSWERS[case]
    after = _after(host, failed)
    assert (after.failures, after.openings) == (failures, openings)
    assert (after.open_until is not None) == (openings > 0)


def test_each_rest_in_a_row_is_twice_as_long_up_to_the_longest() -> None:
    host, openings = HOST, []
    for _ in range(4):
        host = _after(replace(host, failures=2, is_half_open=True), [True])
        openings.append((host.open_until or 0) - NOW)
    assert openings == [30_000, 60_000, 100_000, 100_000]


def test_a_host_may_rest_for_ever() -> None:
    host = replace(HOST, failures=10_000, openings=10_000, is_half_open=True)
    assert _after(host, [True]).open_until == NOW + 100_000


def test_no_run_calls_a_host_that_rests_and_the_waiting_runs_come_back_spread_over_the_length_of_the_rest() -> None:
    host, waits = _admitted(RESTS, _runs(200, RETRY), NOW + 1)
    assert host == RESTS
    until = [wait - NOW for wait in waits if wait is not None]
    assert len(until) == 200
    assert 30_000 <= min(until) < 31_000
    assert 59_000 < max(until) < 60_000


def test_after_the_rest_one_run_probes_the_host_and_the_others_ask_again() -> None:
    host, waits = _admitted(RESTS, _runs(5, FRESH), NOW + 30_000)
    assert waits[0] is None
    assert all(wait is not None and wait >= NOW + 40_000 for wait in waits[1:])
    assert (host.is_half_open, host.open_until) == (True, NOW + 90_000)


def test_a_probe_without_a_result_is_followed_by_another() -> None:
    host, _ = _admitted(RESTS, [FRESH], NOW + 30_000)
    assert _admitted(host, [FRESH], NOW + 89_999)[1] != [None]
    assert _admitted(host, [FRESH], NOW + 90_000)[1] == [None]


def test_a_run_that_is_claimed_before_its_instant_is_judged_by_its_instant() -> None:
    assert _admitted(RESTS, [replace(FRESH, not_before=NOW + 30_000)], NOW + 29_000)[1] == [None]


def test_first_calls_of_a_host_that_answers_are_neither_delayed_nor_counted() -> None:
    watched = replace(HOST, failures=2)
    assert _admitted(watched, _runs(100, FRESH), NOW) == (watched, [None] * 100)


@pytest.mark.parametrize(
    "like", [RETRY, replace(FRESH, reason=Reason.CIRCUIT_OPEN)], ids=["retries", "those that waited"]
)
def test_retries_and_runs_that_waited_take_rate_tokens_after_a_first_burst(like: Run) -> None:
    _, waits = _admitted(HOST, _runs(25, like), NOW)
    assert waits[:5] == [None] * 5
    assert [wait - NOW for wait in waits[5:] if wait is not None] == [100 * turn for turn in range(1, 21)]


@pytest.mark.parametrize("like", [FRESH, RETRY])
def test_a_run_that_finds_its_host_resting_takes_no_rate_token(like: Run) -> None:
    host, admission = check(RESTS, like, NOW, RULES)
    assert (host, admission.reason) == (RESTS, Reason.CIRCUIT_OPEN)


@pytest.mark.parametrize("reason", [Reason.HOST_PACED, Reason.LIMIT_WAIT, Reason.RATE_WAIT, Reason.QUOTA_WAIT])
def test_a_run_that_has_a_rate_token_takes_no_second_one_even_after_waiting_for_a_limiter(reason: Reason) -> None:
    paced = replace(RETRY, reason=reason)
    assert check(HOST, paced, NOW, RULES) == (HOST, CALL)


def test_unused_rate_tokens_fill_the_bucket_and_no_more() -> None:
    host, _ = _admitted(HOST, _runs(25, RETRY), NOW)
    assert _admitted(host, _runs(25, RETRY), NOW + 600_000)[1].count(None) == 5


def _open(name: str, until: int = NOW + 1) -> Segment:
    return Segment(name, failures=3, openings=1, open_until=until)


TWO_OPEN = replace(HOST, segments=(_open("b"), _open("c")))
THREE_OPEN = replace(RESTS, failures=0, segments=(_open("a"), _open("b"), _open("c")))
TRIED = replace(RESTS, is_half_open=True, open_until=NOW + 9)
FAILS, ANSWERS_WELL, UNREACHED = Observation(True, "a"), Observation(False, "a"), Observation(True)  # noqa: FBT003

# Each case: the host before, the answers; then whether the host is open, and the failures of each path segment.
ON_PATHS: dict[str, tuple[Circuit, list[Observation], bool, dict[str, int]]] = {
    "a path fails": (HOST, [FAILS], False, {"a": 1}),
    "it fails as often as a circuit opens": (HOST, [FAILS] * 3, False, {"a": 3}),
    "it fails on, as calls that had left": (HOST, [FAILS] * 9, False, {"a": 3}),
    "it answers in between": (HOST, [FAILS, FAILS, ANSWERS_WELL, FAILS], False, {"a": 1}),
    "another path answers in between": (HOST, [FAILS, FAILS, Observation(False, "b"), FAILS], False, {"a": 3}),  # noqa: FBT003
    "no connection is made in between": (HOST, [FAILS, UNREACHED, FAILS], False, {"a": 2}),
    "no connection is made": (HOST, [UNREACHED] * 3, True, {}),
    "a path fails between refusals": (HOST, [UNREACHED, UNREACHED, FAILS, UNREACHED], True, {"a": 1}),
    "a third path opens": (TWO_OPEN, [FAILS] * 3, True, {"b": 3, "c": 3, "a": 3}),
    "a third path fails, and is not open yet": (TWO_OPEN, [FAILS] * 2, False, {"b": 3, "c": 3, "a": 2}),
    "a third path opens after another's rest": (
        replace(HOST, segments=(_open("b", NOW), _open("c"))),
        [FAILS] * 3,
        False,
        {"b": 3, "c": 3, "a": 3},
    ),
    "a path fails that was called before the host opened": (RESTS, [FAILS], True, {}),
    "the probe of refusals connects, and its path fails": (TRIED, [FAILS], False, {"a": 1}),
    "the probe connects, and three paths fail": (
        replace(TRIED, segments=TWO_OPEN.segments),
        [FAILS],
        True,
        {"b": 3, "c": 3, "a": 1},
    ),
    "the probe of three open paths answers": (
        replace(THREE_OPEN, is_half_open=True),
        [ANSWERS_WELL],
        False,
        {"b": 3, "c": 3},
    ),
    "the probe of three open paths makes no connection": (
        replace(THREE_OPEN, is_half_open=True),
        [UNREACHED],
        True,
        {"a": 3, "b": 3, "c": 3},
    ),
}


@pytest.mark.parametrize("case", ON_PATHS)
def test_failures_after_connecting_count_for_their_path_and_others_for_the_host(case: str) -> None:
    host, observed, is_open, failures = ON_PATHS[case]
    after = after_answers(host, observed, NOW, RULES)
    assert (after.open_until is not None and not after.is_half_open) == is_open
    assert {one.name: one.failures for one in after.segments} == failures


def test_paths_beyond_the_rows_room_count_for_their_host() -> None:
    host = HOST
    for number in range(MOST_SEGMENTS + RULES.failures - 1):
        host = after_answers(host, [Observation(True, str(number))], NOW, RULES)  # noqa: FBT003
    assert (len(host.segments), host.open_until) == (MOST_SEGMENTS, None)
    assert after_answers(host, [Observation(True, "one more")], NOW, RULES).open_until == NOW + 30_000  # noqa: FBT003


def test_an_open_path_is_not_displaced_by_another() -> None:
    host = replace(HOST, segments=(_open("a"), *(Segment(str(number), 1) for number in range(MOST_SEGMENTS - 1))))
    after = after_answers(host, [Observation(True, "another")], NOW, RULES)  # noqa: FBT003
    assert [one.name for one in after.segments][:2] == ["a", "1"]


def test_a_path_that_rests_defers_only_its_own_runs() -> None:
    host = replace(HOST, segments=(_open("a", NOW + 30_000),))
    after, deferred = check(host, FRESH, NOW, RULES, "a")
    assert (after, deferred.reason) == (host, Reason.CIRCUIT_OPEN)
    assert deferred.until is not None
    assert deferred.until >= NOW + 30_000
    assert check(host, FRESH, NOW, RULES, "b") == (host, CALL)


def test_one_run_probes_a_path_after_its_rest() -> None:
    host, admission = check(replace(HOST, segments=(_open("a", NOW),)), FRESH, NOW, RULES, "a")
    assert (admission, host.open_until) == (CALL, None)
    assert [(one.is_half_open, one.open_until) for one in host.segments] == [(True, NOW + 60_000)]
    assert check(host, FRESH, NOW, RULES, "a")[1].reason is Reason.CIRCUIT_OPEN


def test_one_run_probes_a_host_and_its_path_together() -> None:
    resting = replace(RESTS, open_until=NOW, segments=(_open("a", NOW), _open("b", NOW)))
    host, admission = check(resting, FRESH, NOW, RULES, "a")
    assert (admission, host.is_half_open) == (CALL, True)
    assert [one.is_half_open for one in host.segments] == [True, False]
    closed = after_answers(host, [ANSWERS_WELL], NOW, RULES)
    assert (closed.open_until, [one.name for one in closed.segments]) == (None, ["b"])


def test_a_run_whose_path_rests_longer_than_its_host_does_not_probe_the_host() -> None:
    host = replace(RESTS, open_until=NOW, segments=(_open("a", NOW + 30_000),))
    assert check(host, FRESH, NOW, RULES, "a")[0] == host
    assert check(host, FRESH, NOW, RULES, "b")[1] == CALL
