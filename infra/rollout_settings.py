"""The settings of a rollout: how a deployment replaces the functions' code, and which alarms roll it back."""

from dataclasses import dataclass
from typing import Final

from infra.alarm_settings import listed
from timeball.setting import one_of, setting

ALL_AT_ONCE, GRADUAL = "all-at-once", "gradual"

ERRORS: Final = "Errors"
"""Stands for the alarms on the errors of each function, which exist for a gradual rollout only."""

MAY_ROLL_BACK: Final = (ERRORS, "TickSilent", "Behind", "NoHands", "DeadLetters", "Throttled", "Unreadable")
"""The alarms on one metric that may roll a deployment back. The others need more than ten minutes, or are combined."""


def _alarms(text: str) -> str:
    for one in listed(text):
        if one not in MAY_ROLL_BACK:
            raise ValueError(
                f"must be some of {', '.join(MAY_ROLL_BACK)}, separated by commas: {one!r} is none of them"
            )
    return text


@dataclass(frozen=True)
class RolloutSettings:
    """The settings of a rollout."""

    rollout: str = one_of(
        ALL_AT_ONCE,
        (ALL_AT_ONCE, GRADUAL),
        "How a deployment replaces the functions' code: `all-at-once`, or `gradual`: [a tenth of the calls for "
        "ten minutes](../how-to/upgrade.md#a-tenth-of-the-calls-first), then all; it needs `alarms`, and costs $0.90 a "
        "month",
    )
    rollback_alarms: str = setting(
        f"{ERRORS},TickSilent,Behind,NoHands",
        f"The alarms that roll a `gradual` deployment back, separated by commas: some of {', '.join(MAY_ROLL_BACK)}. "
        "Empty: none, for a deployment that corrects what an alarm is about",
        _alarms,
    )
