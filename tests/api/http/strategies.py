"""Random requests: absurd ones, nearly valid ones, and valid ones."""

from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from timeball.api.http.request_model import aliases
from timeball.api.jobs.request import JobRequest
from timeball.domain.time.instants import DAY_MS, LATEST, format_instant

SETTINGS = settings(max_examples=150, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])

ALIASES = aliases(JobRequest)
TELLING: st.SearchStrategy[Any] = st.sampled_from(
    [
        "https://example.com",
        "https://[::1]:8443/",
        "https://[::1",
        "https://a\x00b",
        "//x",
        "2026-11-21T09:30:00Z",
        "2399-12-31T23:59:59.999Z",
        "1970-01-01T00:00:00+14:00",
        "24:00",
        "* * * * *",
        "*/7 0-23/2 L * 1#5",
        "PT15M",
        "P9999999W",
        "Europe/Berlin",
        "../UTC",
        "run",
        "high",
        "http",
        "full",
        "\ud800",
        "\u0000",
        "İ",
        -1,
        0,
        1,
        1e308,
        -0.0,
        10**30,
        2**63,
        True,
        None,
        {},
        [],
    ]
)
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text() | TELLING,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
TARGETS = st.dictionaries(st.sampled_from(["type", "url", "method", "headers", "x"]), TELLING | ANYTHING)
POLICIES = st.dictionaries(
    st.sampled_from(["baseSeconds", "factor", "maxSeconds", "jitter", "maxAgeSeconds", "retryOn"]), TELLING | ANYTHING
)
CAUSES = st.sampled_from(["timeout", "connection", "reported", "lost", "2xx", "3xx", "4xx", "5xx", "408", "599", "600"])
GOOD_CAUSES = st.sampled_from(["timeout", "connection", "reported", "3xx", "4xx", "5xx", "100", "409", "500", "599"])
JOBS = st.dictionaries(st.sampled_from(ALIASES) | st.text(max_size=10), TELLING | ANYTHING | TARGETS | POLICIES)
GOOD_JOBS = st.fixed_dictionaries(
    {"handler": st.just("https://example.com")},
    optional={
        "dstPolicy": st.dictionaries(
            st.sampled_from(["gap", "overlap"]), st.sampled_from(["next", "skip", "first", "both", None])
        ),
        "scheduleAt": st.datetimes().map(lambda at: f"{at.isoformat(timespec='milliseconds')}Z"),
        "delaySeconds": st.integers(-1, 2**40),
        "everySeconds": st.integers(0, 2**33),
        "cronExpression": st.from_regex(r"[0-9*/,L#-]{1,4}( [0-9*/,L#-]{1,4}){4}", fullmatch=True),
        "startAt": st.datetimes().map(lambda at: f"{at.isoformat()}Z"),
        "endAt": st.datetimes().map(lambda at: f"{at.isoformat()}Z"),
        "maxRuns": st.integers(-1, 2**31),
        "maxRetries": st.integers(-1, 120),
        "overlapPolicy": st.sampled_from(["allow", "skip", "queueOne", "cancelOther", "none", None]),
        "jitterSeconds": st.integers(-1, 86_401),
        "completion": st.sampled_from(["answer", "callback", "poll", None]),
        "timeoutSeconds": st.integers(0, 604_801) | st.none(),
        "heartbeatSeconds": st.integers(0, 3601) | st.none(),
        "delivery": st.sampled_from(["at_least_once", "at_most_once", "exactly_once", None]),
        "retryPolicy": st.fixed_dictionaries({"retryOn": st.lists(CAUSES, max_size=4)}),
        "catchUp": st.dictionaries(
            st.sampled_from(["policy", "maxRuns", "maxAgeSeconds"]), st.sampled_from(["skip", "all", 1, 100, None])
        ),
        "payload": ANYTHING,
    },
)

TIMES = st.integers(DAY_MS, LATEST - 366 * DAY_MS).map(format_instant)
RECURRING = st.fixed_dictionaries(
    {},
    optional={
        "startAt": TIMES,
        "endAt": st.just("2399-06-01T00:00:00+02:00"),
        "maxRuns": st.integers(1, 1_000_000_000),
        "jitterSeconds": st.integers(0, 86_400),
        "catchUp": st.none()
        | st.fixed_dictionaries(
            {"policy": st.just("all")},
            optional={"maxRuns": st.none() | st.integers(1, 100), "maxAgeSeconds": st.integers(1, 31_622_400)},
        )
        | st.fixed_dictionaries(
            {}, optional={"policy": st.sampled_from(["skip", "latest"]), "maxAgeSeconds": st.integers(1, 31_622_400)}
        ),
    },
)
CRONS = st.fixed_dictionaries(
    {
        "cronExpression": st.sampled_from(
            ["* * * * *", " 0 9 * * MON-FRI ", "@daily", "*/7 0-23/2 L * 1#5", "0 0 29 2 *"]
        )
    },
    optional={
        "timezone": st.sampled_from(["UTC", "Europe/Berlin", "Australia/Lord_Howe"]),
        "dstPolicy": st.fixed_dictionaries(
            {},
            optional={
                "gap": st.sampled_from(["next", "skip", None]),
                "overlap": st.sampled_from(["first", "both", None]),
            },
        ),
    },
)
INTERVALS = st.fixed_dictionaries(
    {"everySeconds": st.integers(1, 10 * 366 * 86_400) | st.just("PT15M")}, optional={"anchorAt": TIMES}
)
ONE_OFFS: st.SearchStrategy[dict[str, Any]] = st.one_of(
    st.just({}),
    st.fixed_dictionaries({"scheduleAt": TIMES}, optional={"pastSchedule": st.just("run")}),
    st.fixed_dictionaries({"delaySeconds": st.integers(0, 10**9) | st.just("P1DT2H")}),
)
TEXT = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=20)
TO_CALL = st.just({"handler": "https://example.com/a"}) | st.fixed_dictionaries(
    {
        "target": st.fixed_dictionaries(
            {"type": st.just("http"), "url": st.just("https://example.com:8443/b?c=%20")},
            optional={
                "method": st.sampled_from(["GET", "PUT"]),
                "headers": st.dictionaries(st.sampled_from(["X-A", "x-b"]), st.sampled_from(["", "a b"])),
            },
        )
    }
)
PLAIN_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**90), 10**90)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)
HOW = st.fixed_dictionaries(
    {},
    optional={
        "name": TEXT,
        "payload": PLAIN_JSON,
        "priority": st.sampled_from(["high", "normal", "low", None]),
        "overlapPolicy": st.sampled_from(["allow", "skip", "queueOne", "cancelOther", None]),
        "maxRetries": st.integers(0, 100),
        "retryPolicy": st.fixed_dictionaries(
            {},
            optional={
                "baseSeconds": st.integers(0, 86_400),
                "factor": st.floats(1, 10) | st.integers(1, 10),
                "maxSeconds": st.integers(0, 86_400),
                "jitter": st.sampled_from(["full", "none"]),
                "maxAgeSeconds": st.none() | st.integers(1, 2_592_000),
                "retryOn": st.lists(GOOD_CAUSES, unique=True),
            },
        ),
        "delivery": st.sampled_from(["at_least_once", "at_most_once", None]),
        "tags": st.dictionaries(TEXT, TEXT, max_size=3),
    },
)


def _together(*parts: dict[str, Any]) -> dict[str, Any]:
    return {name: value for part in parts for name, value in part.items()}


LONG = st.tuples(st.integers(1, 604_800), st.integers(1, 3600)).map(
    lambda seconds: {"completion": "callback", "timeoutSeconds": max(seconds), "heartbeatSeconds": min(seconds)}
)
ENDS: st.SearchStrategy[dict[str, Any]] = st.one_of(
    st.fixed_dictionaries(
        {},
        optional={"completion": st.sampled_from(["answer", "callback", None]), "timeoutSeconds": st.integers(1, 840)},
    ),
    LONG,
)
VALID_JOBS = st.builds(_together, ONE_OFFS, TO_CALL, HOW, ENDS) | st.builds(
    _together, CRONS | INTERVALS, RECURRING, TO_CALL, HOW, ENDS
)
"""Valid jobs, except that some have no fire left."""
