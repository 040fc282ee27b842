"""Reads CronJobs of Kubernetes, in JSON or YAML, and lists of them, as `kubectl get cronjobs -o json` prints.

Timeball starts no Job in a cluster: the payload has the image, the command and its arguments, and a worker runs them.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from timeball.domain.time.instants import SECOND_MS, InvalidSchedule, format_instant, parse_instant
from timeball.domain.time.stepper import DstOverlap, Gap
from timeball.domain.time.zones import load_zone
from timeball.importing.definitions import (
    Found,
    ImportedJob,
    ImportOptions,
    OriginRule,
    RefusedDefinition,
    Timetable,
    UnreadableError,
    id_of_name,
    name_of,
    with_unique_ids,
)
from timeball.importing.documents import read_documents
from timeball.importing.origins.robfig import every_seconds, five_fields, read_robfig, zone_and_rest
from timeball.importing.origins.robfig_walk import robfig_fires
from timeball.importing.origins.walls import elapsed
from timeball.importing.rewriting import cron_fields, expression_of

_NAME: Final = "Kubernetes"
_OVERLAPS: Final = {"Allow": "allow", "Forbid": "skip", "Replace": "cancelOther"}
_KNOWN: Final = frozenset(
    {
        "schedule", "timeZone", "concurrencyPolicy", "startingDeadlineSeconds", "suspend", "jobTemplate",
        "successfulJobsHistoryLimit", "failedJobsHistoryLimit",
    }
)  # fmt: skip
_DEFAULT_BACKOFF_LIMIT: Final = 6
_IN_PAYLOAD: Final = ("image", "command", "args")
_BACKOFF: Final = {"baseSeconds": 10, "factor": 2, "maxSeconds": 360}
_LONGEST_CALL_SECONDS: Final = 840
_LONGEST_CALLBACK_SECONDS: Final = 604_800

_Definition = Mapping[str, Any]


def read_kubernetes(text: str, given: ImportOptions) -> list[Found]:
    """Return the definitions of a text in JSON or YAML. Raises UnreadableError if it has no objects at all."""
    found = [one for document in read_documents(text) for one in _object(document, given)]
    if not found:
        raise UnreadableError("There is no CronJob here.")
    return with_unique_ids(found)


def _object(document: Any, given: ImportOptions) -> Iterator[Found]:  # noqa: ANN401 - whatever a text has
    match document:
        case list() | {"kind": "List" | "CronJobList", "items": list()}:
            for one in document if isinstance(document, list) else document["items"]:
                yield from _object(one, given)
        case {"kind": "CronJob"}:
            yield _cron_job(document, given)
        case {"kind": str(kind)}:
            yield RefusedDefinition(_label(document), kind, f"A {kind} is no CronJob.")
        case _:
            raise UnreadableError("This is no object of Kubernetes: it has no kind.")


def _label(document: _Definition) -> str:
    about = document.get("metadata") or {}
    parts = (about.get("namespace"), about.get("name", "without a name"))
    return "/".join(str(part) for part in parts if part)


def _cron_job(document: _Definition, given: ImportOptions) -> Found:
    where = _label(document)
    spec = document.get("spec") or {}
    written = str(spec.get("schedule", ""))
    try:
        return _job(where, written, document, spec, given)
    except (UnreadableError, InvalidSchedule) as bad:
        return RefusedDefinition(where, written, str(bad))


def _job(where: str, written: str, document: _Definition, spec: _Definition, given: ImportOptions) -> ImportedJob:
    table = timetable(spec, document.get("metadata") or {}, given)
    job = _spec_of(spec.get("jobTemplate"))
    payload, notes = _payload(where, job)
    retries = int(job.get("backoffLimit", _DEFAULT_BACKOFF_LIMIT))
    body: dict[str, Any] = {
        "name": name_of(where),
        **given.calls,
        "payload": payload,
        **table.fields,
        "maxRetries": min(retries, 100),
        "retryPolicy": dict(_BACKOFF),
        "overlapPolicy": _overlap(spec),
        "tags": {"imported-from": "k8s"},
    }
    deadline = spec.get("startingDeadlineSeconds")
    if deadline is not None:
        body["catchUp"] = {"policy": "latest", "maxAgeSeconds": max(1, int(deadline))}
    elif spec.get("concurrencyPolicy") == "Forbid":
        notes += ("Kubernetes starts a fire that it skipped when the longer Job ends; here only queueOne would.",)
    limit = job.get("activeDeadlineSeconds")
    if limit is not None:
        longest = _LONGEST_CALLBACK_SECONDS if given.calls.get("completion") == "callback" else _LONGEST_CALL_SECONDS
        body["timeoutSeconds"] = min(int(limit), longest)
        if int(limit) > longest:
            notes += (f"activeDeadlineSeconds is cut to {longest}.",)
    notes += tuple(f"{other} is not taken over." for other in sorted(spec.keys() - _KNOWN))
    paused = bool(spec.get("suspend"))
    return ImportedJob(
        where, written, id_of_name(where.replace("/", "-")), body, table.origin, (*table.notes, *notes), paused
    )


def timetable(spec: _Definition, about: _Definition, given: ImportOptions) -> Timetable:
    """Return the schedule of a CronJob. Raises UnreadableError, or InvalidSchedule for an unknown zone."""
    prefix, schedule = zone_and_rest(str(spec.get("schedule", "")))
    zone = load_zone(spec.get("timeZone") or prefix or given.timezone or "UTC").name
    notes: tuple[str, ...] = ()
    if not (spec.get("timeZone") or prefix or given.timezone):
        notes = ("Without a timeZone the clock of the controller counts, here UTC; --timezone gives another one.",)
    if (seconds := every_seconds(schedule)) is not None:
        return _every(schedule, seconds, about, given)
    texts = five_fields(schedule)
    wall, dates, weekdays = read_robfig(texts)
    expression = expression_of(wall, texts, dates, weekdays)
    if expression.split() != list(texts):
        notes += (f'"{schedule}" is written as "{expression}", which Timeball reads in the same way.',)
    fields = cron_fields(expression, zone, lambda _fields: Gap.SKIP, lambda _fields: DstOverlap.BOTH)
    origin = OriginRule(
        _NAME, (schedule, zone), lambda from_at, through_at: robfig_fires(wall, zone, from_at, through_at)
    )
    return Timetable(fields, origin, notes)


def _every(schedule: str, seconds: int, about: _Definition, given: ImportOptions) -> Timetable:
    created = about.get("creationTimestamp")
    fields: dict[str, Any] = {"everySeconds": seconds}
    notes: tuple[str, ...] = ()
    if isinstance(created, str):
        anchor_at = parse_instant(created)
        fields["anchorAt"] = format_instant(anchor_at)
    else:
        anchor_at = -(-given.now // SECOND_MS) * SECOND_MS
        notes = ("@every counts from the creation of the job, because the manifest does not say since when.",)
    return Timetable(fields, OriginRule(_NAME, (schedule, anchor_at), elapsed(seconds, anchor_at)), notes)


def _overlap(spec: _Definition) -> str:
    policy = spec.get("concurrencyPolicy") or "Allow"
    if policy not in _OVERLAPS:
        raise UnreadableError(f'Kubernetes has no concurrencyPolicy "{policy}"; it has {", ".join(_OVERLAPS)}.')
    return _OVERLAPS[policy]


def _spec_of(template: _Definition | None) -> _Definition:
    spec: _Definition = (template or {}).get("spec") or {}
    return spec


def _payload(where: str, job: _Definition) -> tuple[dict[str, Any], tuple[str, ...]]:
    pod = _spec_of(job.get("template"))
    containers: Sequence[_Definition] = pod.get("containers", [])
    payload: dict[str, Any] = {"cronJob": where}
    notes = ["Timeball starts no Job: a worker in the cluster has to run what the payload names."]
    for first in containers[:1]:
        payload |= {name: first[name] for name in _IN_PAYLOAD if name in first}
        if left := sorted(first.keys() - {"name", "imagePullPolicy", *_IN_PAYLOAD}):
            notes.append(f"The container's {', '.join(left)} stay with the worker.")
    if len(containers) > 1 or pod.get("initContainers"):
        notes.append("Only the first container stands in the payload.")
    counts = [f"{name} of {job[name]}" for name in ("parallelism", "completions") if job.get(name, 1) != 1]
    if counts:
        notes.append(f"A run is one call: {' and '.join(counts)} stay with the worker.")
    return payload, tuple(notes)
