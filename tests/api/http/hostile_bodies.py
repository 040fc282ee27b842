"""Bodies of up to 1 MB that are as expensive to read as possible, each with the route that it costs most.

They are expensive to build, too, so each test builds its own, and an import builds none.
"""

import json
from collections.abc import Callable
from string import ascii_letters, digits

from timeball.api.http.body import MAX_BYTES

Body = Callable[[], bytes]

HEAD = '"handler":"https://example.com"'
JOBS = ("POST", "/v1/jobs")
PATCH = ("PATCH", "/v1/jobs/{job}")
PAUSE = ("POST", "/v1/jobs/{job}/pause")
TRIGGER = ("POST", "/v1/jobs/{job}/trigger")
BACKFILL = ("POST", "/v1/jobs/{job}/backfills")
COMPLETE = ("POST", "/v1/runs/job_1.5.s/complete")
REPLAY = ("POST", "/v1/dead-letters:replay")
PREVIEW = ("POST", "/v1/schedules:preview")


def filled(begin: str, piece: Callable[[int], str], end: str) -> Body:
    """Return a function that builds a body of just under 1 MB: a beginning, as many pieces as fit, and an end."""

    def make() -> bytes:
        pieces: list[str] = []
        left = MAX_BYTES - len(begin) - len(end)
        while (left := left - len(text := piece(len(pieces))) - 1) >= 0:
            pieces.append(text)
        return (begin + ",".join(pieces) + end).encode()

    return make


def name(number: int) -> str:
    """Return a distinct key for each number, as short as possible."""
    letters = ascii_letters + digits
    text = letters[number % 62]
    while number := number // 62:
        text += letters[number % 62]
    return text


def member(value: str, begin: str = "") -> Callable[[int], str]:
    """Return a function that makes members of an object: short keys with one beginning, all with one value."""
    return lambda number: f'"{begin}{name(number)}":{value}'


def each(text: str) -> Callable[[int], str]:
    """Return a function that always makes the same piece."""
    return lambda _: text


# The case, the route, the body, the number of fields that are named.
NAMED: list[tuple[str, tuple[str, str], Body, int]] = [
    *(
        (f"unknown keys, {path}", (method, path), filled("{", member("1"), "}"), 100)
        for method, path in (JOBS, PATCH, PAUSE, TRIGGER, BACKFILL, COMPLETE, REPLAY, PREVIEW)
    ),
    ("unknown keys that are nearly known", JOBS, filled("{", member("1", "cronExpressio"), "}"), 100),
    ("unknown objects", COMPLETE, filled("{", member("{}"), "}"), 100),
    ("unknown nulls of a patch", PATCH, filled("{", member("null"), "}"), 100),
    ("unknown fields of a target", JOBS, filled('{"target":{"type":"http",', member("1"), "}}"), 100),
    ("unknown nulls within a patch", PATCH, filled('{"catchUp":{', member("null"), "}}"), 100),
    ("unknown fields of a filter", REPLAY, filled('{"filter":{', member("1"), "}}"), 100),
    ("tags of which all is wrong", JOBS, filled("{" + HEAD + ',"tags":{', member("1", "\\u0001"), "}}"), 100),
    ("good tags", JOBS, filled("{" + HEAD + ',"tags":{', member('""'), "}}"), 1),
    (
        "headers of which all is wrong",
        PATCH,
        filled('{"target":{"type":"http","url":"https://example.com","headers":{', member("1", " "), "}}}"),
        100,
    ),
    ("causes", JOBS, filled("{" + HEAD + ',"retryPolicy":{"retryOn":[', each('""'), "]}}"), 1),
    ("runs by name", REPLAY, filled('{"runIds":[', each('""'), "]}"), 1),
    ("halves of surrogate pairs", PAUSE, filled("{", member("[]", "\\ud800"), "}"), 100),
    ("half a pair at the end", PAUSE, filled("{", member("[]"), ',"~":"\\ud800"}'), 1),
    ("arrays in a payload", JOBS, filled("{" + HEAD + ',"payload":[', each("[]"), "]}"), 1),
    ("objects in a payload", JOBS, filled("{" + HEAD + ',"payload":[', each('{"":1}'), "]}"), 1),
    ("a patch's objects", PATCH, filled('{"payload":{', member("{}"), "}}"), 1),
    ("90 levels", TRIGGER, filled('{"payload":[', each("[" * 90 + "]" * 90), "]}"), 1),
    ("numbers", TRIGGER, filled('{"payload":[', each("1"), "]}"), 1),
    ("long numbers", TRIGGER, filled('{"payload":[', each("9" * 100), "]}"), 1),
    ("hard fractions", TRIGGER, filled('{"payload":[', each("2.2250738585072011e-308"), "]}"), 1),
    ("a result", COMPLETE, filled('{"attempt":1,"result":[', each("[]"), "]}"), 1),
    ("a long cron", PREVIEW, lambda: b'{"cronExpression":"' + b"1," * (MAX_BYTES // 2 - 20) + b'0 * * * *"}', 1),
    ("a long time", PREVIEW, lambda: b'{"scheduleAt":"' + b"2" * (MAX_BYTES - 20) + b'"}', 1),
]

# The case, the body.
MALFORMED: list[tuple[str, Body]] = [
    ("arrays that never close", lambda: b"[" * MAX_BYTES),
    ("objects that never close", lambda: b'{"a":' * (MAX_BYTES // 5)),
    ("a string that never closes, below all levels", lambda: b"[" * 101 + b'"\\' * (MAX_BYTES // 2 - 51)),
    ("quotes in quotes", filled("[" * 101, each(json.dumps('"')), "]" * 101)),
    ("a key given twice, after all others", filled("{", member("1"), ',"a":1}')),
    ("a number of a million digits", lambda: b'{"payload":' + b"1" * (MAX_BYTES - 20) + b"}"),
    ("blanks", lambda: b" " * MAX_BYTES),
    ("a mistake at the end", filled('{"payload":[', each("1"), "x]}")),
    ("a great array", filled("[", each("[]"), "]")),
]
