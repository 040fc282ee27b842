"""The settings of alarms: whether there are any, their thresholds, and who is notified."""

import re
from dataclasses import dataclass
from typing import Final

from timeball.setting import one_of, setting, whole

SLACK: Final = "slack:"

_MAIL: Final = re.compile(r"[^@\s,/]{1,100}@[^@\s,/]{1,150}", re.ASCII)
_URL: Final = re.compile(r"https://[^\s,]{1,500}", re.ASCII)
_CHANNEL: Final = re.compile(rf"{SLACK}[A-Z0-9]{{1,20}}/[A-Z0-9]{{1,20}}", re.ASCII)

_FORMS: Final = f"mail addresses, https:// URLs or {SLACK}<workspace>/<channel>"

FASTEST_CANARY: Final = 60
"""How often (s) a canary may run at the most."""

ON, OFF = "on", "off"


def listed(text: str) -> list[str]:
    """Return the items of a list that is separated by commas, each once."""
    return [*dict.fromkeys(filter(None, map(str.strip, text.split(","))))]


def _subscribers(text: str) -> str:
    for one in listed(text):
        if not any(form.fullmatch(one) for form in (_MAIL, _URL, _CHANNEL)):
            raise ValueError(f"must be {_FORMS}, separated by commas: {one!r} is none of them")
    return text


@dataclass(frozen=True)
class AlarmSettings:
    """The settings of alarms, the dashboard and the canary."""

    alarms: str = one_of(
        OFF,
        (OFF, ON),
        "Whether [alarms](observability.md#alarms) watch the deployment, with a dashboard; they need `metrics` of "
        "`basic` or `full`",
    )
    alarm_subscribers: str = setting(
        "",
        "Subscribers that are notified of alarms: mail addresses, `https://` URLs, and channels of Slack as "
        "`slack:<workspace>/<channel>`, separated by commas. AWS asks addresses and URLs to confirm",
        _subscribers,
    )
    canary_seconds: int = whole(
        300,
        0,
        3600,
        "How often, with `alarms`, the [canary](observability.md#the-canary) runs, 60 or more: a built-in job that "
        "goes the whole way to a function of the stack. After each run the scan is not idle for a minute. 0: never",
    )
    dashboard: str = one_of(ON, (OFF, ON), "Whether `alarms` come with a dashboard, for $3 a month")
    alarm_ticks_per_minute: int = whole(
        3,
        1,
        59,
        "`TickSilent`: fewer ticks of a partition in each of two minutes; 60 are usual, 4 with long scans",
    )
    alarm_overdue_seconds: int = whole(
        15, 1, 3600, "`Behind`: in each of three minutes the scan finds something that is overdue by so long"
    )
    alarm_unclaimed_runs: int = whole(
        1, 1, 1_000_000, "`NoHands`: in three of five minutes so many runs are found that no executor has claimed"
    )
    alarm_canary_ms: int = whole(
        2000, 100, 60_000, "`CanaryOffTime`: three runs of the canary in a row come so late, or so early"
    )
    alarm_late_ms: int = whole(1000, 100, 60_000, "From which lateness on a run is late")
    alarm_late_runs: int = whole(
        10, 1, 60, "How many runs in a thousand may be late: the budget of `LateFast`, `LateSlow` and `LateForDays`"
    )
    alarm_dead_letters: int = whole(10, 1, 1_000_000, "`DeadLetters`: so many runs fail for good within five minutes")
    alarm_throttled: int = whole(
        60, 1, 1_000_000, "`Throttled`: so many refused requests to AWS in each of three of five minutes"
    )
    alarm_failed_authentications: int = whole(
        100, 1, 1_000_000, "`AuthenticationsFailed`: so many requests with keys that are not valid within five minutes"
    )
