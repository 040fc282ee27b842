"""The pages of the console that show a job, a run, a cycle: what follows the console's address in theirs."""

from urllib.parse import quote

from timeball.domain.model.ids import RunId


def page_of_job(job_id: object) -> str:
    """Return the page of a job."""
    return f"/#/jobs/{_part(job_id)}"


def page_of_run(run: object) -> str:
    """Return the page of a run, by its id."""
    return f"/#/runs/{_part(run)}"


def page_of_cycle(job_id: object, cycle_id: object) -> str:
    """Return the page of a cycle of a job's graph."""
    return f"/#/cycles/{_part(job_id)}/{_part(cycle_id)}"


def page_of(job_id: str, run: RunId | None) -> str:
    """Return the page of a run, or that of a job if there is none."""
    return page_of_job(job_id) if run is None else page_of_run(run)


def _part(name: object) -> str:
    return quote(str(name), safe="")
