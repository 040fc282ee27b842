"""Invalid policies of a job: a part of the table of bad fields."""

from typing import Any

URL = "https://example.com/hook"
OK = {"handler": URL}
EVERY = {**OK, "everySeconds": 5}
REPORTED = {**OK, "completion": "callback"}
IN_2030 = "2030-01-01T00:00:00Z"

# The case, the body, the bad fields, words of the first one's message.
BAD_POLICIES: list[tuple[str, dict[str, Any], list[str], str]] = [
    # priorities, retries and timeouts
    ("an unknown priority", {**OK, "priority": "urgent"}, ["priority"], "'high'"),
    ("retries below none", {**OK, "maxRetries": -1}, ["maxRetries"], "at least 0"),
    ("retries beyond reason", {**OK, "maxRetries": 101}, ["maxRetries"], "at most 100"),
    ("no time at all", {**OK, "timeoutSeconds": 0}, ["timeoutSeconds"], "at least 1"),
    ("more time than an executor has", {**OK, "timeoutSeconds": 841}, ["timeoutSeconds"], "at most 840; up"),
    ("more time than a week", {**REPORTED, "timeoutSeconds": 604_801}, ["timeoutSeconds"], "at most 604800"),
    (
        "a long time without heartbeats",
        {**REPORTED, "timeoutSeconds": 841},
        ["timeoutSeconds"],
        "and heartbeatSeconds",
    ),
    (
        "a long time without a callback",
        {**OK, "completion": "answer", "heartbeatSeconds": 60, "timeoutSeconds": 841},
        ["heartbeatSeconds", "timeoutSeconds"],
        "only valid with completion callback",
    ),
    ("an unknown completion", {**OK, "completion": "poll", "heartbeatSeconds": 5}, ["completion"], "'callback'"),
    (
        "heartbeats of nobody",
        {**OK, "heartbeatSeconds": 5},
        ["heartbeatSeconds"],
        "only valid with completion callback",
    ),
    ("a heartbeat of no length", {**REPORTED, "heartbeatSeconds": 0}, ["heartbeatSeconds"], "at least 1"),
    (
        "a heartbeat of more than an hour",
        {**REPORTED, "timeoutSeconds": 86_400, "heartbeatSeconds": 3601},
        ["heartbeatSeconds"],
        "at most 3600",
    ),
    (
        "a heartbeat beyond the timeout",
        {**REPORTED, "timeoutSeconds": 60, "heartbeatSeconds": 61},
        ["heartbeatSeconds"],
        "longer than timeoutSeconds, which is 60",
    ),
    (
        "a heartbeat beyond the default timeout",
        {**REPORTED, "heartbeatSeconds": 301},
        ["heartbeatSeconds"],
        "longer than timeoutSeconds, which is 300",
    ),
    (
        "a heartbeat beside a timeout that is none",
        {**REPORTED, "timeoutSeconds": "long", "heartbeatSeconds": 3600},
        ["timeoutSeconds"],
        "whole number",
    ),
    ("an unknown delivery", {**OK, "delivery": "exactly_once"}, ["delivery"], "'at_most_once'"),
    (
        "every field of a retry policy",
        {
            **OK,
            "retryPolicy": {
                "baseSeconds": -1,
                "factor": 0.5,
                "maxSeconds": "1",
                "jitter": "some",
                "maxAgeSeconds": 0,
                "retryOn": "5xx",
            },
        },
        [
            f"retryPolicy.{name}"
            for name in ("baseSeconds", "factor", "maxSeconds", "jitter", "maxAgeSeconds", "retryOn")
        ],
        "at least 0",
    ),
    *(
        (f"trying again on {causes!r}", {**OK, "retryPolicy": {"retryOn": causes}}, [f"retryPolicy.{path}"], words)
        for causes, path, words in [
            (["5xx", "500", "lost"], "retryOn.2", '"409"'),
            (["2xx"], "retryOn.0", '"409"'),
            (["5XX"], "retryOn.0", '"409"'),
            (["099"], "retryOn.0", '"409"'),
            (["600"], "retryOn.0", '"409"'),
            (["5xx "], "retryOn.0", '"409"'),
            (["\u0665xx"], "retryOn.0", '"409"'),
            ([503], "retryOn.0", "string"),
            (["timeout", "5xx", "timeout"], "retryOn", "once"),
            ([str(status) for status in range(400, 421)], "retryOn", "At most 20"),
            ({"timeout": True}, "retryOn", "an array"),
            (None, "retryOn", "an array"),
        ]
    ),
    ("a true factor", {**OK, "retryPolicy": {"factor": True}}, ["retryPolicy.factor"], "number"),
    # fires that are missed or that meet a live run
    ("an unknown catch-up", {**EVERY, "catchUp": {"policy": "some"}}, ["catchUp.policy"], "'latest'"),
    ("a catch-up that is a string", {**EVERY, "catchUp": "all"}, ["catchUp"], "object"),
    ("an unknown field of a catch-up", {**EVERY, "catchUp": {"maxRun": 1}}, ["catchUp.maxRun"], "did you mean maxRuns"),
    ("a catch-up of none", {**EVERY, "catchUp": {"policy": "all", "maxRuns": 0}}, ["catchUp.maxRuns"], "at least 1"),
    ("a catch-up of 101", {**EVERY, "catchUp": {"policy": "all", "maxRuns": 101}}, ["catchUp.maxRuns"], "at most 100"),
    ("a count for the latest", {**EVERY, "catchUp": {"policy": "latest", "maxRuns": 5}}, ["catchUp.maxRuns"], "all"),
    ("a count for nobody", {**EVERY, "catchUp": {"maxRuns": 5}}, ["catchUp.maxRuns"], "all"),
    ("a catch-up of no age", {**EVERY, "catchUp": {"maxAgeSeconds": 0}}, ["catchUp.maxAgeSeconds"], "at least 1"),
    (
        "a catch-up of more than a year",
        {**EVERY, "catchUp": {"maxAgeSeconds": 31_622_401}},
        ["catchUp.maxAgeSeconds"],
        "at most 31622400",
    ),
    ("a catch-up of a one-off", {**OK, "scheduleAt": IN_2030, "catchUp": {}}, ["catchUp"], "everySeconds"),
    ("an unknown overlap", {**OK, "overlapPolicy": "queueAll"}, ["overlapPolicy"], "'queueOne'"),
    ("a jitter below none", {**EVERY, "jitterSeconds": -1}, ["jitterSeconds"], "at least 0"),
    ("a jitter of more than a day", {**EVERY, "jitterSeconds": 86_401}, ["jitterSeconds"], "at most 86400"),
    ("a jitter of a one-off", {**OK, "delaySeconds": 5, "jitterSeconds": 5}, ["jitterSeconds"], "cronExpression"),
]
