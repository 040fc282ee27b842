"""The settings of a deployment: those of its functions, as they declare them, and those of the stack alone.

A stage (`-c timeball:stage=small`) is a column of values; another setting (`-c timeball:shards=8`) overrides one of
them. Invariant: settings read from a context are valid, and all that is wrong with a context is told at once.
`python -m infra.settings` prints the table for the documentation.
"""

import re
import sys
from collections.abc import Mapping
from dataclasses import Field, dataclass, fields, is_dataclass
from typing import TYPE_CHECKING, Any

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
from infra.stages import STAGES, STRANGERS, TRUSTED, of_stage_and_tenants
from timeball.runtime.settings import FunctionSettings
from timeball.setting import SettingsError, one_of, read, setting, whole

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

PREFIX = "timeball:"
"""Begins every context key that is ours, so that a misspelt one is an error and not a silent default."""

LOOP_SECONDS = 285
"""How long a loop of the ticker begins new ticks; its own limit is 290 seconds, that of Express is 300."""
SOON, NEXT_MINUTE = 15, 60
"""How soon (s) ticks go on after an execution of the ticker has died."""
STANDBY_SECONDS = 120
"""How long after its start an execution stands by: until the one after the next begins."""

OPEN, FIXED = "open", "fixed"
"""Where calls come from: from any address of AWS's, or from the stack's own."""


def _confirmed(text: str) -> str:
    if text and not re.fullmatch(rf"({'|'.join(STAGES)})-[1-9][0-9]{{0,2}}", text):
        raise ValueError("must be a stage, a hyphen and a number of shards, such as small-4, or empty")
    return text


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What one deployment may do otherwise than another."""

    stage: str = one_of(
        "small",
        STAGES,
        "`local` is the embedded AWS; `small` idles at less than $7 a month; `large` takes thousands of runs a second",
    )
    confirm: str = setting(
        "",
        "Confirms that a Timeball gets another stage, or other shards: the stage and the shards that it gets, as in "
        "`small-4`; a change that is not confirmed is refused",
        _confirmed,
    )
    name: str = setting("Timeball", "Name of the stack; another name is another Timeball", stack_name)
    functions: FunctionSettings
    tenants: str = one_of(
        TRUSTED,
        (TRUSTED, STRANGERS),
        "Whether tenants trust each other: `trusted`, the teams of one house; or `strangers`, such as customers: then "
        "`active_jobs`, `submits_per_second`, `runs_at_once` and `runs_created_per_minute` bound each tenant, at the "
        "cost of requests",
    )
    partitions: int = whole(1, 1, 40, "Scan loops, which share the shards")
    takeover_seconds: int = one_of(
        NEXT_MINUTE,
        (SOON, NEXT_MINUTE),
        "How soon (s) ticks go on after an execution of the ticker has died: 60, when the next minute's begins; "
        "or 15, as the last minute's stands by, for some $2.80 a month",
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
        "Provisioned pollers that stand ready for the executors' queues, ten batches each, for some $7 a month each; "
        "shared out as executors are, two at the least. 0: AWS begins with five batches and adds five a second",
    )
    raised_pollers: int = whole(
        0,
        0,
        600,
        "Up to how many the scan lets stand ready ahead of a spike: it looks five minutes ahead once a minute, and "
        "lowers them ten minutes after it; shared out as `pollers` are, which it needs. 0: they stay as they are",
    )
    reserved_concurrency: int = whole(
        0, 0, 1000, "Concurrency that is kept for the scan, the authorizer and the API, for each; 0 keeps none"
    )
    account_concurrency: int = whole(
        1000, 10, 1_000_000, "Concurrency that AWS gives the account: `aws lambda get-account-settings`"
    )
    jobs_table: str = setting("", "A jobs table that exists; without one the stack makes its own", table_name)
    tenants_table: str = setting("", "A tenants table that exists; without one the stack makes its own", table_name)
    kms_key: str = setting(
        "",
        "ARN of a key of KMS, of the same region, that encrypts tables, queues, logs and the first key's secret; its "
        "policy is [its owner's to write](aws.md#a-key-of-your-own). Empty: AWS's own keys encrypt, at no price",
        key_arn,
    )
    warm_runs_per_second: int = whole(
        0,
        0,
        100_000,
        "Runs a second that the jobs table and its indexes are made ready for, at a price; 0 leaves AWS's default",
    )
    scan_memory_mb: int = whole(
        1024,
        512,
        3008,
        "Memory of the scan function, and with it its processor: 1,769 MB are a whole one",
    )
    api_requests_per_second: int = whole(
        50,
        1,
        10_000,
        "How many requests a second the API takes, of all callers together, callbacks too; more get a 429. It "
        "bounds what strangers can cost: `small` suits a team, `large` a spike, `local` is the quota of an account",
    )
    api_burst: int = whole(
        100,
        1,
        5_000,
        "How many of them may come at once: two seconds' worth, so that a script's first moment is not refused",
    )
    egress: str = one_of(
        OPEN,
        (OPEN, FIXED),
        "Which addresses calls come from: `open`, any of AWS's; `fixed`, two of the stack's own, behind NAT gateways "
        "that cost some $73 a month",
    )
    log_retention_days: int = one_of(30, (1, 7, 14, 30, 90, 180, 365), "How long logs are kept")

    @property
    def is_local(self) -> bool:
        """Tell whether this is the embedded AWS, on which nothing outlives its process."""
        return self.stage == "local"

    @property
    def executors(self) -> dict[str, int]:
        """Return the most executors at a time of each priority: shares that nobody else can take."""
        return shares(self.execute_concurrency)

    @property
    def pollers_of(self) -> dict[str, tuple[int, int]]:
        """Return the least and the most provisioned pollers of each priority: the most are its bound. Empty: none."""
        ready = shares(self.pollers) if self.pollers else {}
        most = {
            priority: max(FEWEST_AT_ONCE, count // BATCHES_OF_A_POLLER) for priority, count in self.executors.items()
        }
        return {name: (min(least, most[name], MOST_READY), most[name]) for name, least in ready.items()}

    @property
    def raised_of(self) -> dict[str, int]:
        """Return up to how many pollers of each priority the scan lets stand ready. Empty: it changes none."""
        raised = shares(self.raised_pollers) if self.raised_pollers else {}
        return {name: min(share, self.pollers_of[name][1], MOST_READY) for name, share in raised.items()}

    @property
    def concurrency(self) -> Concurrency:
        """Return how the account's concurrency is shared out."""
        bounds = {name: most * BATCHES_OF_A_POLLER for name, (_, most) in self.pollers_of.items()}
        return Concurrency(self.account_concurrency, bounds or self.executors, self.partitions)

    @property
    def successor_percent(self) -> dict[str, int]:
        """Return of how many executors in a hundred successors take over, of each priority."""
        successors = self.concurrency.successors
        return {priority: min(100, -(-100 * successors // most)) for priority, most in self.executors.items()}

    @property
    def tick_input(self) -> dict[str, int]:
        """Return what an execution of the ticker starts with."""
        standby = STANDBY_SECONDS if self.takeover_seconds == SOON else 0
        return {"partitions": self.partitions, "seconds": LOOP_SECONDS, "standby": standby}

    @classmethod
    def read(cls, context: Mapping[str, object]) -> "Settings":
        """Read the settings of a CDK context; raise `SettingsError` with a line for each wrong one."""
        given = {name: str(value) for name, value in context.items() if name.startswith(PREFIX)}
        of_stage = of_stage_and_tenants(given.get(_key("stage"), "small"), given.get(_key("tenants"), ""))
        known = declared()
        if (name := given.get(_key("name"), known["name"].default)) != known["name"].default:
            of_stage = {**of_stage, "webhook_secrets": f"timeball-{name}/"}  # no stack reads another's
        problems = [
            f"{name} is no setting; there are {', '.join(known)}"
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
        """Say what does not go together."""
        rules, problems = self.functions.rules, []
        if self.partitions > rules.shards:
            problems.append("partitions must not exceed shards: a scan loop without a shard has nothing to do")
        if rules.heartbeat_seconds * 3 > rules.lease_seconds:
            problems.append("heartbeat_seconds must be at most a third of lease_seconds, so that a lost one is made up")
        if rules.lookahead_seconds >= rules.misfire_seconds:
            problems.append("lookahead_seconds must be less than misfire_seconds")
        problems += self._overcommitments()
        if self.raised_pollers and not 0 < self.pollers <= self.raised_pollers:
            problems.append("raised_pollers must be 0 or at least pollers, which must not be 0: only such are raised")
        if self.jobs_table and self.jobs_table == self.tenants_table:
            problems.append("jobs_table and tenants_table must be two tables: whoever may write jobs may make no keys")
        if rules.lead_seconds >= rules.lookahead_seconds:
            problems.append("lead_seconds must be less than lookahead_seconds: nothing comes before it is sent")
        return problems

    def _overcommitments(self) -> list[str]:
        """Say what would take more of the account's concurrency than it has."""
        problems = []
        if 4 * self.execute_concurrency > 3 * self.account_concurrency:
            problems.append(
                "execute_concurrency must be at most three quarters of account_concurrency: "
                "the last is for all other functions"
            )
        problems += filter(None, [self.concurrency.overcommitment])
        if self.pollers * BATCHES_OF_A_POLLER > self.execute_concurrency:
            problems.append("pollers must be at most a tenth of execute_concurrency: each has ten executors at work")
        if not self.pollers and max(self.executors.values()) > MOST_AT_ONCE:
            problems.append(
                "execute_concurrency needs pollers where a priority has more than 1000 executors, as AWS has it"
            )
        if self.functions.rules.runs_per_message > 1 and min(self.executors.values()) < NOTICED:
            problems.append(
                "runs_per_message must be 1 where a priority has less than three executors: of so few messages "
                "its queue does not notice that one tenant has them all"
            )
        if 0 < self.reserved_concurrency < 2 * self.partitions:
            problems.append(
                "reserved_concurrency must be 0 or at least twice partitions: a scan of the old loop "
                "and one of the new may run in each"
            )
        reserved = 3 * self.reserved_concurrency
        if reserved and self.account_concurrency - reserved < max(100, self.execute_concurrency + 2):
            problems.append(
                "reserved_concurrency, taken three times, must leave of account_concurrency what AWS demands (100) "
                "and what the executors and the watch function may take (execute_concurrency and 2)"
            )
        return problems


def declared(kind: type["DataclassInstance"] = Settings) -> dict[str, Field[Any]]:
    """Return each setting by its name, those of the functions, too."""
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
