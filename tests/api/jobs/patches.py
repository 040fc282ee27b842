"""Valid and invalid patches of a job: two tables."""

from typing import Any

# The fields of the job, the patch, some fields of the answer. It is 2026-11-21T09:30:00.250Z.
BERLIN = {"cronExpression": "0 9 * * *", "timezone": "Europe/Berlin"}
PATCHED: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = {
    "a name": ({**BERLIN}, {"name": "n"}, {"name": "n", "nextRunAt": "2026-11-22T08:00:00.000Z"}),
    "a name is taken away": ({**BERLIN, "name": "n"}, {"name": None}, {"name": None}),
    "another cron in the same zone": (
        BERLIN,
        {"cronExpression": "30 12 * * *"},
        {"timezone": "Europe/Berlin", "nextRunAt": "2026-11-21T11:30:00.000Z"},
    ),
    "the same cron in another zone": (
        BERLIN,
        {"timezone": "Asia/Tokyo"},
        {"timezone": "Asia/Tokyo", "nextRunAt": "2026-11-22T00:00:00.000Z"},
    ),
    "the default zone": (BERLIN, {"timezone": None}, {"timezone": "UTC"}),
    "a clock change policy beside another": (
        {**BERLIN, "dstPolicy": {"gap": "skip"}},
        {"dstPolicy": {"overlap": "both"}},
        {"dstPolicy": {"gap": "skip", "overlap": "both"}},
    ),
    "an interval instead of a cron": (
        BERLIN,
        {"everySeconds": "PT1H"},
        {"cronExpression": None, "timezone": None, "everySeconds": 3600, "anchorAt": "2026-11-21T09:30:01.000Z"},
    ),
    "another period at the same anchor": (
        {"everySeconds": 60, "anchorAt": "2026-01-01T00:00:07Z"},
        {"everySeconds": 3600},
        {"anchorAt": "2026-01-01T00:00:07.000Z", "nextRunAt": "2026-11-21T10:00:07.000Z"},
    ),
    "one time instead of a cron": (
        {**BERLIN, "maxRuns": 5, "catchUp": {"policy": "skip"}, "jitterSeconds": 5},
        {"scheduleAt": "2026-12-01T00:00:00Z"},
        {"cronExpression": None, "maxRuns": None, "catchUp": None, "nextRunAt": "2026-12-01T00:00:00.000Z"},
    ),
    "a delay that counts from now": (
        {"scheduleAt": "2026-12-01T00:00:00Z"},
        {"delaySeconds": 90},
        {"scheduleAt": "2026-11-21T09:31:30.250Z"},
    ),
    "a cron instead of one time": (
        {"scheduleAt": "2026-12-01T00:00:00Z"},
        BERLIN,
        {"scheduleAt": None, "nextRunAt": "2026-11-22T08:00:00.000Z"},
    ),
    "a time in the past is due at once": (
        {"scheduleAt": "2026-12-01T00:00:00Z"},
        {"scheduleAt": "2020-01-01T00:00:00Z", "pastSchedule": "run"},
        {"scheduleAt": "2020-01-01T00:00:00.000Z"},
    ),
    "another target by its shorthand": (
        BERLIN,
        {"handler": "https://other.example"},
        {
            "target": {
                "type": "http",
                "url": "https://other.example",
                "method": "POST",
                "headers": [],
                "body": None,
                "secretId": None,
            }
        },
    ),
    "a method alone": (
        BERLIN,
        {"target": {"method": "PUT"}},
        {
            "target": {
                "type": "http",
                "url": "https://example.com/hook",
                "method": "PUT",
                "headers": [],
                "body": None,
                "secretId": None,
            }
        },
    ),
    "a part of a payload": (
        {**BERLIN, "payload": {"a": 1, "b": 2}},
        {"payload": {"b": None, "c": [None]}},
        {"payload": {"a": 1, "c": [None]}},
    ),
    "no payload": ({**BERLIN, "payload": {"a": 1}}, {"payload": None}, {"payload": None}),
    "tags one by one": ({**BERLIN, "tags": {"a": "1"}}, {"tags": {"b": "2"}}, {"tags": {"a": "1", "b": "2"}}),
    "the policies": (
        BERLIN,
        {
            "catchUp": {"policy": "all"},
            "overlapPolicy": "queueOne",
            "jitterSeconds": 30,
            "maxRetries": 1,
            "retryPolicy": {"factor": 3, "retryOn": ["5xx", "409"]},
            "timeoutSeconds": 5,
            "delivery": "at_most_once",
            "priority": "high",
        },
        {
            "catchUp": {"policy": "all", "maxRuns": 10, "maxAgeSeconds": None},
            "overlapPolicy": "queueOne",
            "jitterSeconds": 30,
            "maxRetries": 1,
            "retryPolicy": {
                "baseSeconds": 5,
                "factor": 3.0,
                "maxSeconds": 3600,
                "jitter": "full",
                "maxAgeSeconds": None,
                "retryOn": ["409", "5xx"],
            },
            "timeoutSeconds": 5,
            "delivery": "at_most_once",
            "priority": "high",
        },
    ),
    "the default policies": (
        {**BERLIN, "catchUp": {"policy": "skip"}, "overlapPolicy": "skip", "jitterSeconds": 9, "maxRetries": 0},
        {"catchUp": None, "overlapPolicy": None, "jitterSeconds": None, "maxRetries": None},
        {
            "catchUp": {"policy": "latest", "maxRuns": None, "maxAgeSeconds": None},
            "overlapPolicy": "allow",
            "jitterSeconds": 0,
            "maxRetries": 3,
        },
    ),
    "a callback and its heartbeat": (
        BERLIN,
        {"completion": "callback", "timeoutSeconds": 86_400, "heartbeatSeconds": 60},
        {"completion": "callback", "timeoutSeconds": 86_400, "heartbeatSeconds": 60},
    ),
    "an answer instead of a callback": (
        {**BERLIN, "completion": "callback", "heartbeatSeconds": 60},
        {"completion": "answer"},
        {"completion": "answer", "heartbeatSeconds": None},
    ),
    "no callback any more": (
        {**BERLIN, "completion": "callback", "timeoutSeconds": 86_400, "heartbeatSeconds": 60},
        {"completion": None, "timeoutSeconds": None},
        {"completion": "answer", "timeoutSeconds": 300, "heartbeatSeconds": None},
    ),
    "all that is tried again": (
        {**BERLIN, "retryPolicy": {"retryOn": ["409"], "factor": 3}},
        {"retryPolicy": {"retryOn": None}},
        {
            "retryPolicy": {
                "baseSeconds": 5,
                "factor": 3.0,
                "maxSeconds": 3600,
                "jitter": "full",
                "maxAgeSeconds": None,
                "retryOn": ["timeout", "connection", "reported", "408", "425", "429", "5xx"],
            }
        },
    ),
}

# The fields of the job, a patch of it, the bad fields, words of the first one's message.
REFUSED: dict[str, tuple[dict[str, Any], dict[str, Any], list[str], str]] = {
    "nothing to call": (BERLIN, {"target": None}, ["handler"], "Say what to call"),
    "no schedule": (BERLIN, {"cronExpression": None}, ["cronExpression"], "Give another schedule"),
    "no time": ({"scheduleAt": "2026-12-01T00:00:00Z"}, {"scheduleAt": None}, ["scheduleAt"], "Give another schedule"),
    "two schedules": (
        BERLIN,
        {"everySeconds": 5, "delaySeconds": 5},
        ["delaySeconds", "everySeconds"],
        "has one schedule.",
    ),
    "what another schedule would have": (BERLIN, {"anchorAt": "2026-12-01T00:00:00Z"}, ["anchorAt"], "everySeconds"),
    "a count for the latest": (BERLIN, {"catchUp": {"maxRuns": 5}}, ["catchUp.maxRuns"], "all"),
    "what no job has": (BERLIN, {"colour": None, "jobId": "x"}, ["jobId", "colour"], "PUT /v1/jobs/{jobId}"),
    "what no policy has": (
        BERLIN,
        {"retryPolicy": {"baseSecond": None, "factor": 3}, "dstPolicy": {"fold": None}},
        ["retryPolicy.baseSecond", "dstPolicy.fold"],
        "did you mean baseSeconds",
    ),
    "what no target has, beside headers that the job has not": (
        BERLIN,
        {"target": {"verb": None, "headers": {"X-Gone": None}}, "tags": {"gone": None}, "payload": {"gone": None}},
        ["target.verb"],
        "did you mean method",
    ),
    "what no job has, and of that nothing": (BERLIN, {"colour": {"shade": None}}, ["colour"], "leave it out"),
    "what a job has by another name": (BERLIN, {"timeout": None}, ["timeout"], "did you mean timeoutSeconds"),
    "an end in the past": (BERLIN, {"endAt": "2026-11-21T09:30:00Z"}, ["endAt"], "past"),
    "an end before the first fire": (BERLIN, {"endAt": "2026-11-21T12:00:00Z"}, ["endAt"], "no fire time"),
    "an end that the new schedule does not reach": (
        {**BERLIN, "endAt": "2026-12-01T00:00:00Z"},
        {"cronExpression": "0 0 1 1 *"},
        ["endAt"],
        "no fire time",
    ),
    "a past that is to be refused": (
        {"scheduleAt": "2026-12-01T00:00:00Z"},
        {"scheduleAt": "2026-11-21T09:30:00Z", "pastSchedule": "reject"},
        ["scheduleAt"],
        "past",
    ),
    "a cron that fires beyond 2399": (
        {"everySeconds": 60},
        {"startAt": "2399-12-31T23:59:59Z", "anchorAt": "2030-01-01T00:00:00Z"},
        ["everySeconds"],
        "no fire time",
    ),
    "an answer to a call that may take a day": (
        {**BERLIN, "completion": "callback", "timeoutSeconds": 86_400, "heartbeatSeconds": 60},
        {"completion": "answer"},
        ["timeoutSeconds"],
        "at most 840",
    ),
    "a day without heartbeats": (
        {**BERLIN, "completion": "callback", "timeoutSeconds": 86_400, "heartbeatSeconds": 60},
        {"heartbeatSeconds": None},
        ["timeoutSeconds"],
        "and heartbeatSeconds",
    ),
    "a timeout within a heartbeat": (
        {**BERLIN, "completion": "callback", "heartbeatSeconds": 60},
        {"timeoutSeconds": 59},
        ["heartbeatSeconds"],
        "which is 59",
    ),
    "heartbeats without a callback": (
        {**BERLIN, "completion": "callback", "heartbeatSeconds": 60},
        {"completion": "answer", "heartbeatSeconds": 30},
        ["heartbeatSeconds"],
        "only valid with completion callback",
    ),
    "many mistakes": (
        BERLIN,
        {"timezone": "Mars", "target": {"url": "nope"}, "tags": {"a": 1}, "maxRetries": -1, "colour": "blue"},
        ["timezone", "target.url", "tags.a", "maxRetries", "colour"],
        "IANA",
    ),
}
