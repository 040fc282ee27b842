"""Templates over a notice: which names they have, and what they become before the notice is posted."""

import json

import pytest

from timeball.domain.templates.filling import Format, check_body, check_header, check_url, fill_body, over_notice
from timeball.domain.templates.template import NOTICE_FIELDS, OF_NOTICE, TemplateError, Values

NOTICE = {"type": "failure", "jobId": "nightly", "runId": "nightly.1.s", "reason": "retries_exhausted", "attempts": 4}


@pytest.mark.parametrize("field", NOTICE_FIELDS)
def test_each_field_of_a_notice_has_a_name_by_itself_and_in_the_payload(field: str) -> None:
    for name in (field, f"payload.{field}"):
        check_body(f'{{"text": "{{{{{name}}}}}"}}', Format.JSON, OF_NOTICE)
        check_header(f"{{{{{name}}}}}", OF_NOTICE)
        check_url(f"https://h/{{{{{name}}}}}", OF_NOTICE)


@pytest.mark.parametrize(
    "name", ["attempt", "payload.customer", "payload.type.x", "jobid", "name", "payloads", "run.id"]
)
def test_another_name_is_refused_with_those_that_there_are(name: str) -> None:
    with pytest.raises(
        TemplateError, match=r"names nothing; there are the fields of a notice, \{\{type\}\}, \{\{jobId"
    ):
        check_body(f'"{{{{{name}}}}}"', Format.JSON, OF_NOTICE)


@pytest.mark.parametrize(
    ("template", "became"),
    [
        ('{"text": "{{jobId}}: {{reason}}"}', '{"text": "{{payload.jobId}}: {{payload.reason}}"}'),
        ('{"n": {{attempts}}, "all": {{payload}}}', '{"n": {{payload.attempts}}, "all": {{payload}}}'),
        ('{"text": "{{payload.type}}"}', '{"text": "{{payload.type}}"}'),
        ('{"name": "{{jobName}}"}', '{"name": "{{payload.jobId}}"}'),  # a job without a name
        ('{"page": "{{consoleUrl}}", "by": {{blockedBy}}}', '{"page": "", "by": null}'),  # no console, and no block
        ('"{{attempt}} {{payload.x}}"', '"{{attempt}} {{payload.x}}"'),  # from a row that an older release wrote
        ("no placeholder", "no placeholder"),
    ],
)
def test_a_template_over_a_notice_becomes_one_over_its_payload(template: str, became: str) -> None:
    assert over_notice(template, Format.JSON, NOTICE) == became


def test_outside_of_json_a_field_without_a_value_leaves_nothing_behind() -> None:
    assert (
        over_notice("https://h/{{jobId}}?page={{consoleUrl}}", Format.TEXT, NOTICE)
        == "https://h/{{payload.jobId}}?page="
    )


@pytest.mark.parametrize("name", ['", "x": "', "{{payload}}", "{{jobId}}", "\\", "\n\x00", "}}", "\u2028"])
def test_no_name_of_a_job_breaks_out_of_its_text(name: str) -> None:
    payload = {**NOTICE, "jobName": name}
    template = over_notice('{"text": "<{{jobName}}>", "name": {{jobName}}}', Format.JSON, payload)
    values = Values("notice-1", "notice-1.1.s", "2026-11-21T09:30:00.000Z", 1, json.dumps(payload))
    assert json.loads(fill_body(template, Format.JSON, values)) == {"text": f"<{name}>", "name": name}
