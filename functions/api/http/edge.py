"""What every operation starts from: the engine's context, the ids in a path, and the problems of what is not there."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from functions.api.http.paging import PAGE_BYTES
from functions.api.http.problems import FieldError, Problem, ProblemError, invalid, not_found
from functions.api.http.request import Request
from timeball.domain.model.ids import JOB_ID, JobKey, RunId
from timeball.domain.model.jobs.job import Job
from timeball.domain.model.tenants.actor import Action, Resource
from timeball.domain.model.tenants.iam_caller import IamCaller
from timeball.domain.usage.prices import PRICES, Prices
from timeball.engine.changes.history import announce
from timeball.engine.context import Context
from timeball.ports.collections.tenants import Tenants
from timeball.ports.event_bus import EventBus
from timeball.ports.trials import Trials
from timeball.targets.aws.allowed import NONE_ALLOWED, AllowedArns
from timeball.targets.http.addresses import PUBLIC_ONLY, AddressRules

RandomBytes = Callable[[], bytes]
"""Returns 16 bytes that nobody has seen before."""


@dataclass(frozen=True)
class Edge:
    """What the operations are handed: the engine's context, where fresh ids come from, what webhooks may reach.

    `describe` returns the OpenAPI document, and `show` the page of it: both are made from the routes, and so cannot be
    imported below them. `wait_until` returns when an instant (ms) has come. Admins of the `operating_tenant` manage all
    `tenants`, which one function alone is given. Tokens of attempts are signed with one of the
    `signing_secrets`.
    `iam_callers` are those who may sign requests instead of sending a key. Costs are told by `prices`, and by
    executors of so many GB. Events travel on the `bus`. Of AWS targets may name what is `allowed`, and
    secrets whose names begin with `webhook_secrets` and their tenant. Trials are made by `trials`. Pages of lists
    end before they have more than `page_bytes`.
    """

    context: Context
    random_bytes: RandomBytes
    describe: Callable[[], str]
    show: Callable[[], str]
    wait_until: Callable[[int], None]
    addresses: AddressRules = PUBLIC_ONLY
    operating_tenant: str = ""
    tenants: Tenants | None = None
    signing_secrets: Callable[[], tuple[str, ...]] | None = None
    iam_callers: Mapping[str, IamCaller] = field(default_factory=dict)
    prices: Prices = PRICES
    executor_gb: float = 0.75
    bus: EventBus | None = None
    allowed: AllowedArns = NONE_ALLOWED
    webhook_secrets: str = "timeball/"
    trials: Trials | None = None
    page_bytes: int = PAGE_BYTES

    @property
    def admin(self) -> Tenants:
        """Tenants and keys. Raises LookupError in a function that has none to do with them."""
        if self.tenants is None:
            raise LookupError("this function was given no tenants table")
        return self.tenants

    @property
    def events(self) -> EventBus:
        """The bus of events. Raises LookupError in a function that has none to do with it."""
        if self.bus is None:
            raise LookupError("this function was given no bus of events")
        return self.bus


def job_key(request: Request) -> JobKey:
    """Return the job that a path names. Raises ProblemError for what no job can be called."""
    name = request.path["jobId"]
    if not JOB_ID.fullmatch(name):
        raise no_job()
    return JobKey(request.tenant, name)


def new_job_key(request: Request) -> JobKey:
    """Return the job that a path names, to be created if it is not there. Raises ProblemError for what is no id."""
    if not JOB_ID.fullmatch(request.path["jobId"]):
        raise invalid([FieldError("jobId", "Give 1 to 64 letters, digits, - or _.")])
    return job_key(request)


def read_job_row(edge: Edge, key: JobKey, *, with_work: bool = False) -> Job:
    """Return a job's row. Raises ProblemError if there is none."""
    job = edge.context.store.jobs.read([key], with_work=with_work)[0]
    if job is None:
        raise no_job()
    return job


def no_job() -> ProblemError:
    """Return the problem of an id that names no job of this caller."""
    return not_found("You have no job with this id.")


def note(edge: Edge, request: Request, action: Action, *resources: Resource) -> None:
    """Note for the audit log what is asked of anything but a job, before it is done; a change of a job notes itself."""
    announce(edge.context, request.tenant, request.by, action, resources)


def job_cancelled() -> ProblemError:
    """Return the problem of a job that was cancelled, and so runs no more."""
    return ProblemError(Problem.JOB_ENDED, "The job is cancelled; create another one to run it again.")


def run_id_in(request: Request) -> RunId:
    """Return the run that a path names. Raises ProblemError for what no run can be called."""
    run_id = RunId.parse(request.tenant, request.path["runId"])
    if run_id is None:
        raise no_run()
    return run_id


def no_run() -> ProblemError:
    """Return the problem of an id that names no run of this caller."""
    return not_found("You have no run with this id; list a job's runs at /v1/jobs/{jobId}/runs.")
