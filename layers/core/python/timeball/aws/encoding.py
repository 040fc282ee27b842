"""Nested values as JSON text and back, so that every attribute of a row is text, a number or a flag."""

import hashlib
import json
from dataclasses import asdict
from typing import Any

from timeball.domain.attempt import Attempt, Outcome
from timeball.domain.catch_up import CatchUp, CatchUpPolicy
from timeball.domain.job import HttpTarget, Intent, Looked, RuleSet, Verb, Work
from timeball.domain.retry import Jitter, RetryPolicy
from timeball.domain.run import Callback
from timeball.domain.schedule import At, Cron, Every, Schedule, Timing
from timeball.domain.stepper import Gap, Overlap

_TIMINGS: dict[str, type[Timing]] = {"at": At, "every": Every, "cron": Cron}


def encode(value: object) -> str:
    """Return a nested value as compact JSON."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def attempt_text(attempt: Attempt) -> str:
    """Return an attempt as text, without what is not known of it."""
    return encode({name: value for name, value in asdict(attempt).items() if value is not None})


def to_attempt(text: str) -> Attempt:
    """Return the attempt that a text holds."""
    found = json.loads(text)
    return Attempt(**{**found, "outcome": Outcome(found["outcome"])})


def callback_text(callback: Callback) -> str:
    """Return what a run waits for as text."""
    return encode([callback.called_at, callback.until, callback.heartbeat_ms])


def to_callback(text: str) -> Callback:
    """Return what a run waits for from its text."""
    return Callback(*json.loads(text))


def work_text(work: Work) -> str:
    """Return work as text."""
    return encode(asdict(work))


def to_work(text: str) -> Work:
    """Return the work that a text holds."""
    found = json.loads(text)
    return Work(HttpTarget(**found["target"]), found["payload"])


def work_digest(text: str) -> str:
    """Return the name of a work text that stands in a row of its own."""
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def schedule_text(schedule: Schedule) -> str:
    """Return a schedule as text."""
    return encode(_schedule_parts(schedule))


def _schedule_parts(schedule: Schedule) -> dict[str, Any]:
    kind = next(name for name, timing in _TIMINGS.items() if isinstance(schedule.timing, timing))
    found = {name: value for name, value in asdict(schedule).items() if value is not None}
    timing = {name: value for name, value in asdict(schedule.timing).items() if value is not None}
    return {**found, "timing": {"kind": kind, **timing}}


def to_schedule(found: dict[str, Any]) -> Schedule:
    """Return the schedule that these parts make."""
    timing = dict(found.pop("timing"))
    for name, policy in (("gap", Gap), ("overlap", Overlap)):
        if name in timing:
            timing[name] = policy(timing[name])
    return Schedule(_TIMINGS[timing.pop("kind")](**timing), **found)


def intent_text(intent: Intent) -> str:
    """Return an intent as text; the schedule of before only if it has changed, a place only if one is kept."""
    parts: dict[str, Any] = {"verb": intent.verb, "asked_at": intent.asked_at, "next_fire_at": intent.next_fire_at}
    if intent.schedule:
        parts["schedule"] = _schedule_parts(intent.schedule)
    if intent.looked:
        parts["looked"] = [intent.looked.from_at, intent.looked.earliest]
    if intent.stopped_through:
        parts["stopped_through"] = intent.stopped_through
    return encode(parts)


def to_intent(found: dict[str, Any]) -> Intent:
    """Return the intent that these parts make."""
    schedule = to_schedule(found["schedule"]) if "schedule" in found else None
    looked = Looked(*found["looked"]) if "looked" in found else None
    stopped_through = found.get("stopped_through", "")
    return Intent(Verb(found["verb"]), found["asked_at"], found["next_fire_at"], schedule, looked, stopped_through)


def to_catch_up(found: dict[str, Any]) -> CatchUp:
    """Return the catch-up policy that these parts make."""
    return CatchUp(**{**found, "policy": CatchUpPolicy(found["policy"])})


def rules_text(rules: RuleSet) -> str:
    """Return rules as text."""
    return f"{rules.version} {rules.tzdata}"


def to_rules(row: dict[str, Any]) -> RuleSet:
    """Return the rules that a row names."""
    version, _, tzdata = row["rules"].partition(" ")
    return RuleSet(int(version), tzdata)


def to_retry(found: dict[str, Any]) -> RetryPolicy:
    """Return the retry policy that these parts make."""
    return RetryPolicy(**{**found, "jitter": Jitter(found["jitter"]), "retry_on": tuple(found["retry_on"])})
