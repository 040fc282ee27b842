"""Trace contexts by W3C: which headers are valid, and what the call of each attempt hands on."""

import pytest

from timeball.domain.attempts.trace_context import as_xray, ids_in, of_attempt, parse_traceparent
from timeball.domain.model.ids import JobKey, Origin, RunId

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
GIVEN = f"00-{TRACE}-{SPAN}-01"
RUN = RunId(JobKey("acme", "job"), 1_795_253_400_250, Origin.SCHEDULE)


@pytest.mark.parametrize(
    ("header", "context"),
    [
        (None, None),
        ("", None),
        (GIVEN, GIVEN),
        (f" {GIVEN}\t", GIVEN),
        (f"00-{TRACE}-{SPAN}-00", f"00-{TRACE}-{SPAN}-00"),
        (f"00-{TRACE}-{SPAN}-03", f"00-{TRACE}-{SPAN}-03"),
        (f"00-{TRACE}-{SPAN}-ff", f"00-{TRACE}-{SPAN}-03"),  # unknown flags are not handed on
        (f"cc-{TRACE}-{SPAN}-01", GIVEN),  # of a later version, that which is known
        (f"cc-{TRACE}-{SPAN}-01-what-comes-later", GIVEN),
        (f"cc-{TRACE}-{SPAN}-01x", None),
        (f"00-{TRACE}-{SPAN}-01-more", None),  # version 00 ends here
        (f"ff-{TRACE}-{SPAN}-01", None),
        (f"00-{'0' * 32}-{SPAN}-01", None),
        (f"00-{TRACE}-{'0' * 16}-01", None),
        (GIVEN.upper(), None),
        (GIVEN[:-1], None),
        (f"{GIVEN},{GIVEN}", None),  # two headers
        (f"{GIVEN}\n", GIVEN),
        ("00-é", None),
    ],
)
def test_only_a_valid_header_is_a_context(header: str | None, context: str | None) -> None:
    assert parse_traceparent(header) == context


def test_each_attempt_is_a_span_of_its_own_in_the_trace_of_the_request() -> None:
    contexts = [of_attempt(GIVEN, RUN, attempt) for attempt in (1, 2, 3)]
    assert [parse_traceparent(one) for one in contexts] == contexts
    assert {ids_in(one)[0] for one in contexts} == {TRACE}
    assert len({ids_in(one)[1] for one in contexts} | {SPAN}) == 4
    assert of_attempt(GIVEN, RUN, 2) == contexts[1]
    other = RunId(JobKey("globex", "job"), RUN.fire_at, RUN.origin)
    assert of_attempt(GIVEN, other, 1) != contexts[0]
    assert all(one.endswith("-01") for one in contexts)


def test_services_of_aws_get_the_same_ids_in_their_own_form() -> None:
    assert as_xray(GIVEN) == f"Root=1-4bf92f35-77b34da6a3ce929d0e0e4736;Parent={SPAN};Sampled=1"
    assert as_xray(f"00-{TRACE}-{SPAN}-02").endswith(";Sampled=0")
