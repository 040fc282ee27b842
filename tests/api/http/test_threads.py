"""Requests in several threads of one process: each is answered as itself, wherever another overtakes it."""

import json
from threading import Thread

import pytest
from aws_lambda_powertools.utilities.typing import LambdaContext

from tests.api.client import event_of
from tests.api.http.test_races_of_writers import raced_api


@pytest.mark.parametrize("step", range(2))
def test_a_request_of_another_thread_changes_nothing_about_the_one_under_way(step: int) -> None:
    api, overtaken = raced_api()
    answers = {}

    def ask(tenant: str) -> None:
        event = event_of(
            "PUT", "/v1/calendars/holidays", tenant, {"If-Match": '"1"', "Content-Type": "application/json"}, {}
        )
        event |= {"body": '{"timezone": "UTC", "dates": ["2026-12-24"]}'}
        event["requestContext"]["requestId"] = tenant
        answers[tenant] = api.handle(event, LambdaContext())

    def ask_in_a_thread() -> None:
        other = Thread(target=ask, args=["globex"])
        other.start()
        other.join()

    overtaken.other, overtaken.left = ask_in_a_thread, step
    ask("acme")
    assert answers.keys() == {"acme", "globex"}
    for tenant, answer in answers.items():
        assert (answer["statusCode"], answer["headers"]["X-Request-Id"]) == (412, tenant)
        assert json.loads(answer["body"])["instance"] == tenant
