"""The rules about null in docs/reference/api.md hold for requests."""

import re
from typing import Any

import pytest

from tests.api.client import Api
from tests.docs.readme import ROOT, read
from timeball.api.jobs.policies import RetryPolicyField
from timeball.api.jobs.request import CatchUpField, JobRequest
from timeball.api.targets.models import HttpTargetField

PAGE = read(ROOT / "docs/reference/api.md")
(RULE,) = re.findall(r"^(A field that is null counts as not given.+?\n)\n", PAGE, re.DOTALL | re.MULTILINE)
URL = "https://example.com/hook"
NESTED: dict[str, tuple[type[Any], dict[str, str]]] = {
    "target": (HttpTargetField, {"type": "http", "url": URL}),
    "retryPolicy": (RetryPolicyField, {}),
    "catchUp": (CatchUpField, {"policy": "all"}),
}
INNER = [(outer, str(field.alias)) for outer, (model, _) in NESTED.items() for field in model.model_fields.values()]
MAY_BE_NULL = {
    ("retryPolicy", "maxAgeSeconds"),
    ("catchUp", "maxRuns"),
    ("catchUp", "maxAgeSeconds"),
    ("target", "body"),
    ("target", "secretId"),
}


@pytest.mark.parametrize("name", [str(field.alias) for field in JobRequest.model_fields.values()])
def test_a_null_field_counts_as_not_given(api: Api, name: str) -> None:
    url = {"target": {"type": "http", "url": URL}} if name == "handler" else {"handler": URL}
    assert api.call("POST", "/v1/jobs", {**url, name: None}).status == 201


@pytest.mark.parametrize(("outer", "name"), INNER)
def test_null_inside_another_field_is_accepted_only_for_fields_without_a_default(
    api: Api, outer: str, name: str
) -> None:
    _, base = NESTED[outer]
    url = {} if outer == "target" else {"handler": URL}
    answer = api.call("POST", "/v1/jobs", {**url, "everySeconds": 60, outer: {**base, name: None}})
    assert answer.status == (201 if (outer, name) in MAY_BE_NULL else 400)


@pytest.mark.parametrize(("outer", "name"), INNER)
def test_a_patch_accepts_null_inside_another_field_for_every_field_with_a_default(
    api: Api, outer: str, name: str
) -> None:
    job = api.create(everySeconds=60)
    answer = api.call("PATCH", f"/v1/jobs/{job['jobId']}", {outer: {name: None}})
    needed = [str(field.alias) for field in NESTED[outer][0].model_fields.values() if field.is_required()]
    assert answer.status == (400 if name in needed else 200)


def test_the_page_names_every_field_that_may_be_null_inside_another_field() -> None:
    named = set(re.findall(r"`(\w+)`", RULE)) - {"payload"}
    assert named == {*NESTED, *(name for _, name in MAY_BE_NULL)}
