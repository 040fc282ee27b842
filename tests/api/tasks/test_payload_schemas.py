"""Schemas of payloads: which are accepted, which payloads fit them, and that validation never takes long."""

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.api.client import NOW, Api
from tests.api.http.strategies import PLAIN_JSON, SETTINGS
from tests.api.tasks.test_tasks import URL
from tests.effort import at_most
from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import TaskKey
from timeball.ports.rows import Swap

TO = {
    "type": "object",
    "properties": {
        "to": {"type": "array", "items": {"type": "string", "maxLength": 5}, "minItems": 1},
        "n": {"type": "integer", "minimum": 0},
        "how": {"enum": ["now", "later"]},
    },
    "required": ["to"],
    "additionalProperties": False,
}
TREE = {
    "$defs": {"node": {"type": "object", "properties": {"sub": {"type": "array", "items": {"$ref": "#/$defs/node"}}}}},
    "$ref": "#/$defs/node",
}


def put(api: Api, schema: object) -> Any:
    return api.call("PUT", "/v1/tasks/mail", {"handler": URL, "payloadSchema": schema})


def create(api: Api, **payload: object) -> Any:
    return api.call("POST", "/v1/jobs", {"taskId": "mail", "delaySeconds": 600, **payload})


def errors(answer: Any) -> dict[str, str]:
    assert answer.status == 400, answer.text
    return {error["field"]: error["message"] for error in answer.body["errors"]}


MISFITS: dict[str, tuple[dict[str, Any], dict[str, str]]] = {
    "none": ({}, {"payload": "This must be of type object."}),
    "another type": ({"payload": [1]}, {"payload": "This must be of type object."}),
    "a missing field": ({"payload": {}}, {"payload.to": "This field is required."}),
    "deep within": (
        {"payload": {"to": ["a", "longer", 3]}},
        {
            "payload.to.1": "This must have at most 5 characters.",
            "payload.to.2": "This must be of type string.",
        },
    ),
    "everything at once": (
        {"payload": {"to": [], "n": -1, "how": "never", "more": 1}},
        {
            "payload.to": "Give at least 1 entries.",
            "payload.n": "This must be at least 0.",
            "payload.how": 'Use one of ["now", "later"].',
            "payload.more": "The schema has no such field; leave it out.",
        },
    ),
}


@pytest.mark.parametrize(("payload", "expected"), MISFITS.values(), ids=MISFITS)
def test_a_payload_that_does_not_fit_names_each_path(
    api: Api, payload: dict[str, Any], expected: dict[str, str]
) -> None:
    put(api, TO)
    assert errors(create(api, **payload)) == expected
    assert not api.store.jobs


def test_the_payload_of_a_trigger_is_validated_too(api: Api) -> None:
    put(api, TO)
    job = create(api, payload={"to": ["me"]}).body["jobId"]
    assert errors(api.call("POST", f"/v1/jobs/{job}/trigger", {"payload": {}})) == {
        "payload.to": "This field is required."
    }
    assert api.call("POST", f"/v1/jobs/{job}/trigger", {"payload": {"to": ["you"]}}).status == 201
    run = api.call("POST", f"/v1/jobs/{job}/trigger").body["runId"]
    assert list(errors(api.call("POST", f"/v1/runs/{run}/retry", {"payload": {"n": 1}}))) == ["payload.to"]
    assert api.call("POST", f"/v1/runs/{run}/retry", {"payload": {"to": ["her"]}}).status == 409, "it is queued"


def test_the_same_key_repeats_its_answer_although_the_schema_has_changed(api: Api) -> None:
    put(api, TO)
    body = {"taskId": "mail", "delaySeconds": 600, "payload": {"to": ["me"]}}
    first = api.call("POST", "/v1/jobs", body, headers={"Idempotency-Key": "k"})
    put(api, {"type": "string"})
    again = api.call("POST", "/v1/jobs", body, headers={"Idempotency-Key": "k"})
    assert (again.status, again.body["jobId"]) == (201, first.body["jobId"])


def test_a_schema_may_refer_to_itself(api: Api) -> None:
    assert put(api, TREE).status == 201
    assert create(api, payload={"sub": [{"sub": []}, {}]}).status == 201
    assert list(errors(create(api, payload={"sub": [{"sub": [{"sub": 1}]}]}))) == ["payload.sub.0.sub.0.sub"]


def nested(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {}
    for _ in range(levels):
        schema = {"not": schema}
    return schema


BAD: dict[str, tuple[object, str]] = {
    "no object": (True, "must be an object"),
    "too large": ({"description": "x" * 16_400}, "at most 16384 (16 KB)"),
    "too deep": (nested(40), "more than 32 levels"),
    "another dialect": ({"$schema": "http://json-schema.org/draft-07/schema#"}, "2020-12"),
    "of an unknown type": ({"properties": {"a": {"type": "text"}}}, "see properties.a.type"),
    "with a keyword of another type": ({"required": "to"}, "see required"),
    "that looks elsewhere": ({"$ref": "https://example.com/schema.json"}, "stay within the schema"),
    "that looks into a file": ({"items": {"$ref": "file:///etc/passwd"}}, "stay within the schema"),
    "that looks nowhere": ({"$ref": "#/$defs/none"}, "leads to no schema"),
    "that takes data for a schema": ({"$ref": "#/const", "const": 5}, "leads to no schema"),
    "that refers into a default": ({"$ref": "#/default", "default": {"type": "text"}}, "leads to no schema"),
    "that refers into a constant": ({"items": {"$ref": "#/const"}, "const": {"required": 5}}, "leads to no schema"),
    "that refers to an entry of an enum": ({"$ref": "#/enum/0", "enum": [{"pattern": "("}]}, "leads to no schema"),
    "that refers to a keyword of its own": ({"$ref": "#/x-a", "x-a": {"type": "text"}}, "leads to no schema"),
    "that takes names for keywords": (
        {"items": {"$ref": "#/properties"}, "properties": {"type": {"type": "string"}}},
        "leads to no schema",
    ),
    "that goes round in a circle": ({"$ref": "#"}, "refers to itself without end"),
    "that goes round in two steps": (
        {"$defs": {"a": {"allOf": [{"$ref": "#"}]}}, "$ref": "#/$defs/a"},
        "refers to itself without end",
    ),
    "with a bad pattern": ({"pattern": "("}, "not a regular expression"),
    "with a bad pattern of names": ({"patternProperties": {"[": {}}}, "not a regular expression"),
    "with ids within": ({"$defs": {"a": {"$id": "https://example.com/a"}}}, "Leave out the $id"),
}


@pytest.mark.parametrize(("schema", "sentence"), BAD.values(), ids=BAD)
def test_a_bad_schema_is_refused_with_a_sentence(api: Api, schema: object, sentence: str) -> None:
    (field, message), *others = errors(put(api, schema)).items()
    assert (field, others) == ("payloadSchema", [])
    assert sentence in message


def test_data_within_a_schema_is_no_reference(api: Api) -> None:
    schema = {"enum": [{"$ref": "https://example.com"}], "properties": {"$ref": {"type": "string"}}}
    assert put(api, schema).status == 201


def test_a_stored_schema_that_cannot_be_applied_is_reported_in_a_sentence(api: Api) -> None:
    put(api, TO)
    (task,) = api.store.tasks.read([TaskKey("acme", "mail")])
    assert task is not None
    broken = evolve(task, spec=evolve(task.spec, payload_schema='{"$ref":"#/default","default":{"type":"text"}}'))
    assert api.store.tasks.swap([Swap(task, broken)], NOW)[0].done
    assert "cannot be applied" in errors(create(api, payload=1))["payload"]


def branching(levels: int) -> dict[str, Any]:
    """Return a schema in which each definition refers to the next one twice."""
    names = [f"d{n}" for n in range(levels)]
    defs: dict[str, Any] = {
        name: {"anyOf": [{"$ref": f"#/$defs/{following}"}] * 2} for name, following in pairwise(names)
    }
    return {"$defs": {**defs, names[-1]: {"type": "string"}}, "$ref": "#/$defs/d0"}


SLOW: dict[str, tuple[dict[str, Any], object]] = {
    "a pattern that goes back and forth": ({"pattern": "^(a+)+$"}, "a" * 60 + "b"),
    "a pattern of names that goes back and forth": ({"patternProperties": {"^(a+)+$": {}}}, {"a" * 60 + "b": 1}),
    "a pattern that is tried at each place": ({"pattern": "a*a*a*a*a*b"}, "a" * 20_000),
    "references that double at each level": (branching(60), 1),
    "recursion into both of two": (
        {"anyOf": [{"items": {"$ref": "#"}, "minItems": 1}, {"items": {"$ref": "#"}, "maxItems": 0}], "type": "array"},
        eval("[" * 80 + "1" + "]" * 80),  # noqa: S307
    ),
    "unequal entries, each held against all": ({"uniqueItems": True}, [{"n": n} for n in range(20_000)]),
    "a thousand forms of something large": ({"anyOf": [{"type": "string"}] * 900}, [{"n": "x" * 50}] * 3_000),
    "fields that no form knows": (
        {"anyOf": [{"additionalProperties": False}] * 400},
        {f"name-{n}": n for n in range(10_000)},
    ),
    "what is not evaluated yet": (
        {"allOf": [{"anyOf": [{"properties": {"a": {}}}] * 70}] * 8, "unevaluatedProperties": False},
        {f"name-{n}": n for n in range(10_000)},
    ),
}


@pytest.mark.parametrize(("schema", "payload"), SLOW.values(), ids=SLOW)
def test_a_validation_that_takes_long_is_stopped_and_the_payload_refused(
    api: Api, schema: dict[str, Any], payload: object
) -> None:
    with at_most(5_000):
        if put(api, schema).status != 201:
            return
        jobs = [{"taskId": "mail", "delaySeconds": 600, "payload": payload}] * 3
        answer = api.call("POST", "/v1/jobs:batch", {"jobs": jobs})
    assert answer.status in (200, 413), answer.text[:1000]
    assert not [item for item in answer.body.get("items", []) if item["status"] not in (201, 400)]


SCHEMAS = st.recursive(
    st.fixed_dictionaries(
        {},
        optional={
            "type": st.sampled_from(["string", "object", "array", "null", "integer", "number", "boolean", ["string"]]),
            "enum": st.lists(PLAIN_JSON, min_size=1, max_size=2),
            "minimum": st.integers(-5, 5),
            "multipleOf": st.floats(0.001, 10) | st.just(1e-320),
            "minLength": st.integers(0, 5),
            "pattern": st.sampled_from(["^a", "(", "[[a]", "(a|a)*$", "\\d"]),
            "uniqueItems": st.booleans(),
            "format": st.sampled_from(["email", "date-time"]),
            "const": PLAIN_JSON,
        },
    )
    | PLAIN_JSON,
    lambda inner: st.fixed_dictionaries(
        {"items": inner},
        optional={
            "properties": st.dictionaries(st.sampled_from(["a", "b", "$ref"]), inner, max_size=2),
            "anyOf": st.lists(inner, max_size=2),
            "oneOf": st.lists(inner, max_size=2),
            "allOf": st.lists(inner, max_size=2),
            "not": inner,
            "if": inner,
            "then": inner,
            "contains": inner,
            "minContains": st.integers(0, 2),
            "prefixItems": st.lists(inner, max_size=2),
            "dependentSchemas": st.dictionaries(st.sampled_from(["a", "b"]), inner, max_size=1),
            "propertyNames": inner,
            "additionalProperties": inner,
            "unevaluatedProperties": inner,
            "unevaluatedItems": inner,
            "required": st.lists(st.sampled_from(["a", "b"]), max_size=2),
            "$ref": st.sampled_from(["#", "#/$defs/a", "#/properties/a", "#a", "x", "#/%", "#/items", "#/0"]),
            "$dynamicRef": st.sampled_from(["#", "#a"]),
            "$defs": st.dictionaries(st.sampled_from(["a", "b"]), inner, max_size=2),
            "$anchor": st.sampled_from(["a", "b", "1"]),
            "$dynamicAnchor": st.just("a"),
            "$id": st.sampled_from(["https://example.com/x", "x", "#a", ""]),
        },
    ),
    max_leaves=6,
)


def test_random_schemas_and_payloads_are_accepted_or_refused_in_time() -> None:
    @SETTINGS
    @given(SCHEMAS, st.lists(PLAIN_JSON, max_size=3))
    def try_it(schema: object, payloads: list[object]) -> None:
        api = Api()
        with at_most(5_000):
            answers = [put(api, schema)]
            answers += [create(api, payload=payload) for payload in payloads if answers[0].status == 201]
        for answer in answers:
            assert answer.status in (201, 400), answer.text
        assert all(error["message"] for answer in answers[1:] for error in answer.body.get("errors", []))

    try_it()


def test_only_the_first_hundred_misfits_are_named(api: Api) -> None:
    put(api, {"items": {"type": "string"}})
    answer = create(api, payload=list(range(5_000)))
    assert len(answer.body["errors"]) == 100
    assert "names the first 100" in answer.body["detail"]
