# Generated from docs/openapi.json by `python -m docs.client`: change that instead.
# ruff: noqa: D209, E501 -- the document's sentences stay whole
"""The answers of the API: a class for each, whose fields are read from its JSON."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal, TypeAlias

from timeball.client.answers import Answer, Identified

Action: TypeAlias = Literal[
    "create",
    "put",
    "patch",
    "restore",
    "pause",
    "resume",
    "cancel",
    "detach",
    "skip_next",
    "rerun",
    "trigger",
    "collect",
    "retry",
    "succeed",
    "delete",
    "rotate",
    "revoke",
    "replay",
    "discard",
]


class ActorAnswer(Answer):
    """The caller that made a change."""

    key_id: str | None
    """The id of the API key."""
    role: str | None
    """The role of the API key."""
    address: str | None
    """The address that the request came from."""


BackfillStatus: TypeAlias = Literal["waiting", "running", "completed", "cancelled"]


class BlockedAnswer(Answer):
    """The failed run that blocks a job. Retry or replay it, or mark it as succeeded."""

    run_id: str
    """The id of the failed run."""
    job_id: str
    """The job of that run."""
    path: list[str]
    """The ids of the jobs from that job to this one; of a long path the first and the last."""


CalendarPolicy: TypeAlias = Literal["skip", "next"]


class CalendarUseAnswer(Answer):
    """The calendar on whose dates the job does not fire."""

    name: str
    """The name of the calendar."""
    policy: CalendarPolicy
    """`skip` skips a fire; `next` starts it on the next allowed day."""


class CallbackAnswer(Answer):
    """A run whose target answered 202 and will report how it ended."""

    until: datetime
    """When the attempt times out, whatever the target reports before."""
    heartbeat_seconds: int | None
    """The longest time in seconds between heartbeats; null: no bound."""
    lease_until: datetime
    """When the lease ends; the target must send a heartbeat or report before."""
    execution: str | None
    """The ARN of the followed execution, which is polled when the lease ends."""


CatchUpPolicy: TypeAlias = Literal["skip", "latest", "all"]


Children: TypeAlias = Literal["detach", "cancel"]


Completion: TypeAlias = Literal["answer", "callback"]


Concern: TypeAlias = Literal["late", "stuck", "blocked", "failing", "silent"]


class CountAnswer(Answer):
    """A count or an estimate."""

    count: int
    """How many there are."""
    exact: bool
    """Whether all were counted."""
    standard_error: float
    """The error of an estimate is at most this two times in three. 0 for a count."""


class DeadLetterGroupAnswer(Answer):
    """Dead letters of one job that failed in the same way."""

    fingerprint: str
    """Names the group: a hash of the job and the error without numbers, ids and quoted values."""
    job_id: str
    """The id of the job."""
    error: str
    """The error of the newest of them, its first 200 bytes; without one the reason."""
    count: int
    """How many of them this page has."""
    first_at: datetime
    """When the oldest of these failed for good."""
    last_at: datetime
    """When the newest of these failed for good."""


class DeadLetterGroupPageAnswer(Answer):
    """Groups of dead letters, the one with the newest first. A page counts 1,000 dead letters at the most."""

    items: list[DeadLetterGroupAnswer]
    """The groups. A group that goes on in the next page is an item there too: add its counts."""
    next_cursor: str | None
    """The `cursor` of the next page; null on the last page."""


class DealtRunAnswer(Answer):
    """A dead letter that was replayed or discarded."""

    run_id: str
    """The id of the run."""
    next_attempt_at: datetime | None
    """When a replayed run starts; null for a discarded one."""


class DepthAnswer(Answer):
    """About how many messages of all tenants a queue holds, according to SQS."""

    waiting: int
    """Messages that can be received now."""
    in_flight: int
    """Messages that executors have received."""
    delayed: int
    """Messages whose delivery is delayed."""


DstOverlap: TypeAlias = Literal["first", "both"]


class EventAnswer(Identified):
    """An event that is on the bus."""

    event_id: str
    """The event's `id`, given or generated."""
    source: str
    """The event's `source`."""
    type: str
    """The event's `type`."""
    accepted_at: datetime
    """When it was first accepted: the fire time of its runs."""


class EventBridgeTargetAnswer(Answer):
    """An event bus of EventBridge."""

    type: Literal["eventBridge"]
    """The type of the target."""
    bus_arn: str
    """The ARN of the bus."""
    source: str
    """The `source` of the event."""
    detail_type: str
    """The `detail-type` of the event."""


class FieldProblem(Answer):
    """A bad field and how to correct it."""

    field: str
    """The path of the field, such as `target.headers.Host`."""
    message: str
    """One sentence that says how to correct the field."""


class FireAnswer(Answer):
    """A fire of a preview."""

    fire_time: datetime
    """The fire time."""
    local_time: str
    """The local time without an offset, such as `2026-10-25T02:30:00`."""
    utc_offset: str
    """Local time minus UTC, such as `+02:00`."""
    note: str | None
    """The effect of a clock change on this fire, if any."""
    moved_to: datetime | None
    """When it starts instead, if the calendar's policy is `next`."""
    reason: Literal["calendar", "frozen"] | None
    """Why it does not fire: its date on the calendar, or a freeze of all jobs; null if it fires."""


class FixedAnswer(Answer):
    """The bounds that a person has set; null where the bounds that jobs state hold."""

    limit: int | None
    """The most runs under way at once."""
    per_second: float | None
    """The most calls that begin in a second."""
    burst: int | None
    """The most calls that begin at once."""


Gap: TypeAlias = Literal["next", "skip"]


Guarantee: TypeAlias = Literal["at_least_once", "at_most_once"]


class HealthAnswer(Answer):
    """The state of Timeball."""

    status: Literal["ok"] | None
    """Always `ok`: the ticker ticks, and the store answers."""


class HttpTargetAnswer(Answer):
    """A webhook."""

    type: Literal["http"]
    """The type of the target."""
    url: str
    """The URL of the call."""
    method: str
    """The HTTP method of the call."""
    headers: list[str]
    """The names of headers; values may be secret and are never shown."""
    body: str | None
    """The template of the body that replaces the payload; in a list, null if over 1000 characters."""
    secret_id: str | None
    """The name of the secret whose keys sign the call."""


InvocationType: TypeAlias = Literal["requestResponse", "event"]


class ItemAnswer(Answer):
    """A quantity and its price."""

    quantity: float
    """The quantity, in the unit of the item's name."""
    usd: float
    """The price in US dollars."""


class ItemProblem(Answer):
    """Why one item of a request was refused."""

    type: str
    """The stable id of the kind of problem: `urn:timeball:problem:...`."""
    title: str
    """The kind of problem, for people."""
    status: int
    """The HTTP status."""
    detail: str
    """One sentence that a person can act on."""
    quota: str | None
    """The name of the quota that is used up; left out if none is."""
    reason: str | None
    """Why Timeball is not healthy: `ticks_missing` or `store_unavailable`; else left out."""
    children: list[str] | None
    """The ids of the open jobs that depend on the job; left out for other problems."""
    errors: list[FieldProblem]
    """Every bad field; of more than 100 the first 100."""


class ItemsAnswer(Answer):
    """The progress of a run that stands for the runs of all items of another."""

    of: str
    """The run that named the items."""
    count: int | None
    """The number of items; null until it is known."""
    released: int
    """The number of runs that were sent."""


Jitter: TypeAlias = Literal["full", "none"]


JobStatus: TypeAlias = Literal["pending", "paused", "blocked", "completed", "failed", "skipped", "cancelled"]


class LambdaTargetAnswer(Answer):
    """A Lambda function."""

    type: Literal["lambda"]
    """The type of the target."""
    function_arn: str
    """The ARN of the function."""
    invocation: InvocationType
    """`requestResponse`: the function's answer ends the attempt; `event`: its queueing does."""


class LatenessAnswer(Answer):
    """Percentiles of lateness, up to a third too high; null if none started, and in windows below an hour."""

    p50_seconds: float | None
    """Half of the runs were at most so many seconds late."""
    p99_seconds: float | None
    """99 % of the runs were at most so many seconds late."""


class LatenessOfNowAnswer(Answer):
    """Percentiles of the lateness of the last hour, up to a third too high; null if no run started."""

    p50: float | None
    """Half of the runs were at most so many seconds late."""
    p99: float | None
    """99 % of the runs were at most so many seconds late."""


LaunchType: TypeAlias = Literal["FARGATE", "EC2", "EXTERNAL"]


class LeftJobAnswer(Answer):
    """A job that could not be recovered."""

    tenant: str
    """The tenant."""
    job_id: str
    """The id of the job."""


class LimitsOfCallerAnswer(Answer):
    """The limits of a tenant; null: no bound."""

    active_jobs: int | None
    """The most open jobs."""
    submits_per_second: int | None
    """The most jobs and events submitted in a second."""
    runs_per_second: int | None
    """The most attempts that begin in a second."""
    runs_at_once: int | None
    """The most runs under way at once."""
    least_period_seconds: int | None
    """The least seconds between two fires of a job."""
    payload_bytes: int | None
    """The most bytes of a payload."""
    running_backfills: int | None
    """The most backfills that run at once."""
    event_patterns: int | None
    """The most distinct event patterns of its jobs."""
    requests_per_second: int | None
    """The most requests in a second."""
    runs_created_per_minute: int | None
    """The most runs that events and fan-outs create in a minute."""


class LiveAnswer(Answer):
    """Runs that have not ended, as far as the list of runs has them: without those on time for their first seconds."""

    count: int
    """How many there are."""
    exact: bool
    """Whether all were counted; false where there are at least so many."""
    oldest_at: datetime | None
    """Since when the oldest one runs, or could have started; null: none."""
    age_seconds: float
    """How long ago that is, in seconds; 0: there is none."""


class MatchAnswer(Answer):
    """Which jobs a freeze matches."""

    all: bool
    """Whether it matches every job."""
    job_ids: list[str]
    """The ids of the jobs; empty: any job."""
    task_id: str | None
    """The task that the jobs name."""
    tags: dict[str, str]
    """The tags that the jobs have, all of them."""


Milestone: TypeAlias = Literal["started", "succeeded"]


News: TypeAlias = Literal["failure", "recovery", "success", "late", "blocked"]


class NoticeAnswer(Answer):
    """The content of a notice: the event, the job, and the run."""

    type: News
    """The event that it reports."""
    job_id: str
    """The job that it is about."""
    run_id: str | None
    """The run that it is about; null if it is about the job."""
    unless: Milestone | None
    """The notice is called only if the run has not come this far by then."""


Obstacle: TypeAlias = Literal["limit", "quota", "parent", "overlap", "resource", "freeze"]


OnFull: TypeAlias = Literal["wait", "skip"]


class OnTimeAnswer(Answer):
    """The fraction of runs that started at most so late, of those that started or should have; null: there are none."""

    within1_second: float | None
    """At most 1 second late."""
    within5_seconds: float | None
    """At most 5 seconds late."""
    within30_seconds: float | None
    """At most 30 seconds late."""


OperationAction: TypeAlias = Literal["pause", "resume", "cancel", "trigger", "retry", "rerun", "recover"]


class OperationMatchAnswer(Answer):
    """Which jobs: those for which every field that is not null holds; every job if all are null."""

    tags: dict[str, str] | None
    """Jobs that have all of these tags."""
    task_id: str | None
    """Jobs that name this task."""
    status: str | None
    """Jobs in this status."""
    all: bool
    """Whether every job matches."""


OperationStatus: TypeAlias = Literal["running", "succeeded", "failed", "cancelled"]


Origin: TypeAlias = Literal["schedule", "manual", "backfill", "dependency", "event"]


Outcome: TypeAlias = Literal["succeeded", "failed", "timed_out", "lost"]


OverlapPolicy: TypeAlias = Literal["allow", "skip", "queueOne", "cancelOther"]


Override: TypeAlias = Literal[
    "priority", "maxRetries", "retryPolicy", "timeoutSeconds", "completion", "heartbeatSeconds"
]


Priority: TypeAlias = Literal["high", "normal", "low"]


class ProgressAnswer(Answer):
    """Progress of the operation; at the end, `matched` is the sum of the others."""

    matched: int
    """How many matching jobs were found."""
    done: int
    """For how many of them the action is done, or was done before."""
    failed: int
    """For how many the action was not possible."""


class QuotaAnswer(Answer):
    """A quota."""

    limit: int | None
    """The tenant's own bound, or that of the settings; null: no bound."""
    used: int | None
    """How much of it is used now; for tens of thousands of jobs an estimate. Null if it is not counted or not shown here."""


class QuotasAnswer(Answer):
    """The quotas of a tenant."""

    active_jobs: QuotaAnswer
    """Open jobs."""
    submits_per_second: QuotaAnswer
    """Jobs and events submitted in a second."""
    runs_per_second: QuotaAnswer
    """Attempts that begin in a second."""
    runs_at_once: QuotaAnswer
    """Runs under way at once."""
    least_period_seconds: QuotaAnswer
    """The least seconds between two fires of a job."""
    payload_bytes: QuotaAnswer
    """The bytes of a payload."""
    running_backfills: QuotaAnswer
    """Backfills that run at once."""
    event_patterns: QuotaAnswer
    """Distinct event patterns of its jobs."""
    requests_per_second: QuotaAnswer
    """Requests in a second that each process of the authorizer admits."""
    runs_created_per_minute: QuotaAnswer
    """Runs that events and fan-outs create in a minute."""


class RangeAnswer(Answer):
    """A range of dates."""

    from_: str
    """The first date."""
    to: str
    """The last date, which is included."""


class RateLimitAnswer(Answer):
    """A limit of calls a second."""

    name: str
    """The name of the limit."""
    per_second: float
    """The most calls that begin in a second, as the job states it."""
    burst: int
    """The most calls that begin at once, as the job states it."""


Reason: TypeAlias = Literal[
    "misfired",
    "calendar",
    "frozen",
    "skipped_manually",
    "paused",
    "no_event",
    "job_paused",
    "in_time",
    "superseded",
    "overlap",
    "replaced",
    "job_cancelled",
    "earlier_generation",
    "backfill_cancelled",
    "run_cancelled",
    "job_gone",
    "blocked",
    "waiting_for_parents",
    "parent_skipped",
    "parent_cancelled",
    "rule_unmet",
    "dependency_timeout",
    "no_items",
    "bad_items",
    "items_failed",
    "items_cancelled",
    "circuit_open",
    "marked_succeeded",
    "host_paced",
    "limit_wait",
    "rate_wait",
    "quota_wait",
    "limit_full",
    "not_retriable",
    "retries_exhausted",
    "too_old",
    "at_most_once",
    "parents_too_large",
    "host_down",
    "recovery_in_doubt",
    "undeliverable",
]


class RefusedAnswer(Answer):
    """Requests with invalid keys: this tenant's, and for the operating tenant also those of unknown keys."""

    since: datetime
    """The start of the count: the beginning of an hour about a day ago."""
    count: int
    """The number of requests."""
    by_reason: dict[str, int]
    """The number for each reason: `expired` or `revoked`; `unknown` or `malformed`."""


RerunMode: TypeAlias = Literal["failed", "failedAndDownstream", "all"]


ResourceKind: TypeAlias = Literal[
    "job",
    "run",
    "backfill",
    "task",
    "calendar",
    "freeze",
    "operation",
    "deadLetters",
    "tenant",
    "key",
    "limit",
    "signingSecret",
]


class ResultAnswer(Answer):
    """The result of the attempt that succeeded: the target's answer or its report."""

    http_status: int | None
    """The HTTP status of the answer; null for a report."""
    body: str | None
    """The answer, or the report as JSON text, at most 16 KB."""


class RetryPolicyAnswer(Answer):
    """A retry policy: exponential backoff within all limits."""

    base_seconds: int
    """The longest wait before the first retry in seconds."""
    factor: float
    """The factor by which the longest wait grows with each retry."""
    max_seconds: int
    """The bound of every wait in seconds."""
    jitter: Jitter
    """`full`: a wait is random, up to the longest; `none`: it is the longest."""
    max_age_seconds: int | None
    """The seconds after the fire time from which no retry begins; null: no bound."""
    retry_on: list[str]
    """The failures that are retried: causes, statuses and classes of statuses."""


Role: TypeAlias = Literal["admin", "operator", "submitter", "viewer", "worker"]


class RootAnswer(Answer):
    """The way into the API: paths, with the base path of this deployment if it has one."""

    docs: str
    """The documentation for people."""
    openapi: str
    """The OpenAPI document for programs."""
    health: str
    """Whether Timeball is healthy."""


class RotationAnswer(Answer):
    """The last rotation of the secret that signs the tokens of attempts."""

    rotated_at: datetime
    """When the newest secret was made."""
    signs_from: datetime
    """From when tokens are signed with the newest secret."""
    accepted_until: datetime
    """Until when tokens of the previous secret are accepted; no other rotation begins before then."""


class RulesAnswer(Answer):
    """The rules that fire times depend on besides the schedule."""

    version: int
    """Grows when the same schedule may fire at other instants than before."""
    tzdata: str
    """The release of the time zone database, such as `2026a`."""


RunState: TypeAlias = Literal[
    "queued", "running", "retrying", "withdrawn", "succeeded", "failed", "skipped", "cancelled"
]


class RunningAnswer(Answer):
    """A run that has begun and has not ended."""

    run_id: str
    """The id of the run."""
    job_id: str
    """The id of the job."""
    status: RunState
    """`running`, or `retrying` while it waits for its next attempt."""
    attempt: int
    """The number of its newest attempt."""
    started_at: datetime | None
    """When its first call left; null: not known to have left."""
    claimed_at: datetime | None
    """When its newest attempt began: its call leaves a moment later."""
    p95_seconds: float | None
    """95 % of its job's newest runs took at most so many seconds; null: fewer than five succeeded, or it began after `digestAt`."""


class SessionAnswer(Identified):
    """A session of an API key."""

    session_id: str
    """The id of the session."""
    key_id: str
    """The id of its API key. The session ends with this key at the latest."""
    tenant: str
    """The tenant of the API key."""
    tags: dict[str, str]
    """The session sees and changes only jobs that have all of these tags."""
    role: Role
    """The role of the session key that the request sent, or that this answer gives."""
    key_role: Role
    """The role of the API key, which `allowChangesForSeconds` asks for."""
    expires_at: datetime
    """When that session key ends."""
    session_expires_at: datetime
    """When the session ends."""
    idle_seconds: int
    """The session ends early after so many seconds without a request."""
    ended_at: datetime | None
    """When it was ended; null if it was not."""


class SessionCodeAnswer(Answer):
    """A one-time code, which begins a session of the API key that made it."""

    code: str
    """The code, which no later answer shows. It works once."""
    expires_at: datetime
    """When the code ends."""


class SnsTargetAnswer(Answer):
    """A topic of SNS."""

    type: Literal["sns"]
    """The type of the target."""
    topic_arn: str
    """The ARN of the topic."""
    subject: str | None
    """The subject of e-mails."""
    message_group_id: str | None
    """The message group, as the request gave it."""


class SqsTargetAnswer(Answer):
    """A queue of SQS."""

    type: Literal["sqs"]
    """The type of the target."""
    queue_arn: str
    """The ARN of the queue."""
    message_group_id: str | None
    """The message group, as the request gave it."""


class StatsAnswer(Answer):
    """A tenant's present state."""

    at: datetime
    """When it was read."""
    last_tick_at: datetime | None
    """When the scheduler last ticked, to some five seconds; null: never."""
    oldest_due_at: datetime | None
    """When the oldest of your jobs and runs was due that the scheduler has not processed; null: none."""
    jobs: dict[str, CountAnswer]
    """The number of jobs in each status."""
    dead_letters: CountAnswer
    """The number of dead letters."""
    running: LiveAnswer
    """Runs that have begun, also while they wait for their next attempt."""
    waiting: LiveAnswer
    """Runs that have not begun although their start has come."""
    queues: dict[str, DepthAnswer] | None
    """The queue of each priority; null outside of the operating tenant."""
    failed_authentications: RefusedAnswer | None
    """Requests with invalid keys; null unless the caller's role is `admin`."""


class StepFunctionsTargetAnswer(Answer):
    """A state machine of Step Functions."""

    type: Literal["stepFunctions"]
    """The type of the target."""
    state_machine_arn: str
    """The ARN of the state machine."""
    follow: bool
    """Whether the run ends when the execution does."""


TargetType: TypeAlias = Literal["http", "lambda", "sqs", "sns", "stepFunctions", "ecs", "eventBridge"]


class TenantHealthAnswer(Answer):
    """The health of a tenant."""

    tenant: str
    """The name of the tenant."""
    disabled: bool
    """Whether it is disabled: nothing of it starts."""
    late: int
    """Runs that are more than 5 s past their start and have not started; at most 50."""
    held: int
    """The late runs among these that wait for a limit, a parent, a freeze, an earlier run of their job, or a resource that keeps failing."""
    throttled: int
    """The late runs among these that wait for a quota of the tenant."""
    late_exact: bool
    """Whether all late runs were counted; false: there may be more."""
    dead: int
    """Its dead letters."""
    dead_exact: bool
    """Whether all dead letters were counted; false: an estimate."""
    oldest_due_at: datetime | None
    """When the oldest of its jobs and runs was due that the scheduler has not processed; null: none."""


class TenantHealthPageAnswer(Answer):
    """A page of the health of tenants, by name."""

    items: list[TenantHealthAnswer]
    """The tenants."""
    next_cursor: str | None
    """The `cursor` of the next page; null on the last page."""


class TrialResultAnswer(Answer):
    """The target's answer."""

    status: int | None
    """The status, if the target's protocol has one."""
    headers: dict[str, str]
    """The headers, up to 8 KB."""
    body: str
    """The body, up to 16 KB."""


class TrialSignatureAnswer(Answer):
    """The signature of the call."""

    secret_id: str
    """The name of the secret."""
    keys: int
    """The number of keys that signed: two during a rotation; 0 if the secret was not read."""


class TrialTimingsAnswer(Answer):
    """How long each step took in ms; null for a step that the call did not reach or that cannot be measured."""

    name_ms: int | None
    """Milliseconds to look up and check the host's addresses."""
    connect_ms: int | None
    """Milliseconds to connect."""
    tls_ms: int | None
    """Milliseconds for the TLS handshake; null without TLS."""
    wait_ms: int | None
    """Milliseconds from then until the answer's headers arrived."""
    body_ms: int | None
    """Milliseconds to read the answer's body."""
    total_ms: int | None
    """Milliseconds for the whole call."""


TriggerRule: TypeAlias = Literal["allSucceeded", "allDone", "anySucceeded", "anyFailed"]


class UpcomingAnswer(Answer):
    """A fire to come."""

    job_id: str
    """The id of the job."""
    fire_time: datetime
    """The fire time."""
    starts_at: datetime | None
    """When its run will start: with its jitter, moved by its calendar, or caught up after a freeze; null if it will not run."""
    will_run: bool
    """Whether it will run, as its job, calendar and freezes stand now."""
    needs_event: bool
    """Whether it runs only if an event that its job's pattern matches comes before it."""
    reason: Reason | None
    """Why it will not run; null if it will."""


class UpcomingPageAnswer(Answer):
    """A page of fires to come, the earliest first."""

    items: list[UpcomingAnswer]
    """The fires."""
    next_cursor: str | None
    """The `cursor` of the next page; null on the last page."""


class WaiterAnswer(Answer):
    """A run that waits."""

    run_id: str
    """The id of the run."""
    job_id: str
    """The job of the run."""
    priority: Priority
    """The priority of the run."""
    fire_time: datetime
    """The fire time of the run."""
    waits_for: Literal["slot", "token"]
    """`slot`: a slot of the `concurrencyLimit`; `token`: a rate token of the `rateLimit`."""


class WaitsAnswer(Answer):
    """How long each gate held a run before its first attempt, in seconds; 0 if it did not."""

    parents: float
    """Seconds until its parents let it run."""
    limits: float
    """Seconds until the limits of its job admitted it."""
    quota: float
    """Seconds until the quotas of its tenant admitted it."""
    overlap: float
    """Seconds until an earlier run of its job let it run."""
    circuit: float
    """Seconds while the circuit of its target's resource was open."""
    frozen: float
    """Seconds in a pause or a freeze of its job."""


class WaitsForAnswer(Answer):
    """What a run waits for."""

    kind: Obstacle
    """Its kind; `resource`: the circuit of the resource that it calls is open."""
    ref: str | None
    """The name of the limit, or the id of the run that blocks it or holds its job's overlap lock; null for other kinds."""


class AdminOperationAnswer(Answer):
    """An operation over all tenants."""

    operation_id: str
    """Its id, also in each tenant."""
    action: OperationAction
    """The operation."""
    since: datetime
    """From when on rows, messages or watches may be lost."""
    status: OperationStatus
    """`failed`: it is complete, and `failures` names jobs."""
    tenants: int
    """The number of tenants."""
    progress: ProgressAnswer
    """How many jobs it has processed, of all tenants."""
    failures: list[LeftJobAnswer]
    """The first 100 jobs that could not be recovered."""
    created_at: datetime
    """When it was created."""
    updated_at: datetime
    """When it last changed."""


class AttemptAnswer(Answer):
    """One try of a run."""

    number: int
    """The number of the attempt, from 1."""
    worker_id: str | None
    """The executor that claimed it."""
    outcome: Outcome | None
    """How it ended; null while it is under way."""
    claimed_at: datetime
    """When it was claimed."""
    started_at: datetime | None
    """When the call left."""
    finished_at: datetime | None
    """When it ended."""
    http_status: int | None
    """The HTTP status of the target's answer."""
    duration_ms: int | None
    """From the call to its end, in milliseconds."""
    error: str | None
    """Why it failed."""
    body: str | None
    """The target's answer, at most 16 KB."""


class AttentionAnswer(Answer):
    """A run or a job that needs attention."""

    kind: Concern
    """`late`: more than 5 s past its start and not started; `stuck`: running for five times the p95 of its job, or past its lease; `blocked`: a run that it waits for has failed for good; `failing`: its newest runs failed, as its `notify` counts; `silent`: no run succeeded for three fires of its schedule, and a minute."""
    since: datetime
    """Since when."""
    job_id: str
    """The id of the job."""
    run_id: str | None
    """The id of the run; null: it is about the job as a whole."""
    waits_for: WaitsForAnswer | None
    """The cause of a late or blocked one; null: not known."""


class BackfillAnswer(Identified):
    """A backfill."""

    backfill_id: str
    """The id of the backfill."""
    job_id: str
    """The job whose fires it runs again."""
    status: BackfillStatus
    """The status of the backfill."""
    from_: datetime
    """Its first fire time."""
    to: datetime
    """Its last fire time."""
    total: int
    """The number of its fire times."""
    started: int
    """The number of fire times whose runs were sent."""
    skipped: int
    """The number of fire times that the overlap policy skipped."""
    remaining: int
    """The number of fire times without a run yet."""
    pace_seconds: int
    """The seconds between the starts of two runs."""
    overlap_policy: OverlapPolicy
    """The policy for a fire while the run before it is live."""
    graph: bool
    """Whether each fire time has a whole cycle: also of all jobs that depend on the job."""
    schedule_rules: RulesAnswer
    """The rules by which its fire times were calculated."""
    created_at: datetime
    """When it was created."""
    updated_at: datetime
    """When it last changed."""
    version: int
    """The number of the version, from 1; the `ETag` is this number in quotes."""
    claimed_runs: list[str]
    """The runs that a cancel found under way; only in the answer to the cancel."""


class BackfillPageAnswer(Answer):
    """A page of a job's backfills, newest first."""

    items: list[BackfillAnswer]
    """The backfills."""
    next_cursor: str | None
    """The `cursor` of the next page; null on the last page."""


class CalendarAnswer(Answer):
    """A calendar."""

    name: str
    """The name by which jobs refer to it."""
    timezone: str
    """The IANA time zone of its dates."""
    dates: list[str]
    """The single dates, in order and without duplicates."""
    ranges: list[RangeAnswer]
    """The ranges of dates."""
    created_at: datetime
    """When it was created."""
    updated_at: datetime
    """When it last changed."""
    version: int
    """The number of the version, from 1; the `ETag` is this number in quotes."""


class CalendarDatesAnswer(Answer):
    """The dates of a calendar, in the form of a request."""

    timezone: str
    """The IANA time zone of its dates."""
    dates: list[str]
    """The single dates, in order and without duplicates."""
    ranges: list[RangeAnswer]
    """The ranges of dates."""


class CalendarPageAnswer(Answer):
    """A page of calendars, by name."""

    items: list[CalendarAnswer]
    """The calendars."""
    next_cursor: str | None
    """The `cursor` of the next page; null on the last page."""


class CalendarRevisionAnswer(Answer):
    """A change of a calendar."""

    revision: int
    """The version of the calendar that the change made."""
    at: datetime
    """When the change was made."""
    actor: ActorAnswer | None
    """The caller that made the change; null if it is not known."""
    action: Action
    """The action; `restore` where a delete was taken back, because a job had just begun to name it."""
    before: CalendarDatesAnswer | None
    """The calendar before the change; null if there was none, or if it is no longer kept."""
    after: CalendarDatesAnswer | None
    """The calendar after the change; null after a delete."""


class CalendarRevisionPageAnswer(Answer):
    """A page of the changes of a calendar, the newest first."""

    items: list[CalendarRevisionAnswer]
    """The changes."""
    next_cursor: str | None
    """The `cursor` of the next page; null on the last page."""


class CatchUpAnswer(Answer):
    """The policy for missed fires, and its bounds."""

    policy: CatchUpPolicy
    """Which of the missed fires run."""
    max_runs: int | None
    """The most missed fires that run; null unless the policy is `all`."""
    max_age_seconds: int | None
    """The age in seconds beyond which a missed fire does not run; null: the larger of an hour and half the distance from the fire to the next one."""


class ConcurrencyLimitAnswer(Answer):
    """A limit of runs at once."""

    name: str
    """The name of the limit."""
    limit: int
    """The most runs under way at once, as the job states it."""
    on_full: OnFull
    """The policy for a run that finds no free slot."""


class CostAnswer(Answer):
    """The costs since a time, and their items."""

    since: datetime
    """The start of the window: the beginning of an hour."""
    usd: float
    """The sum of all items in US dollars."""
    exact: bool
    """For a job: whether all of its runs were read; otherwise the newest runs are extrapolated to all. For a tenant: false."""
    items: dict[str, ItemAnswer]
    """`writeUnits`, `readUnits`, `queueRequests`, `functionCalls` and `executorSeconds` of runs; for a tenant also `apiRequests` and `apiSeconds`."""


class CostsAnswer(Answer):
    """The costs of the last day and of the last 30 days."""

    prices: str
    """The source of the prices."""
    day: CostAnswer
    """The costs of the last day."""
    month: CostAnswer
    """The costs of the last 30 days."""


class DeadLetterAnswer(Answer):
    """A run that failed for good, with the result of its last attempt."""

    run_id: str
    """The id of the run."""
    job_id: str
    """The id of its job."""
    console_url: str | None
    """Its page in the console; null if none is deployed."""
    fire_time: datetime
    """The nominal instant."""
    moved_to: datetime | None
    """The start without jitter, if its calendar, its triggers or the wait for its events moved it."""
    last_fire_time: datetime | None
    """The last instant of a range of skipped fires."""
    count: int
    """The number of instants that this row stands for."""
    origin: Origin
    """Why the run exists."""
    backfill_id: str | None
    """The backfill that it belongs to."""
    cycle_id: str | None
    """The cycle of its graph, for `GET /v1/cycles/{jobId}/{cycleId}`; null for a run beside all cycles."""
    item: int | None
    """The number of the item that it runs for, from 1."""
    items: ItemsAnswer | None
    """Set if its target is not called because it stands for the runs of items."""
    status: RunState
    """The state of the run."""
    reason: Reason | None
    """Why it did not execute, did not succeed, or is asked to stop."""
    reason_text: str | None
    """The reason as a sentence."""
    waiting_for_limit: str | None
    """The name of the limit that it waits for; see `GET /v1/limits/{name}`."""
    task_id: str | None
    """The task of its job."""
    task_version: int | None
    """The version of the task that its attempts use; null before a claim."""
    attempt: int
    """The number of the newest attempt; 0 before the first."""
    next_attempt_at: datetime | None
    """While it waits for an attempt: no call leaves before this."""
    created_at: datetime
    """When it was created."""
    started_at: datetime | None
    """When the first attempt's call left."""
    finished_at: datetime | None
    """When it ended."""
    lateness: float | None
    """The seconds from when it could start, after `waits`, to `startedAt`; null if it was caught up."""
    waits: WaitsAnswer
    """How long each gate held it before its first attempt."""
    cancel_requested: bool
    """Whether a running attempt was asked to stop."""
    callback: CallbackAnswer | None
    """Set after its target answered 202, until the target reports."""
    discarded_at: datetime | None
    """When a person removed it from the dead letters."""
    retried_at: datetime | None
    """From when its last manual retry may start."""
    payload_edited_at: datetime | None
    """When a manual retry last changed its payload."""
    waited_for: Literal["dependencies", "schedule"] | None
    """For origin `dependency`: which came last, its parents' ends or its fire time."""
    blocked_by: BlockedAnswer | None
    """The failed run that blocks it."""
    succeeded_because: str | None
    """Why a person marked it as succeeded."""
    collected: int | None
    """How many triggers or submits it has collected, if its job does so."""
    died_at: datetime
    """When it failed for good."""
    error: str | None
    """The first 200 bytes of the last attempt's error."""
    http_status: int | None
    """The HTTP status of the last attempt."""


class DeadLetterPageAnswer(Answer):
    """A page of dead letters, the newest first. A filter may leave a page short or empty although more pages follow."""

    items: list[DeadLetterAnswer]
    """The dead letters."""
    next_cursor: str | None
    """The `cursor` of the next page; null on the last page."""


class DealtAnswer(Answer):
    """The result of a replay or a discard."""

    done: int
    """How many were replayed or discarded."""
    runs: list[DealtRunAnswer]
    """The first 100 of them."""
    refused: list[str]
    """The ids of runs that are not dead letters, or whose job cannot run again."""
    next_cursor: str | None
    """With a filter, the `cursor` of the next request; null at the end."""


class DryRunAnswer(Answer):
    """What a backfill would run."""

    dry_run: Literal[True]
    """True: nothing was stored."""
    job_id: str
    """The job whose fires would run again."""
    from_: datetime
    """The first fire time."""
    to: datetime
    """The last fire time."""
    total: int
    """The number of fire times."""
    instants: list[datetime]
    """The first 1000 fire times."""
    pace_seconds: int
    """The seconds between the starts of two runs."""
    overlap_policy: OverlapPolicy
    """The policy for a fire while the run before it is live."""
    graph: bool
    """Whether each fire time would have a whole cycle."""
    schedule_rules: RulesAnswer
    """The rules by which the fire times were calculated."""


class DstPolicyAnswer(Answer):
    """The effect of a clock change on a cron's fires; a policy that was left out follows from the expression."""

    gap: Gap
    """The policy for fires at local times that clocks skip."""
    overlap: DstOverlap
    """The policy for fires at local times that occur twice."""


class EcsTargetAnswer(Answer):
    """A task that ECS runs."""

    type: Literal["ecs"]
    """The type of the target."""
    cluster_arn: str
    """The ARN of the cluster."""
    task_definition_arn: str
    """The ARN of the task definition."""
    container_name: str
    """The container whose environment describes the run."""
    launch_type: LaunchType
    """The launch type of the task."""
    subnets: list[str]
    """The ids of the task's subnets."""
    security_groups: list[str]
    """The ids of the task's security groups."""
    assign_public_ip: bool
    """Whether the task gets a public address."""
    follow: bool
    """Whether the run ends when the task does."""


class EventItemAnswer(Answer):
    """The result of one event of many: the event, or a problem."""

    index: int
    """The index of the event in the request, from 0."""
    status: int
    """202 for an event on the bus, or the status of the problem."""
    event: EventAnswer | None
    """The event, if it is on the bus."""
    problem: ItemProblem | None
    """The problem, if the event is not on the bus."""


class EventsAnswer(Answer):
    """The results of many events."""

    items: list[EventItemAnswer]
    """A result for each event, in the order of the request."""


class ExecutionAnswer(Answer):
    """An attempt of a run."""

    run_id: str
    """The id of the run."""
    fire_time: datetime
    """The nominal instant of the run."""
    attempt: int
    """The number of the attempt, from 1."""
    worker_id: str | None
    """The executor that claimed it."""
    claimed_at: datetime
    """When it was claimed."""
    started_at: datetime | None
    """When the call left."""
    finished_at: datetime | None
    """When it ended."""
    duration_ms: int | None
    """From the call to its end, in milliseconds."""
    outcome: Outcome | None
    """How it ended; null while it is under way."""
    http_status: int | None
    """The HTTP status of the target's answer."""
    error: str | None
    """Why it failed."""


class ExecutionPageAnswer(Answer):
    """A page of executions. Skipped fires and waiting runs may leave it short or empty although more pages follow."""

    items: list[ExecutionAnswer]
    """The executions."""
    next_cursor: str | None
    """The `cursor` of the next page; null on the last page."""


class FailureAnswer(Answer):
    """A job for which the action was not possible."""

    job_id: str
    """The id of the job."""
    problem: ItemProblem
    """Why it was not possible."""


class FiguresAnswer(Answer):
    """Figures of runs."""

    started: int
    """Runs whose first attempt began, including backfills."""
    succeeded: int
    """Runs that succeeded."""
    retried: int
    """Attempts that another attempt followed."""
    dead: int
    """Runs that failed for good."""
    skipped: int
    """Fires without a run, or whose run never started."""
    missed: int
    """Of these, fires that Timeball missed: they were due while it ran nothing."""
    overdue: int
    """Runs and fires that were due more than 5 seconds ago, wait for nothing, and have not started."""
    failure_rate: float | None
    """`dead` divided by `dead` plus `succeeded`; null if both are 0."""
    on_time: OnTimeAnswer
    """The fraction of runs on time, without backfills; `missed` and `overdue` ones were not."""
    lateness: LatenessAnswer
    """Percentiles of lateness, without backfills."""


class FreezeAnswer(Identified):
    """A freeze: scheduled, in force or over."""

    freeze_id: str
    """The id of the freeze."""
    status: Literal["scheduled", "active", "lifted", "over"]
    """`scheduled` before it begins, `active` after; then `lifted` if a request ended it, which includes the answer to that request, otherwise `over`."""
    from_: datetime
    """When it begins, some seconds after its creation at the earliest."""
    to: datetime | None
    """When it ends; null: when it is lifted."""
    match: MatchAnswer
    """Which jobs it freezes."""
    reason: str | None
    """Why, for people."""
    created_at: datetime
    """When it was created."""


class FreezePageAnswer(Answer):
    """A page of the freezes that are not over, or of those that are, the newest first."""

    items: list[FreezeAnswer]
    """The freezes."""
    next_cursor: str | None
    """The `cursor` of the next page; null on the last page."""


class HealthOfNowAnswer(Answer):
    """Whether the scheduler is alive and on time."""

    last_tick_at: datetime | None
    """When it last ticked, to some five seconds; null: never."""
    oldest_due_at: datetime | None
    """When the oldest of your jobs and runs was due that the scheduler has not processed; null: none."""
    lateness: LatenessOfNowAnswer | None
    """How late runs started in the last hour; null for an API key that is bounded to tags."""


class HeartbeatAnswer(Answer):
    """A run after a heartbeat of its target."""

    run_id: str
    """The id of the run."""
    job_id: str
    """The id of its job."""
    console_url: str | None
    """Its page in the console; null if none is deployed."""
    fire_time: datetime
    """The nominal instant."""
    moved_to: datetime | None
    """The start without jitter, if its calendar, its triggers or the wait for its events moved it."""
    last_fire_time: datetime | None
    """The last instant of a range of skipped fires."""
    count: int
    """The number of instants that this row stands for."""
    origin: Origin
    """Why the run exists."""
    backfill_id: str | None
    """The backfill that it belongs to."""
    cycle_id: str | None
    """The cycle of its graph, for `GET /v1/cycles/{jobId}/{cycleId}`; null for a run beside all cycles."""
    item: int | None
    """The number of the item that it runs for, from 1."""
    items: ItemsAnswer | None
    """Set if its target is not called because it stands for the runs of items."""
    status: RunState
    """The state of the run."""
    reason: Reason | None
    """Why it did not execute, did not succeed, or is asked to stop."""
    reason_text: str | None
    """The reason as a sentence."""
    waiting_for_limit: str | None
    """The name of the limit that it waits for; see `GET /v1/limits/{name}`."""
    task_id: str | None
    """The task of its job."""
    task_version: int | None
    """The version of the task that its attempts use; null before a claim."""
    attempt: int
    """The number of the newest attempt; 0 before the first."""
    next_attempt_at: datetime | None
    """While it waits for an attempt: no call leaves before this."""
    created_at: datetime
    """When it was created."""
    started_at: datetime | None
    """When the first attempt's call left."""
    finished_at: datetime | None
    """When it ended."""
    lateness: float | None
    """The seconds from when it could start, after `waits`, to `startedAt`; null if it was caught up."""
    waits: WaitsAnswer
    """How long each gate held it before its first attempt."""
    cancel_requested: bool
    """Whether a running attempt was asked to stop."""
    callback: CallbackAnswer | None
    """Set after its target answered 202, until the target reports."""
    discarded_at: datetime | None
    """When a person removed it from the dead letters."""
    retried_at: datetime | None
    """From when its last manual retry may start."""
    payload_edited_at: datetime | None
    """When a manual retry last changed its payload."""
    waited_for: Literal["dependencies", "schedule"] | None
    """For origin `dependency`: which came last, its parents' ends or its fire time."""
    blocked_by: BlockedAnswer | None
    """The failed run that blocks it."""
    succeeded_because: str | None
    """Why a person marked it as succeeded."""
    collected: int | None
    """How many triggers or submits it has collected, if its job does so."""
    lease_until: datetime
    """When the lease ends; the target must send a heartbeat or report before."""


class HeldAnswer(Answer):
    """The fires that a freeze would hold."""

    count: int
    """How many of the next fires it would hold."""
    is_exact: bool
    """False: there are more jobs or fires than a preview examines."""
    items: list[UpcomingAnswer]
    """The first of these fires, as they would start without it."""


class HolderAnswer(Answer):
    """A run that has a slot: it is under way, was admitted just now, or waits for something else that it needs."""

    run_id: str
    """The id of the run."""
    job_id: str
    """The job of the run."""
    status: RunState
    """The status of the run."""
    attempt: int
    """The attempt that has the slot."""
    claimed_at: datetime | None
    """When its newest attempt was claimed."""
    lease_until: datetime | None
    """When the slot becomes free, unless the attempt renews its lease."""


class JobCostAnswer(Answer):
    """The costs of a job's fires whose time is within each window."""

    prices: str
    """The source of the prices."""
    day: CostAnswer
    """The costs of the last day."""
    month: CostAnswer
    """The costs of the last 30 days."""
    job_id: str
    """The id of the job."""
    at: datetime
    """When it was read: the end of the windows."""


class KeyAnswer(Identified):
    """An API key without the key itself."""

    key_id: str
    """The id of the key."""
    tenant: str
    """The tenant that it belongs to."""
    name: str | None
    """A name for people."""
    role: Role
    """What the key may do."""
    tags: dict[str, str]
    """The key sees and creates only jobs that have all of these tags."""
    created_at: datetime
    """When it was created."""
    created_by: str | None
    """The id of the key that created it."""
    expires_at: datetime | None
    """When it expires; null: never."""
    revoked_at: datetime | None
    """When it was revoked; null if it was not."""
    version: int
    """The number of the version, from 1; the `ETag` is this number in quotes."""


class KeyPageAnswer(Answer):
    """A page of keys, by id."""

    items: list[KeyAnswer]
    """The keys."""
    next_cursor: str | None
    """The `cursor` of the next page; null on the last page."""


class LastRunAnswer(Answer):
    """The newest run of a job, or its newest skipped fire."""

    run_id: str
    """The id of the run."""
    status: RunState
    """The state of the run."""
    started_at: datetime | None
    """When the first attempt's call left."""
    finished_at: datetime | None
    """When it ended."""
    lateness: float | None
    """How many seconds late it started, as in the run."""


class LimitAnswer(Answer):
    """A limit that jobs share by its name."""

    name: str
    """The name by which jobs share it."""
    limit: int | None
    """The most runs under way at once; null if no `concurrencyLimit` names it."""
    per_second: float | None
    """The most calls that begin in a second; null if no `rateLimit` names it."""
    burst: int | None
    """The most calls that begin at once."""
    fixed: FixedAnswer
    """The bounds that a person has set; they hold whatever jobs state."""
    holders: list[HolderAnswer]
    """The runs that have its slots."""
    waiters: list[WaiterAnswer]
    """The first 100 runs that wait, in order."""
    version: int
    """The number of the version of `fixed`, from 1; the `ETag` is this number in quotes."""


class MeAnswer(Answer):
    """The caller of the request."""

    key_id: str
    """The id of the API key; `iam/` and an AWS principal for a signed request."""
    name: str | None
    """A name for people."""
    role: Role
    """What the request may do."""
    tenant: str
    """The tenant of the key."""
    tags: dict[str, str]
    """The key sees and creates only jobs that have all of these tags."""
    expires_at: datetime | None
    """When the key or the session key of the request ends; null: never."""
    limits: LimitsOfCallerAnswer
    """The limits of the tenant."""
    session: SessionAnswer | None
    """The session of the request; null if it has an API key itself."""
    server_version: str
    """The release of the Timeball that answers, such as 0.1.0."""


class NewKeyAnswer(Identified):
    """A new key."""

    key_id: str
    """The id of the key."""
    tenant: str
    """The tenant that it belongs to."""
    name: str | None
    """A name for people."""
    role: Role
    """What the key may do."""
    tags: dict[str, str]
    """The key sees and creates only jobs that have all of these tags."""
    created_at: datetime
    """When it was created."""
    created_by: str | None
    """The id of the key that created it."""
    expires_at: datetime | None
    """When it expires; null: never."""
    revoked_at: datetime | None
    """When it was revoked; null if it was not."""
    version: int
    """The number of the version, from 1; the `ETag` is this number in quotes."""
    key: str
    """The key itself, which no later answer shows."""


class NewSessionAnswer(Identified):
    """A session with a new session key."""

    session_id: str
    """The id of the session."""
    key_id: str
    """The id of its API key. The session ends with this key at the latest."""
    tenant: str
    """The tenant of the API key."""
    tags: dict[str, str]
    """The session sees and changes only jobs that have all of these tags."""
    role: Role
    """The role of the session key that the request sent, or that this answer gives."""
    key_role: Role
    """The role of the API key, which `allowChangesForSeconds` asks for."""
    expires_at: datetime
    """When that session key ends."""
    session_expires_at: datetime
    """When the session ends."""
    idle_seconds: int
    """The session ends early after so many seconds without a request."""
    ended_at: datetime | None
    """When it was ended; null if it was not."""
    key: str
    """The session key, sent as `Authorization: Bearer tbs_…`; no later answer shows it."""


class NodeAnswer(Answer):
    """A job of a graph."""

    job_id: str
    """The id of the job."""
    name: str | None
    """A name for people."""
    status: JobStatus | Literal["running"]
    """Its status; `running` while a run of it is live."""
    depends_on: list[str]
    """The ids of the jobs that it waits for."""
    trigger_rule: TriggerRule | None
    """Which ends of these jobs let it run."""
    blocked_by: BlockedAnswer | None
    """The failed run that blocks it."""


class NotifyAnswer(Answer):
    """Which targets are called, and when."""

    on_failure: (
        HttpTargetAnswer
        | LambdaTargetAnswer
        | SqsTargetAnswer
        | SnsTargetAnswer
        | StepFunctionsTargetAnswer
        | EcsTargetAnswer
        | EventBridgeTargetAnswer
        | None
    )
    """The target that is called when runs fail for good or the job is blocked."""
    on_recovery: (
        HttpTargetAnswer
        | LambdaTargetAnswer
        | SqsTargetAnswer
        | SnsTargetAnswer
        | StepFunctionsTargetAnswer
        | EcsTargetAnswer
        | EventBridgeTargetAnswer
        | None
    )
    """The target that is called when a run succeeds after such failures."""
    on_late: (
        HttpTargetAnswer
        | LambdaTargetAnswer
        | SqsTargetAnswer
        | SnsTargetAnswer
        | StepFunctionsTargetAnswer
        | EcsTargetAnswer
        | EventBridgeTargetAnswer
        | None
    )
    """The target that is called when a run has not started or not succeeded in time."""
    on_blocked: (
        HttpTargetAnswer
        | LambdaTargetAnswer
        | SqsTargetAnswer
        | SnsTargetAnswer
        | StepFunctionsTargetAnswer
        | EcsTargetAnswer
        | EventBridgeTargetAnswer
        | None
    )
    """The target that is called when parents keep the job from running, run after run."""
    on_success: (
        HttpTargetAnswer
        | LambdaTargetAnswer
        | SqsTargetAnswer
        | SnsTargetAnswer
        | StepFunctionsTargetAnswer
        | EcsTargetAnswer
        | EventBridgeTargetAnswer
        | None
    )
    """The target that is called when a run succeeds."""
    after_failures: int
    """The number of failed runs in a row that counts as a failure."""
    after_blocked: int
    """The number of runs in a row, stopped by parents, after which `onBlocked` is called."""
    late_after_seconds: int | None
    """The seconds after its fire time within which a run must start."""
    deadline_seconds: int | None
    """The seconds after its fire time within which a run must succeed."""


class NowAnswer(Answer):
    """A tenant's present state. `health`, `running`, late and blocked runs, and dead letters are live."""

    as_of: datetime
    """When it was read."""
    digest_at: datetime | None
    """When the parts were read that need all jobs: `next`, and silent, failing and blocked jobs. At most 30 s old below 1,000 jobs. Null: they are being read, 1,000 jobs with each request."""
    health: HealthOfNowAnswer
    """The health of the scheduler."""
    needs_attention: list[AttentionAnswer]
    """What needs attention, longest first; at most 100."""
    running: list[RunningAnswer]
    """Runs that run for more than some seconds or are tried again, among the 50 live runs with the earliest start."""
    next: list[UpcomingAnswer]
    """The fires of the next hour from `digestAt` on: the first 100, and the first 100 of those that will not run."""
    next_count: int | None
    """How many fires the next hour has, from `digestAt`; null without it."""
    next_count_exact: bool
    """Whether all were counted; false: there are more."""
    freezes: list[FreezeAnswer]
    """The freezes that are not over; for an API key that is bounded to tags those of all jobs, or of its tags."""
    dead_letter_groups: list[DeadLetterGroupAnswer]
    """Groups of the newest 30 dead letters; `GET /v1/dead-letters:groups` counts all."""


class PreviewAnswer(Answer):
    """The next fires of a schedule."""

    schedule_text: str
    """The schedule in words; the cron expression where these would be too long."""
    items: list[FireAnswer]
    """The fires."""
    rules: RulesAnswer
    """The rules by which they were calculated."""


class RerunAnswer(Answer):
    """The cycle that runs again."""

    job_id: str
    """The job in the path of the request."""
    cycle_id: str
    """The id of the cycle."""
    fire_time: datetime
    """The fire time of the cycle."""
    mode: RerunMode
    """Which runs of the cycle run again."""


class ResourceAnswer(Answer):
    """The resource that a change was made to."""

    type: ResourceKind
    """The kind of resource."""
    id: str | None
    """The id of the resource; null for dead letters that a filter selected."""


class RunAnswer(Identified):
    """A row of the fire ledger: a run, or a range of skipped fires."""

    run_id: str
    """The id of the run."""
    job_id: str
    """The id of its job."""
    console_url: str | None
    """Its page in the console; null if none is deployed."""
    fire_time: datetime
    """The nominal instant."""
    moved_to: datetime | None
    """The start without jitter, if its calendar, its triggers or the wait for its events moved it."""
    last_fire_time: datetime | None
    """The last instant of a range of skipped fires."""
    count: int
    """The number of instants that this row stands for."""
    origin: Origin
    """Why the run exists."""
    backfill_id: str | None
    """The backfill that it belongs to."""
    cycle_id: str | None
    """The cycle of its graph, for `GET /v1/cycles/{jobId}/{cycleId}`; null for a run beside all cycles."""
    item: int | None
    """The number of the item that it runs for, from 1."""
    items: ItemsAnswer | None
    """Set if its target is not called because it stands for the runs of items."""
    status: RunState
    """The state of the run."""
    reason: Reason | None
    """Why it did not execute, did not succeed, or is asked to stop."""
    reason_text: str | None
    """The reason as a sentence."""
    waiting_for_limit: str | None
    """The name of the limit that it waits for; see `GET /v1/limits/{name}`."""
    task_id: str | None
    """The task of its job."""
    task_version: int | None
    """The version of the task that its attempts use; null before a claim."""
    attempt: int
    """The number of the newest attempt; 0 before the first."""
    next_attempt_at: datetime | None
    """While it waits for an attempt: no call leaves before this."""
    created_at: datetime
    """When it was created."""
    started_at: datetime | None
    """When the first attempt's call left."""
    finished_at: datetime | None
    """When it ended."""
    lateness: float | None
    """The seconds from when it could start, after `waits`, to `startedAt`; null if it was caught up."""
    waits: WaitsAnswer
    """How long each gate held it before its first attempt."""
    cancel_requested: bool
    """Whether a running attempt was asked to stop."""
    callback: CallbackAnswer | None
    """Set after its target answered 202, until the target reports."""
    discarded_at: datetime | None
    """When a person removed it from the dead letters."""
    retried_at: datetime | None
    """From when its last manual retry may start."""
    payload_edited_at: datetime | None
    """When a manual retry last changed its payload."""
    waited_for: Literal["dependencies", "schedule"] | None
    """For origin `dependency`: which came last, its parents' ends or its fire time."""
    blocked_by: BlockedAnswer | None
    """The failed run that blocks it."""
    succeeded_because: str | None
    """Why a person marked it as succeeded."""
    collected: int | None
    """How many triggers or submits it has collected, if its job does so."""


class RunDetailAnswer(Identified):
    """A run with all of its attempts."""

    run_id: str
    """The id of the run."""
    job_id: str
    """The id of its job."""
    console_url: str | None
    """Its page in the console; null if none is deployed."""
    fire_time: datetime
    """The nominal instant."""
    moved_to: datetime | None
    """The start without jitter, if its calendar, its triggers or the wait for its events moved it."""
    last_fire_time: datetime | None
    """The last instant of a range of skipped fires."""
    count: int
    """The number of instants that this row stands for."""
    origin: Origin
    """Why the run exists."""
    backfill_id: str | None
    """The backfill that it belongs to."""
    cycle_id: str | None
    """The cycle of its graph, for `GET /v1/cycles/{jobId}/{cycleId}`; null for a run beside all cycles."""
    item: int | None
    """The number of the item that it runs for, from 1."""
    items: ItemsAnswer | None
    """Set if its target is not called because it stands for the runs of items."""
    status: RunState
    """The state of the run."""
    reason: Reason | None
    """Why it did not execute, did not succeed, or is asked to stop."""
    reason_text: str | None
    """The reason as a sentence."""
    waiting_for_limit: str | None
    """The name of the limit that it waits for; see `GET /v1/limits/{name}`."""
    task_id: str | None
    """The task of its job."""
    task_version: int | None
    """The version of the task that its attempts use; null before a claim."""
    attempt: int
    """The number of the newest attempt; 0 before the first."""
    next_attempt_at: datetime | None
    """While it waits for an attempt: no call leaves before this."""
    created_at: datetime
    """When it was created."""
    started_at: datetime | None
    """When the first attempt's call left."""
    finished_at: datetime | None
    """When it ended."""
    lateness: float | None
    """The seconds from when it could start, after `waits`, to `startedAt`; null if it was caught up."""
    waits: WaitsAnswer
    """How long each gate held it before its first attempt."""
    cancel_requested: bool
    """Whether a running attempt was asked to stop."""
    callback: CallbackAnswer | None
    """Set after its target answered 202, until the target reports."""
    discarded_at: datetime | None
    """When a person removed it from the dead letters."""
    retried_at: datetime | None
    """From when its last manual retry may start."""
    payload_edited_at: datetime | None
    """When a manual retry last changed its payload."""
    waited_for: Literal["dependencies", "schedule"] | None
    """For origin `dependency`: which came last, its parents' ends or its fire time."""
    blocked_by: BlockedAnswer | None
    """The failed run that blocks it."""
    succeeded_because: str | None
    """Why a person marked it as succeeded."""
    collected: int | None
    """How many triggers or submits it has collected, if its job does so."""
    waiting_for: list[str]
    """The ids of the jobs whose runs of its cycle it still waits for."""
    attempts: list[AttemptAnswer]
    """The attempts, the oldest first."""
    result: ResultAnswer | None
    """The result; null unless the run succeeded."""
    max_retries: int | None
    """The job's value at the newest attempt; null if it is no longer kept."""
    retry_policy: RetryPolicyAnswer | None
    """The job's policy at the newest attempt; null if it is no longer kept."""


class RunPageAnswer(Answer):
    """A page of the fire ledger, newest first."""

    items: list[RunAnswer]
    """The rows."""
    next_cursor: str | None
    """The `cursor` of the next page; null on the last page."""


class TaskAnswer(Identified):
    """A task."""

    task_id: str
    """The id of the task."""
    name: str | None
    """A name for people."""
    type: TargetType
    """The type of its target."""
    target: (
        HttpTargetAnswer
        | LambdaTargetAnswer
        | SqsTargetAnswer
        | SnsTargetAnswer
        | StepFunctionsTargetAnswer
        | EcsTargetAnswer
        | EventBridgeTargetAnswer
    )
    """What the runs of its jobs call."""
    priority: Priority
    """The priority of runs."""
    max_retries: int
    """The most retries of a run."""
    retry_policy: RetryPolicyAnswer
    """When a failed attempt is retried."""
    timeout_seconds: int
    """The longest time for one attempt in seconds."""
    completion: Completion
    """Whether the call's answer ends an attempt, or the target's report."""
    heartbeat_seconds: int | None
    """The longest time in seconds between heartbeats after a 202."""
    tags: dict[str, str]
    """The tags of the task."""
    created_at: datetime
    """When it was created."""
    updated_at: datetime
    """When it last changed."""
    version: int
    """The number of the version, from 1; the `ETag` is this number in quotes. A run states which version it uses."""
    payload_schema: dict[str, Any] | None
    """The JSON Schema of its jobs' payloads."""


class TaskSummaryAnswer(Answer):
    """A task without its schema."""

    task_id: str
    """The id of the task."""
    name: str | None
    """A name for people."""
    type: TargetType
    """The type of its target."""
    target: (
        HttpTargetAnswer
        | LambdaTargetAnswer
        | SqsTargetAnswer
        | SnsTargetAnswer
        | StepFunctionsTargetAnswer
        | EcsTargetAnswer
        | EventBridgeTargetAnswer
    )
    """What the runs of its jobs call."""
    priority: Priority
    """The priority of runs."""
    max_retries: int
    """The most retries of a run."""
    retry_policy: RetryPolicyAnswer
    """When a failed attempt is retried."""
    timeout_seconds: int
    """The longest time for one attempt in seconds."""
    completion: Completion
    """Whether the call's answer ends an attempt, or the target's report."""
    heartbeat_seconds: int | None
    """The longest time in seconds between heartbeats after a 202."""
    tags: dict[str, str]
    """The tags of the task."""
    created_at: datetime
    """When it was created."""
    updated_at: datetime
    """When it last changed."""
    version: int
    """The number of the version, from 1; the `ETag` is this number in quotes. A run states which version it uses."""


class TrialAnswer(Answer):
    """One call in full."""

    verdict: Literal["succeeded", "accepted", "failed"]
    """The result of a run with this call."""
    may_retry: bool
    """Whether a run with this result would be retried, by the default `retryOn`."""
    error: str | None
    """Why it failed."""
    request: dict[str, Any] | None
    """The request as it was sent: for a webhook `method`, `url`, `headers` and `body` (up to 16 KB), without the values of your own headers; for a target of AWS `service`, `region`, `operation` and `arguments`. Null if nothing could be sent."""
    response: TrialResultAnswer | None
    """The target's answer; null if there was none."""
    timings: TrialTimingsAnswer
    """How long each step took."""
    signature: TrialSignatureAnswer | None
    """The signature; null if the target names no secret."""


class WindowAnswer(Answer):
    """A time window, and the figures of its runs."""

    since: datetime
    """The start of the window: the beginning of an hour; below an hour, a multiple of five minutes."""
    total: FiguresAnswer
    """The figures of all runs."""
    by_priority: dict[str, FiguresAnswer]
    """The figures of each priority."""


class ChangeAnswer(Answer):
    """A change."""

    resource: ResourceAnswer
    """The resource that was changed."""
    job_id: str | None
    """The job, also for a run or a backfill; null for resources without a job."""
    revision: int | None
    """The version of the job that the change made; null if it made none."""
    at: datetime
    """When the change was requested."""
    actor: ActorAnswer | None
    """The caller that made the change; null if Timeball itself made it."""
    action: Action
    """The action."""
    operation_id: str | None
    """The bulk operation by which the actor made the change, if any."""
    before: dict[str, Any] | None
    """The job before the change in the form of a request; null if there was none, if it is no longer kept, and for other resources. Values of headers are null; a payload or a target's body over 1000 bytes is left out."""
    after: dict[str, Any] | None
    """The job after the change, in the same form."""
    schedule_text: str | None
    """The schedule after the change in words; null without `after`."""


class ChangePageAnswer(Answer):
    """A page of changes, the newest first."""

    items: list[ChangeAnswer]
    """The changes."""
    next_cursor: str | None
    """The `cursor` of the next page; null on the last page."""


class CycleItemAnswer(Answer):
    """A job of a graph, and its run in the cycle."""

    job_id: str
    """The id of the job."""
    name: str | None
    """A name for people."""
    status: RunState | JobStatus
    """The status of its run; `blocked` if a failed run blocks it; `pending` if there is no run yet."""
    depends_on: list[str]
    """The ids of the jobs that it waits for."""
    trigger_rule: TriggerRule | None
    """Which ends of these jobs let it run."""
    waiting_for: list[str]
    """The ids of those that it still waits for."""
    blocked_by: BlockedAnswer | None
    """The failed run that blocks it."""
    is_gate: bool
    """Whether it is a job that runs once, for which recurring jobs wait."""
    run: RunAnswer | None
    """Its run in the cycle; null if there is none yet."""


class DefaultsAnswer(Answer):
    """The defaults of a tenant's jobs."""

    timezone: str | None
    """The IANA time zone of new jobs that name none; null: UTC."""
    priority_ceiling: Priority | None
    """The highest priority of its jobs and new runs; null: any."""
    notify: NotifyAnswer | None
    """The `notify` of new jobs that state none; null: none."""


class GraphAnswer(Answer):
    """A job, the jobs that it depends on and the jobs that depend on it, directly or not."""

    job: NodeAnswer
    """The job in the request's path."""
    ancestors: list[NodeAnswer]
    """The jobs that it depends on, the nearest first."""
    descendants: list[NodeAnswer]
    """The jobs that depend on it, the nearest first."""
    is_cut: bool
    """Whether the graph has more jobs than this page and those before it show."""
    next_cursor: str | None
    """Where the next page begins, as `cursor`; null: this is the last page."""


class JobAnswer(Identified):
    """A job."""

    job_id: str
    """The id of the job."""
    name: str | None
    """A name for people."""
    status: JobStatus | Literal["running"]
    """Its status. A job that runs once is `running` while its run is under way."""
    next_run_at: datetime | None
    """The first of `nextRuns`; null if there is none."""
    last_run: LastRunAnswer | None
    """Its newest run that has begun or ended, or its newest skipped fire; only where jobs are read."""
    running: list[str]
    """The ids of its runs under way, the earliest first; only where jobs are read."""
    recent: str | None
    """The outcomes of its newest runs, by fire time, the newest last: `s` succeeded, `f` failed, `k` skipped, `c` cancelled, `b` blocked; only where jobs are read."""
    owner: str | None
    """The owner as stated, or the name of the API key that created the job."""
    priority: Priority
    """The priority of its runs, unless the tenant's ceiling is lower."""
    effective_priority: Priority
    """The priority of its new runs: within the tenant's ceiling."""
    schedule_type: Literal["once", "cron", "interval", "event"]
    """The form of the schedule."""
    schedule_text: str
    """The schedule in words; the cron expression where these would be too long."""
    tags: dict[str, str]
    """The tags of the job."""
    console_url: str | None
    """Its page in the console; null if none is deployed."""
    concurrency_limit: ConcurrencyLimitAnswer | None
    """The limit of runs at once."""
    rate_limit: RateLimitAnswer | None
    """The limit of calls a second."""
    unique_key: str | None
    """The unique key under which it was submitted."""
    unique_seconds: int | None
    """How many seconds it holds the unique key from the first submit; null: until it has ended."""
    debounce_seconds: int | None
    """How many seconds without another trigger or submit its run waits for."""
    debounce_max_seconds: int | None
    """The most seconds from the first trigger or submit to the start."""
    supersede: bool
    """Whether a newer run replaces one that has not started."""
    next_runs: list[datetime]
    """The next five fire times, or starts where the calendar moves a fire."""
    schedule_at: datetime | None
    """The fire time of a job that runs once."""
    cron_expression: str | None
    """The cron expression of a job with a cron."""
    timezone: str | None
    """The IANA time zone of the cron."""
    dst_policy: DstPolicyAnswer | None
    """The effect of a clock change on the cron's fires."""
    every_seconds: int | None
    """The interval in seconds of a job with an interval."""
    anchor_at: datetime | None
    """An instant from which the interval counts, back and forth."""
    start_at: datetime | None
    """The job does not fire before this time."""
    end_at: datetime | None
    """The job does not fire after this time."""
    max_runs: int | None
    """The number of runs after which the job is completed."""
    event: dict[str, Any] | None
    """The pattern of the events on which the job runs."""
    depends_on: list[str | dict[str, str]]
    """The jobs that it waits for: ids or objects."""
    trigger_rule: TriggerRule | None
    """Which ends of these jobs let it run."""
    dependency_timeout_seconds: int | None
    """The longest wait for these jobs in seconds."""
    pass_parents: bool | None
    """Whether its calls receive the results of these jobs."""
    for_each: str | None
    """The job whose items each get a run of this one."""
    blocked_by: BlockedAnswer | None
    """The failed run that blocks the job."""
    max_retries: int
    """The most retries of a run."""
    retry_policy: RetryPolicyAnswer
    """When a failed attempt is retried."""
    retry_timetable: list[int | float]
    """The longest wait before each retry in seconds."""
    timeout_seconds: int
    """The longest time for one attempt in seconds."""
    completion: Completion
    """Whether the call's answer ends an attempt, or the target's report."""
    heartbeat_seconds: int | None
    """The longest time in seconds between heartbeats after a 202."""
    task_id: str | None
    """The task that supplies the target and the policies as they are now."""
    overrides: list[Override]
    """The policies that the job states itself instead of its task."""
    delivery: Guarantee
    """`at_most_once`: no second call after a call that may have left."""
    catch_up: CatchUpAnswer | None
    """The policy for missed fires; null unless the job recurs."""
    overlap_policy: OverlapPolicy
    """The policy for a fire while an earlier run is live."""
    calendar: CalendarUseAnswer | None
    """The calendar on whose dates the job does not fire."""
    jitter_seconds: int | None
    """The most seconds by which a fire starts later."""
    notify: NotifyAnswer | None
    """The targets to call when runs fail, recover, succeed or are late."""
    notify_source: Literal["job", "tenant"] | None
    """Whose `notify` it is: the job's own, or the tenant's default as the job took it; null: none."""
    pause_after_failures: int | None
    """The number of failed runs in a row that pauses the job."""
    notice: NoticeAnswer | None
    """The content of this notice; null if the job is not a notice."""
    schedule_rules: RulesAnswer
    """The rules by which the next fire time was calculated."""
    paused_at: datetime | None
    """When the job was paused; null unless it is paused."""
    paused_reason: Literal["failures", "parent_removed"] | None
    """`failures` if failed runs paused it, `parent_removed` if a cancel took its parents; else null."""
    created_at: datetime
    """When it was created."""
    created_by: str | None
    """The id of the API key that created it."""
    updated_at: datetime
    """When it last changed."""
    generation: int
    """Counts the lives of the job: a PUT of an ended job begins the next one."""
    version: int
    """The number of the version, from 1; the `ETag` is this number in quotes."""
    target: (
        HttpTargetAnswer
        | LambdaTargetAnswer
        | SqsTargetAnswer
        | SnsTargetAnswer
        | StepFunctionsTargetAnswer
        | EcsTargetAnswer
        | EventBridgeTargetAnswer
        | None
    )
    """The target of its runs; of a job with a task, the task's target."""
    payload: Any
    """The body of its runs' calls; any JSON."""
    latest_run: RunAnswer | None
    """The newest row of the ledger, where a job is read; the skipped row, where a fire is skipped."""
    waiting_for: list[str]
    """The jobs that a one-off waits for; only where a job is read."""
    claimed_runs: list[str]
    """The runs under way at a change; only in the answer to it."""


class ListedJobAnswer(Identified):
    """A job in a list: all of its fields but its target and its payload, or the first ones with `fields=summary`."""

    job_id: str
    """The id of the job."""
    name: str | None
    """A name for people."""
    status: JobStatus | Literal["running"]
    """Its status. A job that runs once is `running` while its run is under way."""
    next_run_at: datetime | None
    """The first of `nextRuns`; null if there is none."""
    last_run: LastRunAnswer | None
    """Its newest run that has begun or ended, or its newest skipped fire; only where jobs are read."""
    running: list[str]
    """The ids of its runs under way, the earliest first; only where jobs are read."""
    recent: str
    """The outcomes of its newest runs, by fire time, the newest last: `s` succeeded, `f` failed, `k` skipped, `c` cancelled, `b` blocked; only where jobs are read."""
    owner: str | None
    """The owner as stated, or the name of the API key that created the job."""
    priority: Priority
    """The priority of its runs, unless the tenant's ceiling is lower."""
    effective_priority: Priority
    """The priority of its new runs: within the tenant's ceiling."""
    schedule_type: Literal["once", "cron", "interval", "event"]
    """The form of the schedule."""
    schedule_text: str
    """The schedule in words; the cron expression where these would be too long."""
    tags: dict[str, str]
    """The tags of the job."""
    console_url: str | None
    """Its page in the console; null if none is deployed."""
    concurrency_limit: ConcurrencyLimitAnswer | None
    """The limit of runs at once."""
    rate_limit: RateLimitAnswer | None
    """The limit of calls a second."""
    unique_key: str | None
    """The unique key under which it was submitted."""
    unique_seconds: int | None
    """How many seconds it holds the unique key from the first submit; null: until it has ended."""
    debounce_seconds: int | None
    """How many seconds without another trigger or submit its run waits for."""
    debounce_max_seconds: int | None
    """The most seconds from the first trigger or submit to the start."""
    supersede: bool | None
    """Whether a newer run replaces one that has not started."""
    next_runs: list[datetime]
    """The next five fire times, or starts where the calendar moves a fire."""
    schedule_at: datetime | None
    """The fire time of a job that runs once."""
    cron_expression: str | None
    """The cron expression of a job with a cron."""
    timezone: str | None
    """The IANA time zone of the cron."""
    dst_policy: DstPolicyAnswer | None
    """The effect of a clock change on the cron's fires."""
    every_seconds: int | None
    """The interval in seconds of a job with an interval."""
    anchor_at: datetime | None
    """An instant from which the interval counts, back and forth."""
    start_at: datetime | None
    """The job does not fire before this time."""
    end_at: datetime | None
    """The job does not fire after this time."""
    max_runs: int | None
    """The number of runs after which the job is completed."""
    event: dict[str, Any] | None
    """The pattern of the events on which the job runs."""
    depends_on: list[str | dict[str, str]]
    """The jobs that it waits for: ids or objects."""
    trigger_rule: TriggerRule | None
    """Which ends of these jobs let it run."""
    dependency_timeout_seconds: int | None
    """The longest wait for these jobs in seconds."""
    pass_parents: bool | None
    """Whether its calls receive the results of these jobs."""
    for_each: str | None
    """The job whose items each get a run of this one."""
    blocked_by: BlockedAnswer | None
    """The failed run that blocks the job."""
    max_retries: int | None
    """The most retries of a run."""
    retry_policy: RetryPolicyAnswer | None
    """When a failed attempt is retried."""
    retry_timetable: list[int | float]
    """The longest wait before each retry in seconds."""
    timeout_seconds: int | None
    """The longest time for one attempt in seconds."""
    completion: Completion | None
    """Whether the call's answer ends an attempt, or the target's report."""
    heartbeat_seconds: int | None
    """The longest time in seconds between heartbeats after a 202."""
    task_id: str | None
    """The task that supplies the target and the policies as they are now."""
    overrides: list[Override]
    """The policies that the job states itself instead of its task."""
    delivery: Guarantee | None
    """`at_most_once`: no second call after a call that may have left."""
    catch_up: CatchUpAnswer | None
    """The policy for missed fires; null unless the job recurs."""
    overlap_policy: OverlapPolicy | None
    """The policy for a fire while an earlier run is live."""
    calendar: CalendarUseAnswer | None
    """The calendar on whose dates the job does not fire."""
    jitter_seconds: int | None
    """The most seconds by which a fire starts later."""
    notify: NotifyAnswer | None
    """The targets to call when runs fail, recover, succeed or are late."""
    notify_source: Literal["job", "tenant"] | None
    """Whose `notify` it is: the job's own, or the tenant's default as the job took it; null: none."""
    pause_after_failures: int | None
    """The number of failed runs in a row that pauses the job."""
    notice: NoticeAnswer | None
    """The content of this notice; null if the job is not a notice."""
    schedule_rules: RulesAnswer | None
    """The rules by which the next fire time was calculated."""
    paused_at: datetime | None
    """When the job was paused; null unless it is paused."""
    paused_reason: Literal["failures", "parent_removed"] | None
    """`failures` if failed runs paused it, `parent_removed` if a cancel took its parents; else null."""
    created_at: datetime | None
    """When it was created."""
    created_by: str | None
    """The id of the API key that created it."""
    updated_at: datetime | None
    """When it last changed."""
    generation: int | None
    """Counts the lives of the job: a PUT of an ended job begins the next one."""
    version: int | None
    """The number of the version, from 1; the `ETag` is this number in quotes."""


class OperationAnswer(Identified):
    """An operation."""

    operation_id: str
    """The id of the operation."""
    action: OperationAction
    """The action on each job."""
    match: OperationMatchAnswer | None
    """Which jobs; null if it runs a cycle again."""
    rerun: RerunAnswer | None
    """The cycle, if it runs a cycle again."""
    children: Children | None
    """The effect of a cancel on the children of its jobs; null: a job with children stays."""
    per_second: int
    """The most jobs in a second."""
    status: OperationStatus
    """`failed`: it is complete, and `failures` names jobs."""
    progress: ProgressAnswer
    """How many jobs it has processed."""
    created_at: datetime
    """When it was created."""
    created_by: str | None
    """The id of the API key that created it."""
    updated_at: datetime
    """When it last changed."""
    version: int
    """The number of the version, from 1; the `ETag` is this number in quotes."""
    failures: list[FailureAnswer]
    """The first 100 jobs for which the action was not possible."""


class OperationSummaryAnswer(Answer):
    """An operation without its failures."""

    operation_id: str
    """The id of the operation."""
    action: OperationAction
    """The action on each job."""
    match: OperationMatchAnswer | None
    """Which jobs; null if it runs a cycle again."""
    rerun: RerunAnswer | None
    """The cycle, if it runs a cycle again."""
    children: Children | None
    """The effect of a cancel on the children of its jobs; null: a job with children stays."""
    per_second: int
    """The most jobs in a second."""
    status: OperationStatus
    """`failed`: it is complete, and `failures` names jobs."""
    progress: ProgressAnswer
    """How many jobs it has processed."""
    created_at: datetime
    """When it was created."""
    created_by: str | None
    """The id of the API key that created it."""
    updated_at: datetime
    """When it last changed."""
    version: int
    """The number of the version, from 1; the `ETag` is this number in quotes."""


class SloAnswer(Answer):
    """How punctual a tenant's runs were, in windows that end now."""

    at: datetime
    """When it was read: the end of the windows."""
    overdue_exact: bool
    """Whether all overdue starts were counted; false: there are more."""
    windows: dict[str, WindowAnswer]
    """The windows `fiveMinutes`, `halfHour`, `hour`, `sixHours`, `day`, `threeDays` and `month` (30 days)."""


class TaskPageAnswer(Answer):
    """A page of tasks without their schemas, the newest first."""

    items: list[TaskSummaryAnswer]
    """The tasks."""
    next_cursor: str | None
    """The `cursor` of the next page; null on the last page."""


class TenantAnswer(Answer):
    """A tenant."""

    name: str
    """The name of the tenant."""
    weight: int
    """Its share of dispatches relative to other tenants, where tenants contend."""
    quotas: QuotasAnswer
    """The quotas of the tenant."""
    defaults: DefaultsAnswer
    """The defaults of its jobs."""
    disabled: bool
    """Whether it is disabled: nothing of it starts."""
    disabled_at: datetime | None
    """When it was disabled; null unless it is disabled."""
    created_at: datetime
    """When it was created."""
    version: int
    """The number of the version, from 1; the `ETag` is this number in quotes."""


class TenantDetailAnswer(Answer):
    """A tenant with its share of dispatches and its costs."""

    name: str
    """The name of the tenant."""
    weight: int
    """Its share of dispatches relative to other tenants, where tenants contend."""
    quotas: QuotasAnswer
    """The quotas of the tenant."""
    defaults: DefaultsAnswer
    """The defaults of its jobs."""
    disabled: bool
    """Whether it is disabled: nothing of it starts."""
    disabled_at: datetime | None
    """When it was disabled; null unless it is disabled."""
    created_at: datetime
    """When it was created."""
    version: int
    """The number of the version, from 1; the `ETag` is this number in quotes."""
    share: float | None
    """The least fraction of dispatches that it gets while all enabled tenants contend; null if it is disabled."""
    cost: CostsAnswer
    """What its runs and requests have cost."""


class TenantPageAnswer(Answer):
    """A page of tenants, by name."""

    items: list[TenantAnswer]
    """The tenants."""
    next_cursor: str | None
    """The `cursor` of the next page; null on the last page."""


class BatchItemAnswer(Answer):
    """The result of one item: a job, or a problem.

    Under an Idempotency-Key an item that is the same at its index gets the same answer as before, and one that is not
    gets a 422. An item with a `jobId` is put again."""

    index: int
    """The index of the item in the request, from 0."""
    status: int
    """201 for a new job or generation, 200 for the job that holds the unique key or stood under the `jobId`, or the status of the problem."""
    job: JobAnswer | None
    """The job, if there is no problem."""
    problem: ItemProblem | None
    """The problem, if the item was refused."""


class CycleAnswer(Answer):
    """The jobs of a graph in one cycle, parents first."""

    job_id: str
    """The job in the request's path."""
    cycle_id: str
    """The id of the cycle: its fire time, if the schedule began it."""
    console_url: str | None
    """Its page in the console; null if none is deployed."""
    fire_time: datetime
    """The fire time of the cycle."""
    is_over: bool
    """Whether none of its runs waits, is live or is still to come; a retry of a failed run can reopen it."""
    items: list[CycleItemAnswer]
    """The jobs and their runs."""
    is_cut: bool
    """Whether the graph has more jobs than this page and those before it show."""
    next_cursor: str | None
    """Where the next page begins, as `cursor`; null: this is the last page."""


class JobPageAnswer(Answer):
    """A page of jobs, the newest first or sorted. A filter may leave a page short or empty although more follow."""

    items: list[ListedJobAnswer]
    """The jobs."""
    next_cursor: str | None
    """The `cursor` of the next page; null on the last page."""
    digest_at: datetime | None
    """When the jobs were read that this page was chosen and sorted by. Null: they are being read, 1,000 with each request, so ask again with `nextCursor`. Left out: they were read for this page."""


class OperationPageAnswer(Answer):
    """A page of operations without their failures, the newest first."""

    items: list[OperationSummaryAnswer]
    """The operations."""
    next_cursor: str | None
    """The `cursor` of the next page; null on the last page."""


class BatchAnswer(Answer):
    """The results of a batch."""

    items: list[BatchItemAnswer]
    """A result for each item, in the order of the request."""
