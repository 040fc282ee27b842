"""Failures that Schemathesis finds and that are expected, each with the reason: no schema can express the rule.

Everything else that it finds is a fault, of the code or of the document.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from schemathesis import Case, Response
from schemathesis.core.failures import Failure

from timeball.api.http.problems import Problem

REFUSED = "ST202"
"""Schemathesis' code for a request that the schema allows and the API refuses."""
ACCEPTED = "ST201"
"""Its code for a request that the schema forbids and the API accepts."""
GATEWAYS_OWN = b'{"message":"Not Found"}'
"""An answer of API Gateway itself: Timeball never gives it."""

ANY = ".*"
LISTS = "GET .*"
BATCH = "POST /v1/jobs:batch"
JOBS = r"(POST|PUT|PATCH) /v1/jobs(:batch|/\{jobId\})?"
CALENDARS = "(POST|PUT) /v1/calendars.*"
BACKFILLS = "POST .*/backfills"
SCHEDULES = f"{JOBS}|POST /v1/schedules:preview"
TENANTS = r"(POST|PATCH) /v1/admin/tenants(/\{tenant\})?"
TARGETS = rf"{JOBS}|{TENANTS}|(POST|PUT) /v1/tasks(/\{{taskId\}})?|POST /v1/targets:test"


@dataclass(frozen=True)
class Refusal:
    """Fields that an operation refuses although their schemas allow them: the sentence, and the reason."""

    operation: str
    field: str
    sentence: str
    why: str

    def covers(self, operation: str, error: dict[str, str]) -> bool:
        """Say whether this refusal explains one of an answer's `errors`: all three are patterns."""
        return bool(
            re.fullmatch(self.operation, operation)
            and re.fullmatch(self.field, error["field"].rpartition(".")[2])
            and re.match(self.sentence, error["message"])
        )


REFUSALS: Sequence[Refusal] = (
    Refusal(ANY, "cursor", "Give the nextCursor of", "A cursor belongs to one query, which it holds as a hash."),
    Refusal(
        ANY, ".*At|from|to|since", "Give a time between", "An offset moves the first and the last day out of the years."
    ),
    Refusal(ANY, "to|endAt", "This is (before|not after)", "JSON Schema cannot compare two fields."),
    Refusal(ANY, "heartbeatSeconds", "This is longer than", "JSON Schema cannot compare two fields."),
    Refusal(ANY, "to", "A range may have at most", "JSON Schema cannot compare two fields."),
    Refusal(BACKFILLS, "to", "This is in the future", "The past depends on the time of the request."),
    Refusal(ANY, "since", "Give an instant of the last", "The past depends on the time of the request."),
    Refusal(ANY, "endAt|scheduleAt|expiresAt", "This is in the past", "The past depends on the time of the request."),
    Refusal(JOBS, "delaySeconds", "This ends after the year", "The end of a delay depends on its beginning."),
    Refusal(BACKFILLS, "from", "The schedule has no fire time", "It depends on the schedule of the job."),
    Refusal(BACKFILLS, "to", "The range has at least", "It depends on the schedule of the job."),
    Refusal(SCHEDULES, "cronExpression", ".*; write", "Ranges run upwards, months have days: a pattern cannot count."),
    Refusal(ANY, "timezone", "The time zone .* is unknown", "The names come from a release of a database."),
    Refusal(CALENDARS, "ics", ANY, "It must be an iCalendar file, whose grammar no pattern can say."),
    Refusal(SCHEDULES, "everySeconds", "This must be at", "JSON Schema cannot measure durations such as PT0S."),
    Refusal(SCHEDULES, "endAt", "The schedule has no fire time", "It depends on the whole schedule."),
    Refusal(
        TARGETS,
        "handler|url",
        "Write an address as four",
        "0x7f is a number, which no pattern should have to recognize.",
    ),
    Refusal(
        TARGETS, "handler|url", "This is not a URL", "Brackets must contain an IPv6 address, and a port must be valid."
    ),
    Refusal(
        TARGETS, "handler|url", "The URL names no valid host", "A host has at most 253 characters, a port is not 0."
    ),
    Refusal(
        TARGETS,
        "handler|url|on[A-Z][a-z]+",
        "Webhooks do not call this",
        "A setting lists the addresses that may be called.",
    ),
    Refusal(TARGETS, "secretId", "Name a secret of your tenant", "It depends on the tenant."),
    Refusal(
        TARGETS,
        ANY,
        "{{.*}} names nothing|A {{ is not closed|Write {{|Fill |Leave placeholders out|Values are escaped|"
        "This (is no )?JSON|.* is no JSON",
        "A template has a grammar, and a body's depends on the Content-Type.",
    ),
    Refusal(
        TARGETS,
        ".*Arn|subnets|securityGroups",
        "Your tenant may not use this",
        "A setting lists the AWS resources that may be called.",
    ),
    Refusal("(POST|PUT) /v1/tasks.*", "type", "This is not the type of", "JSON Schema cannot compare two fields."),
    Refusal(
        "PATCH .*", ANY, "There is no such field|Name the queue", "The fields of a target depend on the job's target."
    ),
    Refusal(TARGETS, ANY, "Leave this header out", "The names of Timeball's own headers, in any case of letters."),
    Refusal(TARGETS, "headers", "Give each header once", "Names in JSON Schema are case-sensitive."),
    Refusal(TARGETS, "payloadSchema", ANY, "It must be a schema, which only the meta-schema can express."),
    Refusal(TARGETS, "handler|taskId", "You have no task with this id", "It depends on the existing tasks."),
    Refusal(
        JOBS,
        ANY,
        "You have no job with this id; create it first|Give each (job|name)|Name one of the jobs in dependsOn|"
        "Items come from a run in the same cycle",
        "It depends on the existing jobs, and on the other items.",
    ),
    Refusal(SCHEDULES, "name", "You have no calendar with this name", "It depends on the existing calendars."),
    Refusal(JOBS, "event", ANY, "It must be a pattern that the bus accepts; no schema can check its operators."),
    Refusal("POST /v1/events", "time", ANY, "An offset moves the first and the last day out of the years."),
    Refusal("POST /v1/events", "data", "The event has", "No schema can bound the size of an event on the bus."),
    Refusal(ANY, "payload", ANY, "It must fit the schema of the job's task."),
    Refusal("PATCH .*", "name", "A tenant keeps its name", "The path gives the name."),
    Refusal(
        f"{JOBS}|{TENANTS}",
        "follow",
        "Leave this out: the execution of a notice",
        "A target of a notice would need a schema of its own.",
    ),
    Refusal(TENANTS, "notify", "All of it may have", "JSON Schema cannot measure an object."),
    Refusal(
        "POST /v1/dead-letters:.*",
        "limit",
        "Leave out limit or",
        "OpenAPI has no rule about a body and a header together.",
    ),
    Refusal(
        JOBS,
        ANY,
        "This is only valid with .*(dependsOn|uniqueKey|debounceSeconds|completion callback)|"
        "This must be at most 840; up|A job either runs on events or waits|A job that runs on events alone|"
        "With (overlapPolicy skip|the catchUp policy)|A job that depends on others needs a run|`latest` is for a job",
        "With these rules in the document, generators would find no valid request.",
    ),
    Refusal(ANY, "debounceMaxSeconds", "This is the longest wait", "JSON Schema cannot compare two fields."),
    Refusal(JOBS, "unique(Key|Seconds)", "The id in the path|A job keeps the unique key", "It depends on the job."),
    Refusal(
        "PATCH .*",
        ANY,
        "(This|.* 840; up.*) is only valid with|Give another schedule|Say what to call|An admin's key|"
        "This field is required",
        "The fields that go together depend on the job.",
    ),
)

PROBLEMS: dict[Problem, str] = {
    Problem.IDEMPOTENCY_CONFLICT: "The key was used with another body.",
    Problem.STALE_VERSION: "The resource has another version, or is there already.",
    Problem.BODY_TOO_LARGE: "A body of more than 1 MB is not read; Schemathesis does not count its 413 as a refusal.",
}
"""Answers that depend on existing resources, before the body is validated."""

ACCEPTANCES: dict[str, str] = {
    BATCH: "A bad item does not affect the others: the answer is 200, the item's own status 400."
}


def reasons(failure: Failure, case: Case[Any], response: Response) -> list[str]:
    """Return the reasons for which a failure is expected, one for each refused field; empty if a field has none."""
    if response.content == GATEWAYS_OWN:
        return ["API Gateway itself refuses a path whose escapes are no UTF-8."]
    if failure.code not in {REFUSED, ACCEPTED}:
        return []
    operation, answer = case.operation.label, json.loads(response.content)
    for problem, why in PROBLEMS.items():
        if answer.get("type") == problem.type:
            return [why]
    if failure.code == ACCEPTED and "x-schemathesis-unknown-property" in (case.headers or {}):
        return ["Proxies add headers, so an undeclared header is ignored."]
    if failure.code == ACCEPTED:
        items = answer.get("items", []) if operation in ACCEPTANCES else []
        return [ACCEPTANCES[operation]] if any(item["status"] >= 400 for item in items) else []
    errors: list[dict[str, str]] = answer.get("errors", [])
    rows = [next((row for row in REFUSALS if row.covers(operation, error)), None) for error in errors]
    return [] if None in rows else [row.why for row in rows if row]
