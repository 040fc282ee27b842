"""Faults of lists of runs: a failure is missing, or a run comes twice."""

from dataclasses import replace

from tests.simulation.faults.hands import Fault, instead
from timeball.domain.model.runs.notable import is_notable
from timeball.domain.model.runs.run import Run, RunState
from timeball.engine.context import Context
from timeball.engine.runs.list_runs import RunsCursor, RunsPage, RunsQuery, list_runs


def _has_no_entry_of_failures(run: Run) -> bool:
    return run.state is not RunState.FAILED and is_notable(run)


def _from_its_last_run_on(context: Context, asked: RunsQuery, limit: int, start: RunsCursor | None) -> RunsPage:
    page = list_runs(context, asked, limit, start)
    if len(page.cursors) < 2 or page.following != page.cursors[-1]:
        return page
    return replace(page, following=page.cursors[-2])


FAULTS = {
    "a page begins with the last run of the page before": Fault(
        instead(list_runs, _from_its_last_run_on), "no run is listed twice", scene="a user lists runs that fail"
    ),
    "a failed run has no entry in the index": Fault(
        instead(is_notable, _has_no_entry_of_failures),
        "a failed run is listed two seconds later",
        scene="a user lists runs that fail",
    ),
}
