"""The settings of a deployment: those that its functions declare, and those of the stack alone.

A stage (`-c timeball:stage=small`) is a column of values; another setting (`-c timeball:shards=8`) overrides one of
them. Invariant: settings that were read from a context are valid, and every error of a context is reported at once.
`python -m infra.settings` prints the table for the documentation.
"""

import re
import sys
from collections.abc import Mapping
from dataclasses import Field, dataclass, fields, is_dataclass
from typing import TYPE_CHECKING, Any

from infra.alarm_settings import FASTEST_CANARY, OFF, ON, AlarmSettings
from infra.archive_settings import ArchiveSettings
from infra.concurrency import (
    BATCHES_OF_A_POLLER,
    FEWEST_AT_ONCE,
    MOST_AT_ONCE,
    MOST_READY,
    NOTICED,
    Concurrency,
    shares,
)
from infra.names import key_arn, stack_name, table_name
from infra.rollout_settings import GRADUAL, RolloutSettings
from infra.stages import STAGES, STRANGERS, TRUSTED, of_stage_and_tenants
from timeball.runtime.settings import FunctionSettings
from timeball.setting import SettingsError, one_of, read, setting, whole

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

PREFIX = "timeball:"
"""The prefix of our context keys, so that a misspelled key is an error and not a silent default."""

LOOP_SECONDS = 285
"""How long a loop of the ticker begins new ticks; its own timeout is 290 seconds, that of Express is 300."""
SOON, NEXT_MINUTE = 15, 60
"""How soon (s) ticks continue after an execution of the ticker has died."""
STANDBY_SECONDS = 120
"""How long after its start an execution stands by: until the next but one begins."""

OPEN, FIXED = "open", "fixed"
"""Where calls come from: any address of AWS, or the stack's own addresses."""


def _confirmed(text: str) -> str:
    if text and not re.fullmatch(rf"({'|'.join(STAGES)})-[1-9][0-9]{{0,3}}", text):
        raise ValueError("must be a stage, a hyphen and a number of shards, such as small-4, or empty")
    return text


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The settings in which deployments differ."""

    stage: str = one_of(
        "small",
        STAGES,
        "`local` is the embedded AWS; `small` idles at some $6 a month; `large` takes thousands of runs a second",
    )
    confirm: str = setting(
        "",
        "Confirms a change of the stage or of the shards: the new stage and the new number of shards, as in "
        "`small-4`; an unconfirmed change is refused",
        _confirmed,
    )
    name: str = setting("Timeball", "Name of the stack; another name is another Timeball", stack_name)
    functions: FunctionSettings
    tenants: str = one_of(
        TRUSTED,
        (TRUSTED, STRANGERS),
        "Whether tenants trust each other: `trusted`, such as a firm's teams, or `strangers`, such as customers. With "
        "`strangers`, `active_jobs`, `submits_per_second`, `runs_at_once` and `runs_created_per_minute` bound each "
        "tenant, at the cost of requests",
    )
    partitions: int = whole(1, 1, 40, "Scan loops, which share the shards")
    takeover_seconds: int = one_of(
        NEXT_MINUTE,
        (SOON, NEXT_MINUTE),
        "How soon (s) ticks continue after an execution of the ticker has died: 60, when the next minute's begins; "
        "or 15, because the last minute's stands by, for some $2.80 a month",
    )
    execute_concurrency: int = whole(
        150,
        6,
        10_000,
        "Most executors at a time, ten messages each: 60 % for `high`, 35 % for `normal`, 5 % for `low`, two at least",
    )
    pollers: int = whole(
        0,
        0,
        600,
        "Provisioned pollers that are kept ready for executors' queues, ten batches each, for some $7 a month each; "
        "divided like executors, at least two. 0: AWS begins with five batches and adds five a second",
    )
    raised_pollers: int = whole(
        0,
        0,
        600,
        "How many pollers the scan keeps ready ahead of a spike: it looks five minutes ahead once a minute, and "
        "lowers the number ten minutes after the spike; divided like `pollers`, which must be set. 0: no change",
    )
    reserved_concurrency: int = whole(
        0, 0, 1000, "Concurrency that is reserved for each of the scan, the authorizer and the API; 0 reserves none"
    )
    account_concurrency: int = whole(
        1000, 10, 1_000_000, "Concurrency that AWS gives the account: `aws lambda get-account-settings`"
    )
    jobs_table: str = setting("", "An existing jobs table; by default the stack makes its own", table_name)
    tenants_table: str = setting("", "An existing tenants table; by default the stack makes its own", table_name)
    kms_key: str = setting(
        "",
        "ARN of a KMS key in the same region that encrypts tables, queues, logs, the archive and the first key's "
        "parameter; its [owner writes its policy](aws.md#a-key-of-your-own). Empty: AWS's own keys "
        "encrypt, free of charge",
        key_arn,
    )
    warm_runs_per_second: int = whole(
        0,
        0,
        100_000,
        "Runs a second for which the jobs table and its indexes are pre-warmed, at a price; 0 leaves AWS's default",
    )
    scan_memory_mb: int = whole(
        1024,
        512,
        3008,
        "Memory (MB) of the scan function, and with it its processor: 1,769 MB are one whole processor",
    )
    api_requests_per_second: int = whole(
        50,
        1,
        10_000,
        "Requests a second that the API accepts from all callers together, callbacks included; more get a 429. It "
        "bounds the cost of unknown callers: `small` suits a team, `large` a spike, `local` is the quota of an account",
    )
    api_burst: int = whole(
        100,
        1,
        5_000,
        "How many of them may come at once: two seconds' worth, so that the first burst of a script is not refused",
    )
    console: str = one_of(
        ON,
        (ON, OFF),
        "Whether the API serves the [console](console.md); with `off` there is no route and no function for it",
    )
    egress: str = one_of(
        OPEN,
        (OPEN, FIXED),
        "Which addresses calls come from: `open`, any address of AWS; `fixed`, two addresses of the stack's NAT "
        "gateways, which cost some $73 a month",
    )
    log_retention_days: int = one_of(30, (1, 7, 14, 30, 90, 180, 365), "How long logs are kept")
    alarming: AlarmSettings
    rolling: RolloutSettings
    archiving: ArchiveSettings

    @property
    def is_local(self) -> bool:
        """Return whether this is the embedded AWS, on which nothing outlives its process."""
        return self.stage == "local"

    @property
    def has_alarms(self) -> bool:
        """Return whether alarms watch the deployment. The embedded AWS refuses an alarm that is made of others."""
        return self.alarming.alarms != OFF and not self.is_local

    @property
    def has_canary(self) -> bool:
        """Return whether a canary runs."""
        return self.alarming.alarms != OFF and self.alarming.canary_seconds > 0

    @property
    def has_stream(self) -> bool:
        """Return whether the jobs table has a stream, which the archive and lifecycle events follow."""
        return self.archiving.is_on or bool(self.functions.lifecycle_events)

    @property
    def executors(self) -> dict[str, int]:
        """Return the most executors at a time of each priority; no priority can take another's share."""
        return shares(self.execute_concurrency)

    @property
    def pollers_of(self) -> dict[str, tuple[int, int]]:
        """Return the least and the most provisioned pollers of each priority, the most as a bound; empty: none."""
        ready = shares(self.pollers) if self.pollers else {}
        most = {
            priority: max(FEWEST_AT_ONCE, count // BATCHES_OF_A_POLLER) for priority, count in self.executors.items()
        }
        return {name: (min(least, most[name], MOST_READY), most[name]) for name, least in ready.items()}

    @property
    def raised_of(self) -> dict[str, int]:
        """Return how many pollers of each priority the scan keeps ready ahead of a spike; empty: it changes none."""
        raised = shares(self.raised_pollers) if self.raised_pollers else {}
        return {name: min(share, self.pollers_of[name][1], MOST_READY) for name, share in raised.items()}

    @property
    def concurrency(self) -> Concurrency:
        """Return how the account's concurrency is divided."""
        bounds = {name: most * BATCHES_OF_A_POLLER for name, (_, most) in self.pollers_of.items()}
        return Concurrency(self.account_concurrency, bounds or self.executors, self.partitions)

    @property
    def successor_percent(self) -> dict[str, int]:
        """Return what percentage of each priority's executors have successors."""
        successors = self.concurrency.successors
        return {priority: min(100, -(-100 * successors // most)) for priority, most in self.executors.items()}

    @property
    def tick_input(self) -> dict[str, int]:
        """Return the input of an execution of the ticker."""
        standby = STANDBY_SECONDS if self.takeover_seconds == SOON else 0
        return {"partitions": self.partitions, "seconds": LOOP_SECONDS, "standby": standby}

    @classmethod
    def read(cls, context: Mapping[str, object]) -> "Settings":
        """Read the settings of a CDK context; raise `SettingsError` with a line for each error."""
        given = {name: str(value) for name, value in context.items() if name.startswith(PREFIX)}
        of_stage = of_stage_and_tenants(given.get(_key("stage"), "small"), given.get(_key("tenants"), ""))
        known = declared()
        if (name := given.get(_key("name"), known["name"].default)) != known["name"].default:
            of_stage = {**of_stage, "webhook_secrets": f"timeball-{name}/"}  # no stack reads another's secrets
        problems = [
            f"{name} is not a setting; the settings are {', '.join(known)}"
            for name in given
            if name.removeprefix(PREFIX) not in known
        ]
        try:
            settings = read(cls, {_key(name): str(value) for name, value in of_stage.items()} | given, _key)
        except SettingsError as error:
            raise SettingsError("\n".join([*problems, str(error)])) from None
        problems += map(_key, settings.contradictions())
        if problems:
            raise SettingsError("\n".join(problems))
        return settings

    def contradictions(self) -> list[str]:
        """Return which settings contradict each other."""
        rules, problems = self.functions.rules, []
        if self.partitions > rules.shards:
            problems.append("partitions must not exceed shards: a scan loop without a shard has nothing to do")
        if rules.heartbeat_seconds * 3 > rules.lease_seconds:
            problems.append(
                "heartbeat_seconds must be at most a third of lease_seconds, so that a lost heartbeat does no harm"
            )
        if rules.lookahead_seconds >= rules.misfire_seconds:
            problems.append("lookahead_seconds must be less than misfire_seconds")
        problems += self._overcommitments()
        mapper = self.functions.mapper
        if mapper.history_days < mapper.least_history_days:
            problems.append(
                f"history_days must be at least {mapper.least_history_days}, 14 more than retention_days: no run may "
                "outlive the revisions, calendars and freezes that planned it"
            )
        if self.raised_pollers and not 0 < self.pollers <= self.raised_pollers:
            problems.append("raised_pollers must be 0 or at least pollers, and then pollers must not be 0")
        if self.jobs_table and self.jobs_table == self.tenants_table:
            problems.append("jobs_table and tenants_table must differ: functions that write jobs must not create keys")
        problems += self._contradictions_of_alarms()
        problems += self.archiving.contradictions(self.jobs_table, has_stream=self.has_stream)
        if rules.lead_seconds >= rules.lookahead_seconds:
            problems.append("lead_seconds must be less than lookahead_seconds: no message arrives before it is sent")
        return problems

    def _contradictions_of_alarms(self) -> list[str]:
        """Return which settings of alarms contradict others."""
        problems = []
        if self.alarming.alarms != OFF and self.functions.metrics == OFF:
            problems.append("alarms need metrics: set metrics to basic or full, or alarms to off")
        if self.rolling.rollout == GRADUAL and self.alarming.alarms == OFF and not self.is_local:
            problems.append("a gradual rollout needs alarms: set alarms to on, or rollout to all-at-once")
        if 0 < self.alarming.canary_seconds < FASTEST_CANARY:
            problems.append(f"canary_seconds must be 0 or at least {FASTEST_CANARY}")
        return problems

    def _overcommitments(self) -> list[str]:
        """Return which settings would exceed the account's concurrency."""
        problems = []
        if 4 * self.execute_concurrency > 3 * self.account_concurrency:
            problems.append(
                "execute_concurrency must be at most three quarters of account_concurrency: "
                "the last quarter is for all other functions"
            )
        problems += filter(None, [self.concurrency.overcommitment])
        if self.pollers * BATCHES_OF_A_POLLER > self.execute_concurrency:
            problems.append("pollers must be at most a tenth of execute_concurrency: each poller invokes ten executors")
        if not self.pollers and max(self.executors.values()) > MOST_AT_ONCE:
            problems.append(
                "execute_concurrency needs pollers if a priority has more than 1000 executors, a limit of AWS"
            )
        if self.functions.rules.runs_per_message > 1 and min(self.executors.values()) < NOTICED:
            problems.append(
                "runs_per_message must be 1 if a priority has less than three executors: with so few messages "
                "its queue does not notice that one tenant has them all"
            )
        if 0 < self.reserved_concurrency < 2 * self.partitions:
            problems.append(
                "reserved_concurrency must be 0 or at least twice partitions: in each partition a scan of the old loop "
                "and a scan of the new loop may run at once"
            )
        reserved = 3 * self.reserved_concurrency
        if reserved and self.account_concurrency - reserved < max(100, self.execute_concurrency + 2):
            problems.append(
                "account_concurrency less three times reserved_concurrency must be at least what AWS demands (100) "
                "and what the executors and the watch function may take (execute_concurrency and 2)"
            )
        return problems


def declared(kind: type["DataclassInstance"] = Settings) -> dict[str, Field[Any]]:
    """Return each setting by its name, including those of the functions."""
    found: dict[str, Field[Any]] = {}
    for one in fields(kind):
        if isinstance(one.type, type) and is_dataclass(one.type):
            found |= declared(one.type)
        else:
            found[one.name] = one
    return found


def as_markdown() -> str:
    """Render the settings as a table, one a row."""
    rows = [f"| setting | {' | '.join(STAGES)} | meaning |", "|---|---|---|---|---|"]
    for name, one in declared().items():
        values = [stage if name == "stage" else of_stage.get(name, one.default) for stage, of_stage in STAGES.items()]
        cells = " | ".join(f"`{value}`" if value != "" else "" for value in values)
        rows.append(f"| `{_key(name)}` | {cells} | {one.metadata['meaning']} |")
    return "\n".join(rows)


def _key(name: str) -> str:
    return PREFIX + name


if __name__ == "__main__":
    sys.stdout.write(as_markdown() + "\n")
