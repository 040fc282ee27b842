"""What cannot be a job: the table of bad fields."""

from typing import Any

URL = "https://example.com/hook"
OK = {"handler": URL}
EVERY = {**OK, "everySeconds": 5}
IN_2030 = "2030-01-01T00:00:00Z"

# What is wrong, the body, the bad fields, words about the first of them. It is 2026-11-21T09:30:00.250Z.
BAD_FIELDS: list[tuple[str, dict[str, Any], list[str], str]] = [
    # what to call
    ("nothing to call", {}, ["handler"], "give handler"),
    ("null to call", {"handler": None}, ["handler"], "give handler"),
    ("two targets", {**OK, "target": {"type": "http", "url": URL}}, ["handler"], "not both"),
    ("a task's id", {"handler": "send-mail"}, ["handler"], "not available yet"),
    ("no web address", {"handler": "ftp://example.com"}, ["handler"], "https://"),
    ("a number to call", {"handler": 7}, ["handler"], "string"),
    ("a URL without a host", {"handler": "https:///hook"}, ["handler"], "host"),
    ("a URL with an empty port and no host", {"handler": "https://:443/"}, ["handler"], "host"),
    ("a URL with a port that is none", {"handler": "https://example.com:99999/"}, ["handler"], "no URL"),
    ("a URL with port 0", {"handler": "https://example.com:0/"}, ["handler"], "host"),
    ("a URL with a bad IPv6 address", {"handler": "https://[::1/"}, ["handler"], "no URL"),
    ("a URL with a user", {"handler": "https://me:pw@example.com/"}, ["handler"], "user name"),
    ("a URL with a bare @", {"handler": "https://@example.com/"}, ["handler"], "user name"),
    ("a URL with a fragment", {"handler": f"{URL}#top"}, ["handler"], "fragment"),
    ("a URL with an empty fragment", {"handler": f"{URL}#"}, ["handler"], "fragment"),
    ("a URL with a blank", {"handler": "https://example.com/a b"}, ["handler"], "percent-encode"),
    (
        "a URL with a line break",
        {"handler": "https://example.com/\r\nHost: x"},
        ["handler"],
        "percent-encode",
    ),
    ("a URL with a backslash as host", {"handler": "https://\\example.com"}, ["handler"], "host"),
    ("a URL that is too long", {"handler": f"{URL}/{'x' * 2048}"}, ["handler"], "2048"),
    ("a target that is a string", {"target": URL}, ["target"], "object"),
    ("a target without its type", {"target": {"url": URL}}, ["target.type"], "needed"),
    ("a target of another type", {"target": {"type": "lambda", "url": URL}}, ["target.type"], "'http'"),
    ("a target without a URL", {"target": {"type": "http"}}, ["target.url"], "needed"),
    (
        "an unknown method",
        {"target": {"type": "http", "url": URL, "method": "BREW"}},
        ["target.method"],
        "'POST'",
    ),
    (
        "an unknown field of a target",
        {"target": {"type": "http", "url": URL, "verb": 1}},
        ["target.verb"],
        "no such",
    ),
    # headers
    *(
        (
            f"the header {name!r}",
            {"target": {"type": "http", "url": URL, "headers": {name: "x"}}},
            [path],
            words,
        )
        for name, path, words in [
            ("Host", "target.headers.Host", "Timeball sets it"),
            ("CONTENT-LENGTH", "target.headers.CONTENT-LENGTH", "Timeball sets it"),
            ("transfer-encoding", "target.headers.transfer-encoding", "Timeball sets it"),
            ("Connection", "target.headers.Connection", "Timeball sets it"),
            ("Timeball-Run-Id", "target.headers.Timeball-Run-Id", "Timeball sets it"),
            ("webhook-signature", "target.headers.webhook-signature", "Timeball sets it"),
            ("Idempotency-Key", "target.headers.Idempotency-Key", "Timeball sets it"),
            ("a b", "target.headers.a b", "legal name"),
            ("X:Y", "target.headers.X:Y", "legal name"),
            ("Ä", "target.headers.Ä", "legal name"),
            ("", "target.headers.", "legal name"),
        ]
    ),
    *(
        (
            f"the header value {value!r}",
            {"target": {"type": "http", "url": URL, "headers": {"X": value}}},
            [path],
            word,
        )
        for value, path, word in [
            ("a\r\nb", "target.headers.X", "one line"),
            ("a\x00", "target.headers.X", "one line"),
            (" a", "target.headers.X", "blanks"),
            ("ä", "target.headers.X", "ASCII"),
            (1, "target.headers.X", "string"),
            (None, "target.headers.X", "string"),
        ]
    ),
    (
        "a header twice",
        {"target": {"type": "http", "url": URL, "headers": {"x-a": "1", "X-A": "2"}}},
        ["target.headers"],
        "once",
    ),
    (
        "51 headers",
        {"target": {"type": "http", "url": URL, "headers": {f"x-{i}": "" for i in range(51)}}},
        ["target.headers"],
        "50",
    ),
    (
        "9 KB of headers",
        {"target": {"type": "http", "url": URL, "headers": {"x-a": "x" * 9216}}},
        ["target.headers"],
        "8192",
    ),
    # when
    (
        "two schedules",
        {**OK, "scheduleAt": IN_2030, "delaySeconds": 5},
        ["scheduleAt", "delaySeconds"],
        "only one",
    ),
    (
        "four schedules",
        {**OK, "scheduleAt": IN_2030, "delaySeconds": 5, "cronExpression": "* * * * *", "everySeconds": 5},
        ["scheduleAt", "delaySeconds", "cronExpression", "everySeconds"],
        "only one",
    ),
    ("a time without an offset", {**OK, "scheduleAt": "2030-01-01T00:00:00"}, ["scheduleAt"], "offset"),
    ("a date", {**OK, "scheduleAt": "2030-01-01"}, ["scheduleAt"], "2026-11-21T09:30:00Z"),
    ("a day that is none", {**OK, "scheduleAt": "2030-02-30T00:00:00Z"}, ["scheduleAt"], "Write a time"),
    ("a time as a number", {**OK, "scheduleAt": 1893456000}, ["scheduleAt"], "Write a time"),
    ("a time beyond 2399", {**OK, "scheduleAt": "2400-01-01T00:00:00Z"}, ["scheduleAt"], "2399"),
    ("the year 10000", {**OK, "scheduleAt": "9999-12-31T23:59:59-23:59"}, ["scheduleAt"], "2399"),
    ("a time before 1970", {**OK, "scheduleAt": "1969-12-31T23:59:59Z"}, ["scheduleAt"], "1970"),
    (
        "a refused past",
        {**OK, "scheduleAt": "2026-11-21T09:30:00Z", "pastSchedule": "reject"},
        ["scheduleAt"],
        "past",
    ),
    (
        "an unknown past",
        {**OK, "scheduleAt": IN_2030, "pastSchedule": "ignore"},
        ["pastSchedule"],
        "'reject'",
    ),
    ("a past policy without a time", {**OK, "pastSchedule": "run"}, ["pastSchedule"], "scheduleAt"),
    ("a negative delay", {**OK, "delaySeconds": -1}, ["delaySeconds"], "at least 0"),
    ("half a second", {**OK, "delaySeconds": 0.5}, ["delaySeconds"], "whole number"),
    ("true seconds", {**OK, "delaySeconds": True}, ["delaySeconds"], "whole number"),
    ("seconds in words", {**OK, "delaySeconds": "5"}, ["delaySeconds"], "PT15M"),
    ("an empty duration", {**OK, "delaySeconds": "PT"}, ["delaySeconds"], "PT15M"),
    ("a duration in months", {**OK, "delaySeconds": "P1M"}, ["delaySeconds"], "PT15M"),
    ("a delay beyond 2399", {**OK, "delaySeconds": 12_000_000_000}, ["delaySeconds"], "2399"),
    ("a delay of 90 digits", {**OK, "delaySeconds": 10**89}, ["delaySeconds"], "2399"),
    ("an interval of 0", {**OK, "everySeconds": 0}, ["everySeconds"], "at least 1"),
    ("an interval of centuries", {**OK, "everySeconds": 10**12}, ["everySeconds"], "at most"),
    ("an anchor without an interval", {**OK, "anchorAt": IN_2030}, ["anchorAt"], "everySeconds"),
    ("a bad cron", {**OK, "cronExpression": "61 * * * *"}, ["cronExpression"], "61"),
    ("six fields", {**OK, "cronExpression": "0 0 9 * * *"}, ["cronExpression"], "seconds"),
    ("a day that never comes", {**OK, "cronExpression": "0 0 30 2 *"}, ["cronExpression"], "never fires"),
    ("an endless cron", {**OK, "cronExpression": "* " * 200}, ["cronExpression"], "256"),
    (
        "an unknown zone",
        {**OK, "cronExpression": "* * * * *", "timezone": "Europe/Berln"},
        ["timezone"],
        "Berlin",
    ),
    (
        "a zone that is a path",
        {**OK, "cronExpression": "* * * * *", "timezone": "../../etc/passwd"},
        ["timezone"],
        "IANA",
    ),
    (
        "a policy that is none",
        {**OK, "cronExpression": "* * * * *", "dstPolicy": {"gap": "first"}},
        ["dstPolicy.gap"],
        "'next'",
    ),
    (
        "a policy that is a string",
        {**OK, "cronExpression": "* * * * *", "dstPolicy": "skip"},
        ["dstPolicy"],
        "object",
    ),
    (
        "an unknown clock change",
        {**OK, "cronExpression": "* * * * *", "dstPolicy": {"gaps": "skip"}},
        ["dstPolicy.gaps"],
        "did you mean gap",
    ),
    ("clock changes without a cron", {**OK, "everySeconds": 5, "dstPolicy": {}}, ["dstPolicy"], "cronExpression"),
    ("a zone without a cron", {**OK, "timezone": "UTC"}, ["timezone"], "cronExpression"),
    ("an end in the past", {**OK, "everySeconds": 5, "endAt": "2026-11-21T09:30:00Z"}, ["endAt"], "past"),
    (
        "an end before the start",
        {**OK, "everySeconds": 5, "startAt": "2030-01-02T00:00:00Z", "endAt": IN_2030},
        ["endAt"],
        "before startAt",
    ),
    (
        "an end before the first fire",
        {**OK, "cronExpression": "0 0 1 1 *", "endAt": "2026-12-01T00:00:00Z"},
        ["endAt"],
        "no fire time",
    ),
    (
        "an interval whose first fire is beyond 2399",
        {**OK, "everySeconds": 60, "anchorAt": IN_2030, "startAt": "2399-12-31T23:59:59Z"},
        ["everySeconds"],
        "no fire time",
    ),
    (
        "a window around one run",
        {**OK, "startAt": IN_2030, "maxRuns": 1},
        ["startAt", "maxRuns"],
        "cronExpression",
    ),
    ("no runs at all", {**OK, "everySeconds": 5, "maxRuns": 0}, ["maxRuns"], "at least 1"),
    # policies
    ("an unknown priority", {**OK, "priority": "urgent"}, ["priority"], "'high'"),
    ("retries below none", {**OK, "maxRetries": -1}, ["maxRetries"], "at least 0"),
    ("retries beyond reason", {**OK, "maxRetries": 101}, ["maxRetries"], "at most 100"),
    ("no time at all", {**OK, "timeoutSeconds": 0}, ["timeoutSeconds"], "at least 1"),
    ("more time than an executor has", {**OK, "timeoutSeconds": 841}, ["timeoutSeconds"], "at most 840"),
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
                "retryOn": [],
            },
        },
        [
            f"retryPolicy.{name}"
            for name in ("baseSeconds", "factor", "maxSeconds", "jitter", "maxAgeSeconds", "retryOn")
        ],
        "at least 0",
    ),
    ("a true factor", {**OK, "retryPolicy": {"factor": True}}, ["retryPolicy.factor"], "number"),
    # what becomes of fires that are missed or that meet a live run
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
    ("an empty name", {**OK, "name": ""}, ["name"], "at least 1"),
    ("a long name", {**OK, "name": "x" * 201}, ["name"], "at most 200"),
    ("a name of two lines", {**OK, "name": "a\nb"}, ["name"], "control"),
    ("tags as a list", {**OK, "tags": ["a"]}, ["tags"], "object"),
    ("an empty key", {**OK, "tags": {"": "x"}}, ["tags."], "at least 1"),
    ("a long key", {**OK, "tags": {"x" * 129: "x"}}, [f"tags.{'x' * 100}..."], "at most 128"),
    ("a long value", {**OK, "tags": {"x": "x" * 257}}, ["tags.x"], "at most 256"),
    ("a number as a tag", {**OK, "tags": {"x": 1}}, ["tags.x"], "string"),
    ("51 tags", {**OK, "tags": {f"x{i}": "" for i in range(51)}}, ["tags"], "50"),
    ("a payload over 256 KB", {**OK, "payload": ["x" * 262_144]}, ["payload"], "262148 bytes"),
    # unknown fields, and those of later releases
    *(
        (f"the unknown field {name}", {**OK, name: value}, [name], words)
        for name, value, words in [
            ("schedule_at", IN_2030, "did you mean scheduleAt"),
            ("scheduledAt", IN_2030, "did you mean scheduleAt"),
            ("cron", "* * * * *", "did you mean cronExpression"),
            ("timeout", 5, "did you mean timeoutSeconds"),
            ("max_retries", 5, "did you mean maxRetries"),
            ("Payload", 1, "did you mean payload"),
            ("zzz", 1, "leave it out"),
            ("taskId", "t", "leave it out"),
            ("dependsOn", [], "leave it out"),
            ("delivery", "at_most_once", "leave it out"),
            ("jobId", "x", "leave it out"),
        ]
    ),
    # all at once
    (
        "many mistakes",
        {
            "handler": "nope",
            "scheduleAt": "tomorrow",
            "delaySeconds": -5,
            "endAt": "2020-01-01T00:00:00Z",
            "priority": 1,
            "tags": {"a": 1, "b": 2},
            "colour": "blue",
            "timezone": "Mars",
        },
        [
            "handler",
            "scheduleAt",
            "delaySeconds",
            "endAt",
            "priority",
            "tags.a",
            "tags.b",
            "colour",
            "timezone",
        ],
        "not available yet",
    ),
]
