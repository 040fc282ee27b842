"""What the functions are told by their environment, read once. A missing or odd value is named in one sentence."""

from collections.abc import Mapping
from dataclasses import dataclass, fields

from timeball.engine.world import Rules


class SettingError(Exception):
    """An environment variable is missing or unusable."""


@dataclass(frozen=True)
class Settings:
    """The environment of a function: tables, the URLs of queues, those of priorities by name, the engine's rules."""

    jobs_table: str
    queues: Mapping[str, str]
    watch_queue: str
    unreadable_queue: str
    rules: Rules
    list_shards: int = 4
    retention_days: int = 90
    private_targets: str = ""
    writes_in_batches: bool = True


def read_settings(environment: Mapping[str, str]) -> Settings:
    """Return the settings that the environment holds. Raises SettingError."""
    return Settings(
        jobs_table=_text(environment, "JOBS_TABLE"),
        queues={name: _text(environment, f"QUEUE_{name.upper()}") for name in ("high", "normal", "low")},
        watch_queue=_text(environment, "QUEUE_WATCH"),
        unreadable_queue=_text(environment, "QUEUE_UNREADABLE"),
        rules=Rules(**_numbers(environment, [field.name for field in fields(Rules)])),
        private_targets=environment.get("TIMEBALL_PRIVATE_TARGETS", ""),
        writes_in_batches=environment.get("TIMEBALL_WRITES", "batch") == "batch",
        **_numbers(environment, ["list_shards", "retention_days"]),
    )


def _text(environment: Mapping[str, str], name: str) -> str:
    value = environment.get(f"TIMEBALL_{name}")
    if not value:
        raise SettingError(f"Set TIMEBALL_{name}.")
    return value


def _numbers(environment: Mapping[str, str], names: list[str]) -> dict[str, int]:
    numbers = {}
    for name in names:
        text = environment.get(f"TIMEBALL_{name.upper()}")
        if text is None:
            continue
        if not text.isdecimal():
            raise SettingError(f"TIMEBALL_{name.upper()} is no whole number: {text!r}.")
        numbers[name] = int(text)
    return numbers
