import http.client
import time
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from local.receiver import Receiver, reply_to

FIRE_TIME = "2026-11-21T09:30:00.000Z"
FIRE_AT = 1_795_253_400_000


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as receiver:
        yield receiver


def call(receiver: Receiver, path: str, body: bytes = b"", **headers: str) -> int:
    connection = http.client.HTTPConnection(urlsplit(receiver.url).netloc, timeout=10)
    try:
        connection.request("POST", path, body, {name.replace("_", "-"): value for name, value in headers.items()})
        return connection.getresponse().status
    finally:
        connection.close()


# The path, the attempt, the status, the seconds that the answer takes.
REPLIES = [
    ("/ok", 1, 200, 0),
    ("/accepted", 1, 202, 0),
    ("/flaky/2", 1, 500, 0),
    ("/flaky/2", 2, 500, 0),
    ("/flaky/2", 3, 200, 0),
    ("/slow/1.5", 1, 200, 1.5),
    ("/slow/1.5/2", 2, 200, 1.5),
    ("/slow/1.5/2", 3, 200, 0),
    ("/slow/long", 1, 404, 0),
    ("/slow/1.5/ever", 1, 404, 0),
    ("/elsewhere", 1, 404, 0),
]


@pytest.mark.parametrize(("path", "attempt", "status", "seconds"), REPLIES)
def test_the_path_decides_the_answer(path: str, attempt: int, status: int, seconds: float) -> None:
    reply = reply_to(path, attempt)
    assert (reply.status, reply.after_seconds) == (status, seconds)


def test_a_call_is_recorded_with_its_instant_its_ids_and_its_body(receiver: Receiver) -> None:
    before = time.time_ns() // 1_000_000
    status = call(
        receiver,
        "/flaky/1",
        b'{"a": 1}',
        Timeball_Run_Id="run_1",
        Timeball_Job_Id="job_1",
        Timeball_Attempt="2",
        Timeball_Fire_Time=FIRE_TIME,
    )
    (arrival,) = receiver.arrivals()
    assert before <= arrival.at <= time.time_ns() // 1_000_000
    assert (arrival.run_id, arrival.job_id, arrival.attempt, arrival.fire_at) == ("run_1", "job_1", 2, FIRE_AT)
    assert (arrival.path, arrival.body, arrival.status, status) == ("/flaky/1", b'{"a": 1}', 200, 200)


def test_a_slow_answer_does_not_outlive_the_receiver() -> None:
    with Receiver() as receiver:
        connection = http.client.HTTPConnection(urlsplit(receiver.url).netloc, timeout=10)
        connection.request("GET", "/slow/3600")
        while not receiver.arrivals():
            pass
    with pytest.raises((OSError, http.client.HTTPException)):
        connection.getresponse()
    connection.close()


def test_an_invalid_request_is_refused_and_not_recorded(receiver: Receiver) -> None:
    assert call(receiver, "/ok", Timeball_Attempt="many") == 400
    assert receiver.arrivals() == []
