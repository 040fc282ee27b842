"""What the doctor finds: pure judgements of answers of the API, each with the way to mend what is wrong."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Final

from timeball import __version__
from timeball.client.calls import Reply
from timeball.client.errors import ApiError

_SKEW_SECONDS: Final = 5
"""A clock that is farther off makes times of this machine misleading; at five minutes signatures are refused."""
_TICK_SECONDS: Final = 15
"""The age of the newest tick at which /healthz calls a Timeball unhealthy."""
_DUE_SECONDS: Final = 60
_WAITING_SECONDS: Final = 300
_NEARLY_USED: Final = 0.9
_SOON_MS: Final = 7 * 86_400_000


class Judgement(StrEnum):
    """How a check ended."""

    OK = "ok"
    WARNING = "warning"
    WRONG = "wrong"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Diagnosis:
    """What one check found."""

    check: str
    state: Judgement
    found: str
    mend: str | None = None


def about_reach(url: str, health: Reply | ApiError) -> Iterator[Diagnosis]:
    """Judge whether the API answers, and what it says of itself."""
    if isinstance(health, Reply):
        yield Diagnosis("reach", Judgement.OK, f"{url} answers and is healthy.")
    elif health.status == 0:
        mend = "Compare the URL with the output ApiUrl of the stack; look at this machine's network and proxy."
        yield Diagnosis("reach", Judgement.WRONG, health.detail, mend)
    elif health.type == "unhealthy":
        mend = "No job starts: see docs/runbooks/tick-silent.md; DynamoDB's health, if the store does not answer."
        yield Diagnosis("reach", Judgement.WRONG, health.detail, mend)
    else:
        mend = "Is this the URL of a Timeball? Compare it with the output ApiUrl of the stack."
        yield Diagnosis(
            "reach", Judgement.WRONG, f"/healthz answers with status {health.status}: {health.detail}", mend
        )


def about_key(me: Mapping[str, Any] | ApiError, now: int) -> Iterator[Diagnosis]:
    """Judge whether the key is accepted, what it may do, and how long it lasts."""
    if isinstance(me, ApiError):
        mend = "Make another key, and run `timeball login`." if me.status in {401, 403} else "Ask again."
        yield Diagnosis("key", Judgement.WRONG, me.detail, mend)
        return
    ends = me["expiresAt"]
    bounds = f", within the tags {', '.join(me['tags'])}" if me["tags"] else ""
    about = f"{me['keyId']} is a key with the role {me['role']} of the tenant {me['tenant']}{bounds}."
    if ends is not None and _ms(ends) - now < _SOON_MS:
        yield Diagnosis(
            "key", Judgement.WARNING, f"{about} It ends at {ends}.", f"`timeball key rotate {me['keyId']}`."
        )
    else:
        yield Diagnosis("key", Judgement.OK, about)


def about_clock(server_at: int | None, now: int) -> Iterator[Diagnosis]:
    """Judge this machine's clock by the server's, both in ms."""
    if server_at is None:
        yield Diagnosis("clock", Judgement.UNKNOWN, "The answer has no Date.")
        return
    skew = (now - server_at) / 1000
    about = f"This machine's clock is {abs(skew):.0f} s {'ahead of' if skew > 0 else 'behind'} the server's."
    if abs(skew) > _SKEW_SECONDS:
        yield Diagnosis("clock", Judgement.WRONG, about, "Set the clock of this machine by NTP.")
    else:
        yield Diagnosis("clock", Judgement.OK, "This machine's clock agrees with the server's.")


def about_ticks(state: Mapping[str, Any]) -> Iterator[Diagnosis]:
    """Judge the age of the newest tick."""
    tick = state["health"]["lastTickAt"]
    age = None if tick is None else (_ms(state["asOf"]) - _ms(tick)) / 1000
    mend = "No job starts while the ticker stands still: see docs/runbooks/tick-silent.md."
    if age is None:
        yield Diagnosis("ticks", Judgement.WRONG, "The ticker has never ticked.", mend)
    elif age > _TICK_SECONDS:
        yield Diagnosis("ticks", Judgement.WRONG, f"The last tick is {age:.0f} s old.", mend)
    else:
        yield Diagnosis("ticks", Judgement.OK, f"The last tick is {max(age, 0):.0f} s old.")


def about_late_work(state: Mapping[str, Any]) -> Iterator[Diagnosis]:
    """Judge what is due and was not processed, and what needs attention."""
    oldest = state["health"]["oldestDueAt"]
    behind = 0.0 if oldest is None else (_ms(state["asOf"]) - _ms(oldest)) / 1000
    if behind > _DUE_SECONDS:
        mend = "The scan does not keep up: see docs/runbooks/behind.md."
        yield Diagnosis("late work", Judgement.WRONG, f"Work that was due {behind:.0f} s ago was not processed.", mend)
    kinds = [one["kind"] for one in state["needsAttention"]]
    counts = ", ".join(f"{kinds.count(kind)} {kind}" for kind in dict.fromkeys(kinds))
    if counts:
        yield Diagnosis(
            "late work", Judgement.WARNING, f"These need attention: {counts}.", "`timeball now` lists them."
        )
    elif behind <= _DUE_SECONDS:
        yield Diagnosis("late work", Judgement.OK, "Nothing is late or stuck.")


def about_queues(stats: Mapping[str, Any]) -> Iterator[Diagnosis]:
    """Judge how long runs wait, and how many messages do."""
    waiting = stats["waiting"]
    messages = {name: queue["waiting"] for name, queue in (stats["queues"] or {}).items() if queue["waiting"]}
    depth = "".join(f"; {count} messages of priority {name}" for name, count in messages.items())
    about = f"{waiting['count']} runs wait{depth}."
    if waiting["count"] and waiting["ageSeconds"] > _WAITING_SECONDS:
        mend = "`timeball now` says what they wait for; executors: see docs/runbooks/no-hands.md."
        yield Diagnosis(
            "queues", Judgement.WARNING, f"{about} The oldest waits for {waiting['ageSeconds']:.0f} s.", mend
        )
    else:
        yield Diagnosis("queues", Judgement.OK, about)


def about_quotas(tenant: Mapping[str, Any]) -> Iterator[Diagnosis]:
    """Judge which quotas are used up, or nearly."""
    full = [
        (f"{name} {quota['used']} of {quota['limit']}", quota["used"] >= quota["limit"])
        for name, quota in tenant["quotas"].items()
        if quota["limit"] and quota["used"] is not None and quota["used"] >= _NEARLY_USED * quota["limit"]
    ]
    if full:
        state = Judgement.WRONG if any(is_full for _, is_full in full) else Judgement.WARNING
        mend = f"Raise it: `timeball tenant set {tenant['name']} -`, by an admin of the operating tenant."
        yield Diagnosis("quotas", state, f"Used up, or nearly: {', '.join(text for text, _ in full)}.", mend)
    else:
        yield Diagnosis("quotas", Judgement.OK, "No quota is nearly used up.")


def about_versions(me: Mapping[str, Any]) -> Iterator[Diagnosis]:
    """Judge whether this command line and the server are of one release."""
    server = me.get("serverVersion")
    if server is None:
        yield Diagnosis(
            "versions", Judgement.UNKNOWN, f"This is timeball {__version__}; the server does not name its version."
        )
    elif server.split(".")[:2] != __version__.split(".")[:2]:
        mend = f"Install the release of the server: in a clone, `git checkout v{server}` and `pip install .`."
        yield Diagnosis("versions", Judgement.WARNING, f"This is timeball {__version__}, the server is {server}.", mend)
    else:
        yield Diagnosis("versions", Judgement.OK, f"This is timeball {__version__}, the server is {server}.")


def _ms(text: str) -> int:
    return int(datetime.fromisoformat(text).timestamp() * 1000)
