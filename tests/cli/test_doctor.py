"""What the doctor says of each trouble, and how it is mended."""

from collections.abc import Iterator, Mapping
from typing import Any

import httpx
import pytest

from tests.cli.commands import Shell
from timeball.cli.views.diagnoses import (
    Diagnosis,
    Judgement,
    about_clock,
    about_key,
    about_late_work,
    about_queues,
    about_quotas,
    about_reach,
    about_ticks,
    about_versions,
)
from timeball.client.errors import error_of
from timeball.domain.time.instants import parse_instant

NOW = parse_instant("2026-11-24T12:00:00Z")
ME: dict[str, Any] = {"keyId": "key_1", "role": "admin", "tenant": "acme", "tags": {}, "expiresAt": None}


def state(**also: Any) -> Mapping[str, Any]:
    health = {"lastTickAt": "2026-11-24T11:59:58.000Z", "oldestDueAt": None, "lateness": None}
    return {"asOf": "2026-11-24T12:00:00.000Z", "health": {**health, **also}, "needsAttention": also.get("needs", [])}


def stats(count: int, age: float, waiting: int = 0) -> Mapping[str, Any]:
    queues = {"normal": {"waiting": waiting, "inFlight": 0, "delayed": 0}}
    return {"waiting": {"count": count, "ageSeconds": age}, "queues": queues}


def tenant(used: int, limit: int) -> Mapping[str, Any]:
    return {"name": "acme", "quotas": {"activeJobs": {"limit": limit, "used": used}, "x": {"limit": 1, "used": None}}}


# Each case: the diagnoses, their judgement, words of what is found, and words of the mend.
CASES: dict[str, tuple[Iterator[Diagnosis], Judgement, str, str]] = {
    "no answer": (
        about_reach("https://a", error_of(0, {"detail": "https://a did not answer."})),
        Judgement.WRONG,
        "did not answer",
        "ApiUrl",
    ),
    "no ticks, says the API": (
        about_reach("https://a", error_of(503, {"type": "urn:timeball:problem:unhealthy", "detail": "No ticks."})),
        Judgement.WRONG,
        "No ticks.",
        "docs/runbooks/tick-silent.md",
    ),
    "another server": (about_reach("https://a", error_of(404, {})), Judgement.WRONG, "status 404", "URL of a Timeball"),
    "a wrong key": (
        about_key(error_of(401, {"detail": "Not valid."}), NOW),
        Judgement.WRONG,
        "Not valid.",
        "timeball login",
    ),
    "a key that ends": (
        about_key({**ME, "expiresAt": "2026-11-25T00:00:00.000Z"}, NOW),
        Judgement.WARNING,
        "ends at 2026-11-25",
        "timeball key rotate key_1",
    ),
    "a key": (about_key({**ME, "tags": {"team": "web"}}, NOW), Judgement.OK, "within the tags team", ""),
    "a clock ahead": (about_clock(NOW - 90_000, NOW), Judgement.WRONG, "90 s ahead of", "NTP"),
    "a clock behind": (about_clock(NOW + 6_000, NOW), Judgement.WRONG, "6 s behind", "NTP"),
    "a clock that agrees": (about_clock(NOW - 4_000, NOW), Judgement.OK, "agrees", ""),
    "an answer without a date": (about_clock(None, NOW), Judgement.UNKNOWN, "no Date", ""),
    "ticks": (about_ticks(state()), Judgement.OK, "2 s old", ""),
    "old ticks": (
        about_ticks(state(lastTickAt="2026-11-24T11:59:44.000Z")),
        Judgement.WRONG,
        "16 s old",
        "tick-silent",
    ),
    "no tick ever": (about_ticks(state(lastTickAt=None)), Judgement.WRONG, "never ticked", "tick-silent"),
    "nothing late": (about_late_work(state()), Judgement.OK, "Nothing is late", ""),
    "work that was not processed": (
        about_late_work(state(oldestDueAt="2026-11-24T11:58:00.000Z")),
        Judgement.WRONG,
        "120 s ago",
        "behind.md",
    ),
    "late and stuck runs": (
        about_late_work(state(needs=[{"kind": "late"}, {"kind": "stuck"}, {"kind": "late"}])),
        Judgement.WARNING,
        "2 late, 1 stuck",
        "timeball now",
    ),
    "short queues": (about_queues(stats(2, 10, 5)), Judgement.OK, "2 runs wait; 5 messages of priority normal", ""),
    "runs that wait for long": (about_queues(stats(2, 301)), Judgement.WARNING, "for 301 s", "no-hands.md"),
    "free quotas": (about_quotas(tenant(89, 100)), Judgement.OK, "No quota", ""),
    "a quota nearly used": (
        about_quotas(tenant(90, 100)),
        Judgement.WARNING,
        "activeJobs 90 of 100",
        "tenant set acme",
    ),
    "a quota used up": (about_quotas(tenant(100, 100)), Judgement.WRONG, "activeJobs 100 of 100", "tenant set acme"),
    "no quota": (about_quotas(tenant(100, 0)), Judgement.OK, "No quota", ""),
    "a server without a version": (about_versions({}), Judgement.UNKNOWN, "does not name", ""),
    "the same release": (about_versions({"serverVersion": "0.1.7"}), Judgement.OK, "0.1.7", ""),
    "another release": (about_versions({"serverVersion": "0.2.0"}), Judgement.WARNING, "0.2.0", "pip install"),
}


@pytest.mark.parametrize("case", CASES)
def test_the_doctor_names_the_trouble_and_the_mend(case: str) -> None:
    diagnoses, judgement, found, mend = CASES[case]
    (one,) = diagnoses
    assert one.state is judgement
    assert found in one.found
    assert mend in (one.mend or "")
    assert bool(one.mend) == (judgement in {Judgement.WRONG, Judgement.WARNING})


def test_a_healthy_timeball_is_exit_status_0(shell: Shell) -> None:
    done = shell("doctor")
    assert done.status == 0
    assert [row[1] for row in done.rows if row[0] != "ok"] == ["clock"]  # the answers in memory have no Date
    assert [row[1] for row in done.rows] == [
        *("reach", "key", "clock", "ticks", "late work", "queues", "quotas", "versions")
    ]


def test_a_timeball_without_ticks_is_exit_status_1(shell: Shell) -> None:
    clock = shell.world.clock
    clock.advance(60_000)
    shell.pause = lambda seconds: clock.advance(int(seconds * 1000))  # the engine stands still meanwhile
    done = shell("doctor", "--json=state,check,mend")
    assert done.status == 1
    wrong = {one["check"]: one["mend"] for one in done.json if one["state"] == "wrong"}
    assert set(wrong) == {"reach", "ticks"}
    assert all(wrong.values())


def test_jobs_that_fail_are_a_warning_and_no_fault(looking: Shell) -> None:
    done = looking("doctor")
    assert done.status == 0
    assert ["warning", "late work"] in [row[:2] for row in done.rows]


def test_a_key_that_sees_less_is_told_what_it_cannot_see(looking: Shell) -> None:
    done = looking("doctor", role="viewer")
    assert done.status == 0
    assert ["unknown", "quotas"] in [row[:2] for row in done.rows]


def test_nothing_more_is_examined_without_an_answer(shell: Shell) -> None:
    def refuse(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("refused", request=request)

    done = Shell(shell.world, shell.environment, transport=httpx.MockTransport(refuse))("doctor")
    assert done.status == 1
    assert [row[:2] for row in done.rows] == [["wrong", "reach"]]


def test_a_wrong_key_is_named(shell: Shell) -> None:
    shell.environment["TIMEBALL_KEY"] = "tb_wrong"
    done = shell("doctor")
    assert done.status == 1
    assert [row[:2] for row in done.rows] == [["ok", "reach"], ["wrong", "key"]]


def test_a_web_page_in_place_of_the_api_is_named(shell: Shell) -> None:
    page = httpx.MockTransport(lambda _: httpx.Response(200, html="<p>hello</p>"))
    done = Shell(shell.world, shell.environment, transport=page)("doctor")
    assert done.status == 1
    assert done.rows[0][:2] == ["wrong", "reach"]
    assert "What answers is no Timeball." in done.stdout
