"""The API as users of stories call it: its own compositions of verbs, without HTTP."""

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from tests.simulation.actors.client import Client
from tests.simulation.world.process import simulated
from timeball.api.events.subscribing import give_rules_back, let_go, unheard
from timeball.api.http.edge import ApiContext
from timeball.api.http.exchange import Request
from timeball.api.http.quotas import count_again, count_submits, uncount_submits
from timeball.api.jobs.changing import revise_job, with_parents
from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import JobKey
from timeball.domain.model.jobs.job import Job, JobSpec
from timeball.domain.model.tenants.actor import NO_ACTOR, Action, Actor
from timeball.domain.model.terms.dependency import Parent
from timeball.engine.changes.change import Changed
from timeball.engine.context import Context
from timeball.engine.scheduling.submit import Submission, Submitted

Verb = Callable[..., Any]


def _edge_of(client: Client, context: Context) -> ApiContext:
    """Return the context of the API's operations in the process that serves a client."""
    return ApiContext(context, _never, _never, _never, _never, bus=simulated(client.story.bus, client.process))


def _never(*_: object) -> NoReturn:
    raise AssertionError("no change of a job asks for that")


def submitting(client: Client, verb: Verb) -> Verb:
    """Return how jobs are created: the tenant's quotas count them, and then the bus matches their patterns.

    The returned verb raises ProblemError for jobs over a quota.
    """

    def submit(context: Context, specs: Sequence[JobSpec], now: int, by: Actor) -> list[Submitted]:
        edge, request = _edge_of(client, context), Request(specs[0].key.tenant, by, quotas=None)
        counted = count_submits(edge, request, len(specs)) if client.story.hardships.has_submit_budgets else None
        asked_at = context.clock.now()
        assert not unheard(edge, specs, asked_at)
        counted = counted and count_again(edge, request, counted)
        submitted = [*verb(context, specs, now, by)]
        stood = [one.outcome is not Submission.CREATED for one in submitted]
        if counted:
            uncount_submits(edge, counted, sum(stood))
        give_rules_back(edge, [spec for spec, is_there in zip(specs, stood, strict=True) if is_there], asked_at)
        return submitted

    return submit


def revising(client: Client) -> Verb:
    """Return how a job is changed: its calendar and its new pattern are noted first, and its old pattern removed last.

    The returned verb raises ProblemError if the calendar does not exist.
    """

    def revise(context: Context, pairs: Sequence[tuple[Job, JobSpec]], action: Action, by: Actor) -> list[Changed]:
        ((job, spec),) = pairs
        return [revise_job(_edge_of(client, context), job, spec, action, by)]

    return revise


def rewiring(client: Client) -> Verb:
    """Return how a job gets other parents, as by a PATCH of `dependsOn`.

    The returned verb raises ProblemError with the fault of the parents.
    """

    def rewire(context: Context, key: JobKey, parents: tuple[Parent, ...], by: Actor) -> list[Changed | str]:
        (job,) = context.store.jobs.read([key], with_work=True)
        if job is None or not job.is_open:
            return ["it is too late"]
        for_each = job.spec.for_each if job.spec.for_each in [parent.job_id for parent in parents] else None
        edge, wanted = _edge_of(client, context), evolve(job.spec, depends_on=parents, for_each=for_each)
        spec = with_parents(edge, Request(key.tenant, by), job, wanted)
        return [revise_job(edge, job, spec, Action.PATCH, by)]

    return rewire


def cancelling(client: Client, verb: Verb) -> Verb:
    """Return how a job is cancelled: its pattern is removed too, unless another job has it."""

    def cancel(context: Context, keys: Sequence[tuple[JobKey, int | None]], by: Actor = NO_ACTOR) -> list[Changed]:
        (done,) = verb(context, keys, by)
        if done.job is not None and not done.job.is_open:
            let_go(_edge_of(client, context), done.job.spec)
        return [done]

    return cancel
