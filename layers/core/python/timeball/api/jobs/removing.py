"""Cancel a job on which others may depend: the request says what becomes of these."""

from typing import Final

from timeball.api.events.subscribing import let_go
from timeball.api.http.access import Access, are_within
from timeball.api.http.edge import ApiContext, job_key
from timeball.api.http.exchange import Reply, Request, expected_version
from timeball.api.http.problems import FieldError, Problem, ProblemError, refuse, shortened
from timeball.api.http.request_model import unknown_name
from timeball.api.http.route import Router
from timeball.api.jobs.answers import JobAnswer
from timeball.api.jobs.changing import changed_answer, changed_job
from timeball.domain.model.terms.dependency import Children
from timeball.domain.time.instants import SECOND_MS
from timeball.engine.changes.remove import Removal, Removed, TooDeepError, remove
from timeball.engine.dependencies.walking import WALK_MS

router = Router()

MAX_CHILDREN: Final = 100
"""The most children that a refusal names."""


@router.delete(
    "/v1/jobs/{jobId}",
    "Cancel a job; say what becomes of the jobs that depend on it",
    JobAnswer,
    query=("children",),
    headers=("If-Match",),
    problems=(Problem.JOB_ENDED, Problem.HAS_CHILDREN, Problem.GRAPH_TOO_LARGE),
    access=Access.SUBMIT,
)
def cancel_job(edge: ApiContext, request: Request) -> Reply:
    """Cancel a job: no further call of it leaves. A job with open children is refused unless the request names them."""
    version, key, children = expected_version(request), job_key(request), _children(request)
    try:
        removed = remove(edge.context, Removal(key, version, children, request.bounds), request.by)
    except TooDeepError:
        raise _too_deep() from None
    if removed.changed is None:
        raise has_children(request, removed)
    job = changed_job(removed.changed, "cancel")
    let_go(edge, job.spec)
    return changed_answer(edge, request, job, removed.changed)


def _children(request: Request) -> Children | None:
    """Return what the query says about children. Raises ProblemError that names every bad parameter."""
    given, known = request.query.get("children"), [choice.value for choice in Children]
    errors = [
        FieldError(shortened(name), unknown_name("parameter", name, request.parameters))
        for name in request.query
        if name not in request.parameters
    ]
    if given is not None and given not in known:
        errors.append(FieldError("children", f"Give {' or '.join(known)}, or leave it out."))
    refuse(errors)
    return None if given is None else Children(given)


def _too_deep() -> ProblemError:
    return ProblemError(
        Problem.GRAPH_TOO_LARGE,
        f"The jobs that depend on this one form more levels than are read within {WALK_MS // SECOND_MS} s; cancel one "
        "that is further down first, with children=cancel.",
    )


def has_children(request: Request, removed: Removed) -> ProblemError:
    """Return the problem of a cancel that is refused for open children; it names those that the caller may see."""
    seen = [job.key.job_id for job in removed.refused_for if are_within(job.spec.tags, request.bounds)]
    if len(seen) < len(removed.refused_for):
        detail = "Jobs that your key may not see depend on this job, so it was not cancelled; ask an operator to do it."
    else:
        shown = f"{', '.join(seen[:3])}{'' if len(seen) <= 3 else f' and {len(seen) - 3} more'}"
        detail = f"Open jobs depend on this one ({shown}); add ?children=detach or ?children=cancel."
    return ProblemError(Problem.HAS_CHILDREN, detail, children=seen[:MAX_CHILDREN])
