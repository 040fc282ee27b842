"""The start of every operation: the engine's context, the ids in a path, and the problems of missing resources."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from timeball.api.http.exchange import Request
from timeball.api.http.problems import FieldError, Problem, ProblemError, invalid, not_found
from timeball.domain.model.ids import JOB_ID, JobKey, RunId
from timeball.domain.model.jobs.job import Job
from timeball.domain.model.tenants.actor import Action, IamCaller, Resource
from timeball.domain.sharing.submit_budget import used_until
from timeball.domain.usage.bill import PRICES, Prices
from timeball.engine.changes.history import announce
from timeball.engine.context import Context
from timeball.ports.event_bus import EventBus
from timeball.ports.target import Trials
from timeball.ports.tenants import Tenants
from timeball.targets.aws.allowed import NONE_ALLOWED, AllowedArns
from timeball.targets.http.addresses import PUBLIC_ONLY, AddressRules

PAGE_BYTES: Final = 5_000_000
"""The most bytes of a page: Lambda refuses answers over 6,291,556 bytes, as documented by AWS."""

RandomBytes = Callable[[], bytes]
"""Returns 16 fresh random bytes."""


CODES_PER_SECOND: Final = 5
"""How many one-time codes a process examines in a second, on average."""


class CodeRate:
    """Bounds how many one-time codes a process examines: strangers send them, and each one costs a read."""

    def __init__(self) -> None:
        self._used_until_us = 0

    def takes(self, now: int) -> bool:
        """Count a code; say whether it is within the bound."""
        after = used_until(self._used_until_us, now, CODES_PER_SECOND, 2 * CODES_PER_SECOND)
        self._used_until_us = self._used_until_us if after is None else after
        return after is not None


@dataclass(frozen=True)
class ApiContext:
    """What each operation receives besides the request."""

    context: Context
    """The engine's context."""
    random_bytes: RandomBytes
    """The source of fresh ids."""
    describe: Callable[[str], str]
    """Returns the OpenAPI document of an API with a base path.

    It is made from the routes, so the rooms below them cannot import it.
    """
    show: Callable[[], str]
    """Returns the OpenAPI document as a page; not importable here for the same reason."""
    wait_until: Callable[[int], None]
    """Returns when an instant (ms) has come."""
    addresses: AddressRules = PUBLIC_ONLY
    """Which addresses webhooks may call."""
    operating_tenant: str = ""
    """The tenant whose admins manage all tenants."""
    tenants: Tenants | None = None
    """Tenants and keys; only the function for admins has them."""
    signing_secrets: Callable[[], tuple[str, ...]] | None = None
    """Returns the secrets of which one signed each token of an attempt."""
    iam_callers: Mapping[str, IamCaller] = field(default_factory=dict)
    """The AWS callers that may sign requests instead of sending a key, by principal."""
    prices: Prices = PRICES
    """The prices by which costs are calculated."""
    retention_days: int = 90
    """How long finished jobs and runs are kept."""
    executor_gb: float = 0.75
    """The memory of an executor (GB), for costs."""
    bus: EventBus | None = None
    """The bus of events."""
    allowed: AllowedArns = NONE_ALLOWED
    """The ARNs that targets of AWS may name."""
    webhook_secrets: str = "timeball/"
    """The prefix of the names of secrets that may sign webhooks; the tenant's name follows it."""
    trials: Trials | None = None
    """Makes trials of targets."""
    console: str | None = None
    """The console's address; empty: it is on the host of each request; None: none is deployed."""
    codes: CodeRate = field(default_factory=CodeRate)
    """How many one-time codes this process examines."""
    page_bytes: int = PAGE_BYTES
    """The most bytes of a page of a list, as Lambda sends it."""

    @property
    def admin(self) -> Tenants:
        """Return the tenants and keys. Raises LookupError in a function that was not given them."""
        if self.tenants is None:
            raise LookupError("this function was given no tenants table")
        return self.tenants

    @property
    def events(self) -> EventBus:
        """Return the bus of events. Raises LookupError in a function that was not given it."""
        if self.bus is None:
            raise LookupError("this function was given no bus of events")
        return self.bus


def job_key(request: Request) -> JobKey:
    """Return the job that a path names. Raises ProblemError if the name cannot be a job's id."""
    name = request.path["jobId"]
    if not JOB_ID.fullmatch(name):
        raise no_job()
    return JobKey(request.tenant, name)


def new_job_key(request: Request) -> JobKey:
    """Return the job that a path names, which the request may create. Raises ProblemError if the name is not an id."""
    if not JOB_ID.fullmatch(request.path["jobId"]):
        raise invalid([FieldError("jobId", "Give 1 to 64 letters, digits, - or _.")])
    return job_key(request)


def read_job_row(edge: ApiContext, key: JobKey, *, with_work: bool = False) -> Job:
    """Return a job's row. Raises ProblemError if there is none."""
    job = edge.context.store.jobs.read([key], with_work=with_work)[0]
    if job is None:
        raise no_job()
    return job


def no_job() -> ProblemError:
    """Return the problem for an id that names no job of this caller."""
    return not_found("You have no job with this id.")


def note(edge: ApiContext, request: Request, action: Action, *resources: Resource) -> None:
    """Record an action on anything but a job in the list of changes, before it is done.

    A change of a job records itself.
    """
    announce(edge.context, request.tenant, request.by, action, resources)


def job_cancelled() -> ProblemError:
    """Return the problem for a cancelled job, which cannot run again."""
    return ProblemError(Problem.JOB_ENDED, "The job is cancelled; create another one to run it again.")


def no_tenant() -> ProblemError:
    """Return the problem for a name that is not that of a tenant which this caller may see."""
    return not_found("You see no tenant of this name; list the tenants that you may see at /v1/admin/tenants.")


def run_id_in(request: Request) -> RunId:
    """Return the run that a path names. Raises ProblemError if the name cannot be a run's id."""
    run_id = RunId.parse(request.tenant, request.path["runId"])
    if run_id is None:
        raise no_run()
    return run_id


def no_run() -> ProblemError:
    """Return the problem for an id that names no run of this caller."""
    return not_found("You have no run with this id; list a job's runs at /v1/jobs/{jobId}/runs.")
