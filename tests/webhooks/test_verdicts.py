"""The verdict for each status, and the host of each webhook: the rules of HTTP, as tables."""

from dataclasses import replace

import pytest

from tests.webhooks.targets import NOW, a_call
from timeball.domain.model.runs.values import Accepted, Failed, Succeeded, Verdict
from timeball.domain.model.terms.policies import RETRIED_BY_DEFAULT
from timeball.domain.model.terms.target import HttpTarget, SqsTarget, segment_of
from timeball.ports.target import Answer
from timeball.targets.calls import unanswered
from timeball.targets.http.verdict import answered, parse_retry_after

CALL = a_call("https://target.example/hook")
AGAIN, NEVER = Failed(may_retry=True), Failed(may_retry=False)

# For each status, the verdict under a policy that does not mention it.
VERDICTS: dict[int, Verdict] = {
    **dict.fromkeys((200, 201, 204, 299), Succeeded()),
    202: Succeeded(),  # the job expects no report
    **dict.fromkeys((408, 425, 429), AGAIN),
    **dict.fromkeys((500, 502, 503, 504, 599), AGAIN),
    **dict.fromkeys((300, 301, 304, 400, 401, 403, 404, 409, 410, 422, 499, 199), NEVER),
    999: NEVER,  # no such class exists
}


@pytest.mark.parametrize("status", VERDICTS)
def test_temporary_failures_are_retried_and_failures_of_the_request_are_not(status: int) -> None:
    answer = answered(CALL, NOW, NOW + 1, status, "told")
    error = None if VERDICTS[status] == Succeeded() else f"The target answered with status {status}."
    assert answer == Answer(VERDICTS[status], NOW, NOW + 1, status, "told", error, is_down=status >= 500)


# Each case: the causes that a policy retries, a status, and whether it is retried.
RETRY_ON = {
    "a status that is listed": (("404",), 404, True),
    "a status that is not": (("404",), 500, False),
    "a class of statuses": (("4xx",), 404, True),
    "a class of other statuses": (("4xx",), 500, False),
}


@pytest.mark.parametrize("case", RETRY_ON)
def test_a_policy_may_list_the_statuses_that_are_retried(case: str) -> None:
    retry_on, status, expected = RETRY_ON[case]
    assert answered(replace(CALL, retry_on=retry_on), NOW, NOW, status).verdict == Failed(may_retry=expected)


# Each case: the causes that a policy retries, whether the call timed out, and whether it is retried.
SILENCES = {
    "no answer in time": (RETRIED_BY_DEFAULT, True, True),
    "no connection": (RETRIED_BY_DEFAULT, False, True),
    "in time or not at all": (("connection",), True, False),
    "a connection or not at all": (("timeout",), False, False),
}


@pytest.mark.parametrize("case", SILENCES)
def test_a_target_that_does_not_answer_is_down_and_the_policy_decides_about_a_retry(case: str) -> None:
    retry_on, timed_out, expected = SILENCES[case]
    answer = unanswered(replace(CALL, retry_on=retry_on), None, NOW, "It is silent.", timed_out=timed_out)
    assert answer == Answer(
        Failed(may_retry=expected), None, NOW, error="It is silent.", timed_out=timed_out, is_down=True
    )


@pytest.mark.parametrize(("status", "verdict"), [(202, Accepted()), (200, Succeeded()), (204, Succeeded())])
def test_only_a_202_hands_the_attempt_over_to_a_target_that_may_report(status: int, verdict: Verdict) -> None:
    assert answered(replace(CALL, takes_report=True), NOW, NOW, status).verdict == verdict


@pytest.mark.parametrize(("status", "is_down"), [(500, True), (503, True), (200, False), (404, False), (429, False)])
def test_a_host_that_answers_anything_but_a_server_error_is_up(status: int, *, is_down: bool) -> None:
    assert answered(CALL, NOW, NOW, status).is_down is is_down


def test_only_a_failure_obeys_retry_after() -> None:
    assert answered(CALL, NOW, NOW, 503, retry_after="7").verdict == Failed(may_retry=True, retry_after_seconds=7.0)
    assert answered(CALL, NOW, NOW, 200, retry_after="7").verdict == Succeeded()


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("120", 120.0),
        (" 0 ", 0.0),
        ("999999999", 999_999_999.0),
        ("Sat, 21 Nov 2026 09:31:00 GMT", 59.877),
        ("Sat, 21 Nov 2026 10:31:00 +0100", 59.877),
        ("Sat, 21 Nov 2026 09:31:00 -0000", 59.877),
        ("Saturday, 21-Nov-26 09:31:00 GMT", 59.877),  # the two older date formats of HTTP
        ("Sat Nov 21 09:31:00 2026", 59.877),
        ("Sat, 21 Nov 2026 09:29:00 GMT", 0.0),  # past
        ("", None),
        ("soon", None),
        ("-5", None),
        ("1.5", None),
        ("1e9", None),
        ("9" * 400, None),
        ("٣", None),  # a digit, but not one of HTTP
        ("Sat, 99 Nov 2026 09:31:00 GMT", None),
        ("Sat, 21 Nov 99999 09:31:00 GMT", None),
        ("Sat, 21 Nov 2026 09:31:00 +9999999999", None),
    ],
)
def test_retry_after_is_parsed_as_seconds_or_as_a_date(text: str, seconds: float | None) -> None:
    assert parse_retry_after(text, NOW) == seconds


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://Target.Example/hook", "https://target.example"),
        ("http://target.example:8080/", "http://target.example:8080"),
        ("https://[2001:db8::1]:444/x", "https://[2001:db8::1]:444"),
        ("https://target.example:443/hook", "https://target.example"),
        ("http://target.example:443/hook", "http://target.example:443"),
        ("http://target.example/hook", "http://target.example"),
        (f"https://target.example:{'0' * 2000}8443/hook", "https://target.example:8443"),
        (f"https://{'x' * 254}/hook", None),
        ("https://[broken/", None),
    ],
)
def test_a_host_is_its_origin(url: str, host: str | None) -> None:
    assert HttpTarget(url).resource == host


@pytest.mark.parametrize(
    ("url", "segment"),
    [
        ("https://target.example/hooks/daily", "hooks"),
        ("https://target.example/hooks?of=daily", "hooks"),
        ("https://target.example//hooks/", "hooks"),
        ("https://target.example/", ""),
        ("https://target.example", ""),
        ("https://target.example?hooks", ""),
        ("https://target.example/{{ jobId }}/hooks", "{{ jobId }}"),
        (f"https://target.example/{'x' * 2000}/hook", "x" * 64),
    ],
)
def test_a_path_is_known_by_its_first_segment(url: str, segment: str) -> None:
    assert segment_of(HttpTarget(url)) == segment


def test_a_target_of_aws_has_no_segments() -> None:
    assert segment_of(SqsTarget("arn:aws:sqs:eu-central-1:123456789012:jobs/daily")) is None
