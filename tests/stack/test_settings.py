"""Settings are read from the CDK's context, and a wrong one is refused by its name."""

import pytest

from infra.app import refuse_other_partitions
from infra.settings import PREFIX, Settings, as_markdown, declared
from infra.stages import STAGES
from timeball.runtime.settings import Environment
from timeball.setting import SettingsError


def _read(**given: object) -> Settings:
    return Settings.read({PREFIX + name: value for name, value in given.items()})


def test_without_a_stage_it_is_the_small_one() -> None:
    assert _read() == _read(stage="small")


def test_a_setting_overrides_the_value_of_its_stage() -> None:
    assert _read(stage="large").functions.rules.shards == 320
    assert _read(stage="large", shards="48").functions.rules.shards == 48


def test_no_stack_of_an_account_reads_the_secrets_of_another() -> None:
    of = {name: _read(name=name).functions.webhook_secrets for name in ("Timeball", "blue", "blue-2")}
    assert _read().functions.webhook_secrets == of["Timeball"] == "timeball/"
    assert not any(one != other and one.startswith(other) for one in of.values() for other in of.values())
    assert len({*of.values()}) == len(of)
    assert _read(name="blue", webhook_secrets="own/").functions.webhook_secrets == "own/"


@pytest.mark.parametrize("stage", STAGES)
def test_tenants_that_are_strangers_have_quotas_of_all_kinds(stage: str) -> None:
    trusted, strangers = (_read(stage=stage, tenants=who).functions.rules.quotas for who in ("trusted", "strangers"))
    assert (trusted.active_jobs, trusted.submits_per_second, trusted.runs_at_once) == (0, 0, 0)
    assert all((strangers.active_jobs, strangers.submits_per_second, strangers.runs_at_once))
    assert strangers.runs_created_per_minute
    assert strangers.runs_at_once == max(1, min(_read(stage=stage).executors.values()) // 2)
    for quotas in (trusted, strangers):
        always = quotas.least_period_seconds, quotas.payload_bytes, quotas.running_backfills
        assert always == (1, 262_144, 10)
    assert _read(stage=stage).functions.rules.quotas == trusted


def test_a_given_quota_overrides_the_default_for_strangers() -> None:
    assert _read(tenants="strangers", runs_at_once=7).functions.rules.runs_at_once == 7


GATEWAY = "https://a1b2.execute-api.eu-central-1.amazonaws.com/console"
LOCAL = "http://127.0.0.1:4566/_aws/execute-api/a1b2/console"
OWN = "https://timeball.example/console"


@pytest.mark.parametrize(
    ("deployed", "setting", "in_answers", "in_notices"),
    [
        ("", "", None, ""),  # no console
        ("", OWN, None, ""),
        (GATEWAY, "", "", GATEWAY),  # answers name the host of their request
        (GATEWAY, OWN, OWN, OWN),
        (LOCAL, "", LOCAL, LOCAL),  # a host alone does not lead there
    ],
)
def test_the_console_has_an_address_in_answers_and_one_in_notices(
    deployed: str, setting: str, in_answers: str | None, in_notices: str
) -> None:
    told = dict.fromkeys(("JOBS_TABLE", *(f"QUEUE_{one.upper()}" for one in _QUEUES)), "a text")
    told |= {"CONSOLE": deployed, "CONSOLE_URL": setting}
    found = Environment.read({f"TIMEBALL_{name}": value for name, value in told.items()})
    assert (found.console_in_answers, found.console_in_notices) == (in_answers, in_notices)


_QUEUES = ("high", "normal", "low", "watch", "unreadable")


@pytest.mark.parametrize("address", ["timeball.example", "https://", "https://a.example/?x", "https://a.example/#/"])
def test_the_consoles_address_is_one_without_a_query(address: str) -> None:
    with pytest.raises(SettingsError, match="console_url"):
        _read(console_url=address)


@pytest.mark.parametrize("stage", STAGES)
def test_no_tenant_may_use_up_the_requests_of_a_deployment(stage: str) -> None:
    settings = _read(stage=stage)
    assert 0 < 2 * settings.functions.rules.requests_per_second <= settings.api_requests_per_second


def test_private_networks_are_targets_only_in_the_local_stage() -> None:
    assert _read(stage="local").functions.private_targets == "127.0.0.0/8"
    assert _read(stage="small").functions.private_targets == _read(stage="large").functions.private_targets == ""


@pytest.mark.parametrize(
    "given",
    [
        # The smallest numbers with which nothing waits for another, and the fewest executors that AWS accepts.
        {"account_concurrency": 14, "execute_concurrency": 6, "runs_per_message": 1},
        {"stage": "large"},
        {"stage": "large", "reserved_concurrency": 82},
        {"stage": "local"},
    ],
)
def test_settings_within_an_accounts_concurrency_are_accepted(given: dict[str, object]) -> None:
    settings = _read(**given)
    assert settings.account_concurrency - settings.execute_concurrency >= settings.account_concurrency / 4


def test_a_region_of_another_partition_is_refused_before_anything_is_deployed() -> None:
    refuse_other_partitions({"CDK_DEFAULT_REGION": "us-gov-west-1"})
    refuse_other_partitions({})
    with pytest.raises(SettingsError, match="eusc-de-east-1 is in another"):
        refuse_other_partitions({"CDK_DEFAULT_REGION": "eusc-de-east-1"})


# Each case: the executors in all, and those of each priority.
SHARES = {
    "the least": (6, {"high": 2, "normal": 2, "low": 2}),
    "some": (15, {"high": 8, "normal": 5, "low": 2}),
    "small": (150, {"high": 91, "normal": 52, "low": 7}),
    "large": (750, {"high": 451, "normal": 262, "low": 37}),
}


@pytest.mark.parametrize("case", SHARES)
def test_high_has_most_executors_and_low_has_a_share_of_its_own(case: str) -> None:
    in_all, by_priority = SHARES[case]
    assert _read(execute_concurrency=in_all, runs_per_message=1).executors == by_priority


def test_a_priority_has_its_share_of_the_pollers_and_no_more_than_its_executors_need() -> None:
    assert _read(stage="small").pollers_of == {}
    assert _read(stage="large").pollers_of == {"high": (11, 45), "normal": (7, 26), "low": (2, 3)}
    assert _read(stage="large", pollers=75).pollers_of == {"high": (45, 45), "normal": (26, 26), "low": (3, 3)}
    assert _read(stage="small", pollers=1).pollers_of == {"high": (2, 9), "normal": (2, 5), "low": (2, 2)}


def test_pollers_are_raised_no_further_than_executors_can_use_them() -> None:
    assert _read(stage="large").raised_of == {}
    assert _read(stage="large", raised_pollers=40).raised_of == {"high": 24, "normal": 14, "low": 2}
    most = {"execute_concurrency": 10_000, "account_concurrency": 15_000}  # and AWS allows at most 200 provisioned ones
    assert _read(stage="large", **most, pollers=600).pollers_of["high"] == (200, 600)
    assert _read(stage="large", **most, raised_pollers=600).raised_of == {"high": 200, "normal": 200, "low": 30}
    assert _read(stage="large", raised_pollers=600).raised_of == {"high": 45, "normal": 26, "low": 3}


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"stage": "medium"}, "stage=medium must be one of local, small, large"),
        ({"shard": 8}, "shard is not a setting"),  # a typo must not silently become a default
        ({"shards": "many"}, "shards=many must be a whole number from 1 to 1024"),
        ({"shards": -1}, "shards=-1 must be a whole number"),
        ({"shards": 2, "partitions": 4}, "partitions must not exceed shards"),
        ({"lease_seconds": 30, "heartbeat_seconds": 15}, "a third of lease_seconds"),
        ({"lookahead_seconds": 20, "misfire_seconds": 20}, "lookahead_seconds must be less than misfire_seconds"),
        ({"lookahead_seconds": 5, "lead_seconds": 5}, "lead_seconds must be less than lookahead_seconds"),
        ({"lead_seconds": 10}, "must be a whole number from 0 to 9"),  # an executor's time allows no more
        ({"lookahead_seconds": 30}, "must be a whole number from 1 to 20"),
        ({"private_targets": "10.0.0.0/8, everywhere"}, "must be networks"),
        ({"kms_key": "alias/timeball"}, "kms_key=alias/timeball must be the ARN of a key"),
        ({"kms_key": "arn:aws:kms:eu-central-1:111122223333:alias/timeball"}, "must be the ARN of a key"),
        ({"kms_key": "1234abcd-12ab-34cd-56ef-1234567890ab"}, "must be the ARN of a key"),
        ({"kms_key": "arn:aws:kms:eu-central-1:111122223333:key/*"}, "must be the ARN of a key"),
        ({"kms_key": "arn:aws:s3:eu-central-1:111122223333:key/1234"}, "must be the ARN of a key"),
        ({"name": "time ball"}, "name=time ball must begin with a letter"),
        ({"execute_concurrency": 0}, "must be a whole number from 6 to 10000"),  # there is no value for "no bound"
        ({"execute_concurrency": 5}, "must be a whole number from 6 to 10000"),  # AWS's minimum, for each priority
        ({"account_concurrency": 100}, "execute_concurrency must be at most three quarters"),
        (  # a new account
            {"account_concurrency": 10, "execute_concurrency": 6, "runs_per_message": 1},
            "account_concurrency must be at least 14: 6 executors, 0 successors, 2 for events, 2 to watch, 2 scans",
        ),
        ({"confirm": "small"}, "must be a stage, a hyphen and a number of shards, such as small-4"),
        ({"partitions": 4, "reserved_concurrency": 7}, "must be 0 or at least twice partitions"),
        ({"reserved_concurrency": 301}, "account_concurrency less three times reserved_concurrency"),
        ({"execute_concurrency": 750, "reserved_concurrency": 83}, "and what the executors"),  # 249 + 750 + 2
        ({"jobs_table": "a table"}, "must be the name of a table that exists, or empty"),
        ({"jobs_table": "same", "tenants_table": "same"}, "must differ"),
        ({"pollers": 16}, "pollers must be at most a tenth of execute_concurrency"),
        (
            {"execute_concurrency": 1700, "account_concurrency": 3000},
            "execute_concurrency needs pollers if a priority",
        ),
        ({"retention_days": 91}, "history_days must be at least 105, 14 more than retention_days: no run may outlive"),
        ({"raised_pollers": 40}, "raised_pollers must be 0 or at least pollers, and then"),
        ({"stage": "large", "raised_pollers": 19}, "raised_pollers must be 0 or at least pollers"),
        ({"execute_concurrency": 40}, "runs_per_message must be 1 if a priority has less than three executors"),
        ({"writes": "transaction"}, "must be one of batch, single"),
    ],
)
def test_a_setting_that_cannot_be_deployed_is_refused_by_its_name(given: dict[str, object], told: str) -> None:
    with pytest.raises(SettingsError, match=told):
        _read(**given)


def test_every_mistake_is_reported_at_once() -> None:
    with pytest.raises(SettingsError) as refusal:
        _read(shards="many", writes="transaction", colour="red")
    assert len(str(refusal.value).splitlines()) == 3


def test_each_setting_has_a_row_in_the_documentation() -> None:
    for name in declared():
        assert f"`{PREFIX}{name}`" in as_markdown()


def test_stages_have_values_only_for_existing_settings() -> None:
    assert {name for of_stage in STAGES.values() for name in of_stage} <= declared().keys()


QUEUES = {f"queue_{name}": f"https://sqs/{name}" for name in ("high", "normal", "low", "watch", "unreadable")}


def test_a_function_reads_the_settings_that_the_stack_wrote() -> None:
    settings = _read(stage="large", lease_seconds=40, private_targets="10.0.0.0/8", writes="single").functions
    environment = Environment(jobs_table="jobs", settings=settings, **QUEUES)
    assert Environment.read(environment.written()) == environment
    assert environment.settings.rules.lease_seconds == 40


def test_a_function_refuses_what_the_stack_would_refuse() -> None:
    written = Environment(jobs_table="jobs", settings=_read().functions, **QUEUES).written()
    with pytest.raises(SettingsError, match="TIMEBALL_SHARDS=0 must be a whole number from 1 to 1024"):
        Environment.read(written | {"TIMEBALL_SHARDS": "0"})


def test_a_canary_runs_only_with_alarms_and_not_more_often_than_each_minute() -> None:
    assert _read(alarms="on").has_canary
    assert not _read(alarms="on", canary_seconds="0").has_canary
    assert not _read().has_canary
    with pytest.raises(SettingsError, match="canary_seconds must be 0 or at least 60"):
        _read(alarms="on", canary_seconds="30")


def test_alarms_need_metrics() -> None:
    assert _read(alarms="on").has_alarms
    assert not _read(stage="local", alarms="on").has_alarms
    with pytest.raises(SettingsError, match="alarms need metrics"):
        _read(alarms="on", metrics="off")


@pytest.mark.parametrize("subscriber", ["oncall", "http://example.com", "slack:t/c", "a@b@c", "slack:T0123"])
def test_a_subscriber_of_alarms_in_no_known_form_is_refused(subscriber: str) -> None:
    assert _read(alarm_subscribers="a@b.example, https://example.com/x,slack:T0/C0").alarming.alarm_subscribers
    with pytest.raises(SettingsError, match="is none of them"):
        _read(alarm_subscribers=f"a@b.example,{subscriber}")
