"""The stack: it composes the constructs and decides nothing."""

from aws_cdk import Annotations, CfnOutput, Stack
from constructs import Construct

from infra import emulated
from infra.admin import Admin
from infra.alarm_settings import OFF
from infra.alarms import Alarms
from infra.api import Api
from infra.archive import ArchiveFunction
from infra.bus import Bus
from infra.canary import Canary, canary_target
from infra.code import code
from infra.console import Console, console_url
from infra.dashboard import Dashboard
from infra.dependencies import Dependencies
from infra.deployment import DeploymentCheck
from infra.encryption import let_use_key
from infra.events import Events
from infra.executors import Executors
from infra.functions import FunctionMaker
from infra.lifecycle import LifecycleFunction
from infra.queues import Queues
from infra.rollout import Rollout
from infra.rollout_settings import GRADUAL
from infra.scan import ScanFunction
from infra.settings import Settings
from infra.storage import Storage
from infra.target import Target
from infra.ticker import Ticker
from infra.watch import WatchFunction
from timeball.runtime.settings import Environment


class TimeballStack(Stack):
    """One Timeball."""

    def __init__(self, scope: Construct, settings: Settings) -> None:
        super().__init__(scope, settings.name, description="Timeball: a job scheduler that keeps its seconds")
        storage = Storage(self, "Storage", settings)
        queues = Queues(self, "Queues", settings)
        target = Target.of(settings)
        if target.compiler is None:
            Annotations.of(self).add_warning_v2("timeball:no-bytecode", target.without_compiler)
        dependencies = Dependencies(self, "Dependencies", target)
        ours = code(target)
        api = Api(self, "Api", settings)
        variables = _environment(settings, storage, queues, api)
        maker = FunctionMaker(settings, target, ours, dependencies.layer, variables)
        deployment = DeploymentCheck(self, "Deployment", maker, storage)

        admin = Admin(self, "Admin", maker, storage)
        bus = Bus(self, "Bus", settings, queues)
        api.serve(maker, storage, queues, admin.called, bus)
        _add_console(self, maker, api)
        scan = ScanFunction(self, "Scan", maker, storage, queues)
        executors = Executors(self, "Executors", maker, storage, queues)
        api.grant_trials("execute-low")
        if settings.raised_of:
            scan.grant_scaling(executors.provisioned, settings)
        WatchFunction(self, "Look", maker, storage, queues)
        Events(self, "Received", maker, storage, queues, bus)
        if settings.archiving.is_on:
            archive = ArchiveFunction(self, "Archive", maker, storage, queues)
            CfnOutput(self, "ArchiveBucket", value=archive.bucket.bucket_name)
        if settings.functions.lifecycle_events:
            LifecycleFunction(self, "Lifecycle", maker, storage, queues, bus)
        ticker = Ticker(self, "Ticker", scan.called, settings)
        if settings.has_canary:
            Canary(self, "Canary", maker, storage, queues, executors.by_priority.values())
        if settings.has_alarms:
            self._watch(settings, queues)
        before = {deployment.node.id, dependencies.node.id}
        deployment.around([child for child in self.node.children if child.node.id not in before])

        outputs = {
            "ApiUrl": api.url,
            "JobsTable": storage.jobs.table_name,
            "TenantsTable": storage.tenants.table_name,
            "FirstKeyParameter": admin.first_key,
            "TickerArn": ticker.machine.state_machine_arn,
        }
        outputs["WatchQueue"] = queues.watch.queue.queue_url
        outputs["EventBus"] = bus.name
        outputs["EventsQueue"] = queues.events.queue.queue_url
        outputs["UnreadableQueue"] = queues.unreadable.queue_url
        for priority, feed in queues.by_priority.items():
            outputs[f"{priority.title()}Queue"] = feed.queue.queue_url
        for name, value in outputs.items():
            CfnOutput(self, name, value=value)
        let_use_key(self, settings)
        if settings.is_local:
            emulated.allow_batches(self)

    def _watch(self, settings: Settings, queues: Queues) -> None:
        """Add the alarms, and what needs them."""
        alarms = Alarms(self, "Alarms", settings, queues)
        if settings.rolling.rollout == GRADUAL:
            Rollout(self, "Rollout", settings, alarms.by_name)
        if settings.alarming.dashboard != OFF:
            Dashboard(self, "Dashboard", settings, queues, [*alarms.by_name.values()])


def _add_console(scope: Construct, maker: FunctionMaker, api: Api) -> None:
    if maker.settings.console != OFF:
        Console(scope, "Console", maker, api)


def _environment(settings: Settings, storage: Storage, queues: Queues, api: Api) -> dict[str, str]:
    console = "" if settings.console == OFF else console_url(settings, api)
    variables = Environment(
        jobs_table=storage.jobs.table_name,
        **{f"queue_{name}": feed.queue.queue_url for name, feed in queues.by_priority.items()},
        queue_watch=queues.watch.queue.queue_url,
        queue_unreadable=queues.unreadable.queue_url,
        console=console,
        settings=settings.functions,
    ).written()
    if settings.has_canary:  # its ARN has a region and an account that are not known yet, so it is no part of a setting
        allowed = [settings.functions.targets, canary_target(settings)]
        variables["TIMEBALL_TARGETS"] = ",".join(filter(None, allowed))
    return variables
