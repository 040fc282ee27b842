"""Every setting of a deployment: what it means, what it may be, and its value in each stage.

A stage (`-c timeball:stage=small`) chooses a column of defaults; another setting (`-c timeball:shards=8`)
overrides one of them.
Invariant: settings read from a context are valid, and all that is wrong with a context is told at once.
`python -m infra.settings` prints the table for the documentation.
"""

import ipaddress
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields

PREFIX = "timeball:"
"""Begins every context key that is ours, so that a misspelt one is an error and not a silent default."""

STAGES = ("local", "small", "large")


LOOP_SECONDS = 285
"""How long a loop of the ticker begins new ticks; its own limit is 290 seconds, that of Express is 300."""


class SettingsError(ValueError):
    """The context holds settings that cannot be deployed."""


def _whole(low: int, high: int, *others: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        value = int(text) if re.fullmatch(r"\d{1,9}", text) else -1
        if value not in others and not low <= value <= high:
            also = "".join(f"{other} or " for other in others)
            raise ValueError(f"must be {also}a whole number from {low} to {high}")
        return value

    return parse


def _number_of(*choices: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        return int(_one_of(*map(str, choices))(text))

    return parse


def _one_of(*choices: str) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if text not in choices:
            raise ValueError(f"must be one of {', '.join(choices)}")
        return text

    return parse


def _networks(text: str) -> str:
    try:
        return ",".join(str(ipaddress.ip_network(part.strip())) for part in text.split(",") if part.strip())
    except ValueError as error:
        raise ValueError(f"must be networks such as 10.0.0.0/8, separated by commas: {error}") from error


def _stack_name(text: str) -> str:
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9-]{0,39}", text):
        raise ValueError("must begin with a letter and go on with at most 39 letters, digits and hyphens")
    return text


def _table_name(text: str) -> str:
    if text and not re.fullmatch(r"[A-Za-z0-9_.-]{3,255}", text):
        raise ValueError("must be the name of a table that exists, or empty")
    return text


def _setting(meaning: str, parse: Callable[[str], int] | Callable[[str], str], *stages: int | str) -> dict[str, object]:
    """Describe a setting; one default for all stages, or one for each."""
    defaults = stages if len(stages) == len(STAGES) else stages * len(STAGES)
    return {"meaning": meaning, "parse": parse, "defaults": dict(zip(STAGES, defaults, strict=True))}


@dataclass(frozen=True)
class Settings:
    """What one deployment may do otherwise than another."""

    stage: str = field(
        metadata=_setting(
            "`local` is the embedded AWS; `small` idles at less than $6 a month; `large` takes thousands "
            "of runs a second",
            _one_of(*STAGES),
            *STAGES,
        )
    )
    name: str = field(metadata=_setting("Name of the stack; another name is another Timeball", _stack_name, "Timeball"))
    shards: int = field(
        metadata=_setting("Shards of the due index; may be raised, never lowered", _whole(1, 256), 4, 4, 32)
    )
    partitions: int = field(metadata=_setting("Scan loops, which share the shards", _whole(1, 40), 1, 1, 8))
    list_shards: int = field(
        metadata=_setting("Shards of the listing of one tenant's jobs in one state", _whole(1, 64), 4, 4, 32)
    )
    lookahead_seconds: int = field(
        metadata=_setting("How long before its time a run is sent to its queue", _whole(1, 20), 5)
    )
    lead_seconds: int = field(
        metadata=_setting(
            "How long before its time a message comes to an executor, which may start cold", _whole(0, 9), 3
        )
    )
    lease_seconds: int = field(metadata=_setting("How long a claim holds unless it is renewed", _whole(20, 300), 30))
    heartbeat_seconds: int = field(metadata=_setting("How often an executor renews its claims", _whole(2, 100), 10))
    misfire_seconds: int = field(
        metadata=_setting("How late a run may start without being a misfire", _whole(5, 3600), 60)
    )
    host_failures: int = field(
        metadata=_setting("After how many failures in a row a host is not called for a while", _whole(2, 1000), 5)
    )
    host_rest_seconds: int = field(
        metadata=_setting("How long that is at first; each time in a row it is twice as long", _whole(1, 600), 30)
    )
    host_retries_per_second: int = field(
        metadata=_setting(
            "How many retries a second go to a host that has failed lately; twice as many at once", _whole(1, 1000), 10
        )
    )
    running_backfills: int = field(
        metadata=_setting("How many of a tenant's backfills run at once; the others wait", _whole(1, 100), 10)
    )
    retention_days: int = field(metadata=_setting("How long finished jobs and runs are kept", _whole(1, 3650), 90))
    private_targets: str = field(
        metadata=_setting(
            "Networks that webhooks may call although they are not public", _networks, "127.0.0.0/8", "", ""
        )
    )
    writes: str = field(
        metadata=_setting(
            "Conditional writes as PartiQL batches, or one by one in parallel",
            _one_of("batch", "single"),
            "batch",
        )
    )
    execute_memory_mb: int = field(
        metadata=_setting(
            "Memory of an executor, in MB; it buys processor time, so that a cold start fits into the lead",
            _whole(128, 10240),
            512,
            768,
            1024,
        )
    )
    execute_concurrency: int = field(
        metadata=_setting("Most executors at a time for each priority, ten runs each", _whole(2, 1000), 5, 50, 250)
    )
    reserved_concurrency: int = field(
        metadata=_setting(
            "Concurrency that is kept for the scan, the authorizer and the API, for each; 0 keeps none",
            _whole(0, 1000),
            0,
        )
    )
    account_concurrency: int = field(
        metadata=_setting(
            "Concurrency that AWS gives the account: `aws lambda get-account-settings`", _whole(10, 1_000_000), 1000
        )
    )
    jobs_table: str = field(
        metadata=_setting("A jobs table that exists; without one the stack makes its own", _table_name, "")
    )
    tenants_table: str = field(
        metadata=_setting("A tenants table that exists; without one the stack makes its own", _table_name, "")
    )
    warm_runs_per_second: int = field(
        metadata=_setting(
            "Runs a second that the jobs table and its indexes are made ready for, at a price; 0 leaves AWS's default",
            _whole(0, 100_000),
            *(0, 0, 10_000),
        )
    )
    api_requests_per_second: int = field(
        metadata=_setting(
            "How many requests a second the API takes, of all callers together, callbacks too; more get a 429. It "
            "bounds what strangers can cost: `small` suits a team, `large` a spike, `local` is the quota of an account",
            _whole(1, 10_000),
            10_000,
            50,
            2_000,
        )
    )
    api_burst: int = field(
        metadata=_setting(
            "How many of them may come at once: two seconds' worth, so that a script's first moment is not refused",
            _whole(1, 5_000),
            5_000,
            100,
            4_000,
        )
    )
    log_retention_days: int = field(
        metadata=_setting("How long logs are kept", _number_of(1, 7, 14, 30, 90, 180, 365), 1, 30, 90)
    )

    @property
    def is_local(self) -> bool:
        """Tell whether this is the embedded AWS, on which nothing outlives its process."""
        return self.stage == "local"

    @property
    def tick_input(self) -> dict[str, int]:
        """Return what an execution of the ticker starts with."""
        return {"partitions": self.partitions, "seconds": LOOP_SECONDS}

    @classmethod
    def read(cls, context: Mapping[str, object]) -> "Settings":
        """Read the settings of a CDK context; raise `SettingsError` with a line for each wrong one."""
        given = {key.removeprefix(PREFIX): str(value) for key, value in context.items() if key.startswith(PREFIX)}
        stage = given.get("stage", "small")
        known = {setting.name: setting.metadata for setting in fields(cls)}
        problems = [
            f"{PREFIX}{name} is no setting; there are {', '.join(known)}" for name in given if name not in known
        ]
        values = {}
        for name, about in known.items():
            default = about["defaults"].get(stage, about["defaults"]["small"])
            try:
                values[name] = about["parse"](given.get(name, str(default)))
            except ValueError as error:
                problems.append(f"{PREFIX}{name}={given[name]} {error}")
        if problems:
            raise SettingsError("\n".join(problems))
        settings = cls(**values)
        settings._refuse_contradictions()
        return settings

    def _refuse_contradictions(self) -> None:
        problems = []
        if self.partitions > self.shards:
            problems.append("partitions must not exceed shards: a scan loop without a shard has nothing to do")
        if self.heartbeat_seconds * 3 > self.lease_seconds:
            problems.append("heartbeat_seconds must be at most a third of lease_seconds, so that a lost one is made up")
        if self.lookahead_seconds >= self.misfire_seconds:
            problems.append("lookahead_seconds must be less than misfire_seconds")
        problems += self._overcommitments()
        if self.jobs_table and self.jobs_table == self.tenants_table:
            problems.append("jobs_table and tenants_table must be two tables: whoever may write jobs may make no keys")
        if self.lead_seconds >= self.lookahead_seconds:
            problems.append("lead_seconds must be less than lookahead_seconds: nothing comes before it is sent")
        if problems:
            raise SettingsError("\n".join(PREFIX + problem for problem in problems))

    def _overcommitments(self) -> list[str]:
        """Say what would take more of the account's concurrency than it has."""
        problems = []
        if 4 * self.execute_concurrency > self.account_concurrency:
            problems.append(
                "execute_concurrency must be at most a quarter of account_concurrency: "
                "three priorities take one each, and the last is for all other functions"
            )
        if 0 < self.reserved_concurrency < 2 * self.partitions:
            problems.append(
                "reserved_concurrency must be 0 or at least twice partitions: a scan of the old loop "
                "and one of the new may run in each"
            )
        reserved = 3 * self.reserved_concurrency
        if reserved and self.account_concurrency - reserved < max(100, 3 * self.execute_concurrency + 2):
            problems.append(
                "reserved_concurrency, taken three times, must leave of account_concurrency what AWS demands (100) "
                "and what the executors and the watch function may take (three times execute_concurrency and 2)"
            )
        return problems


def as_markdown() -> str:
    """Render the settings as a table, one a row."""
    rows = [f"| setting | {' | '.join(STAGES)} | meaning |", "|---|---|---|---|---|"]
    for setting in fields(Settings):
        defaults = " | ".join(f"`{value}`" if value != "" else "" for value in setting.metadata["defaults"].values())
        rows.append(f"| `{PREFIX}{setting.name}` | {defaults} | {setting.metadata['meaning']} |")
    return "\n".join(rows)


if __name__ == "__main__":
    sys.stdout.write(as_markdown() + "\n")
