"""The demo's scenario, held to the promises: nothing lost, nothing doubled, nothing early, all in the ledger."""

from collections.abc import Callable

import pytest

from local.demo_client import ApiClient
from local.demo_scenario import BURST, EVERY, NOW, RETRYING, run_scenario
from local.demo_table import each_lateness, figures, table
from local.demo_tally import percentile, total
from local.receiver import Receiver
from tests.effort import busyness

pytestmark = pytest.mark.xdist_group("end_to_end")

SANE_P99_MS = 5_000
"""Far above what Timeball promises: a machine that runs the whole suite at once is no place to measure."""


def test_nothing_is_lost_doubled_or_early_and_the_ledger_says_what_the_receiver_saw(
    client: ApiClient, receiver: Receiver, record_property: Callable[[str, object], None]
) -> None:
    outcome = run_scenario(client, receiver, lambda _: None, with_cron=False)

    tallies = outcome.progress.tallies
    whole = total(tallies.values())
    record_property("end to end, lateness", figures(whole.lateness))
    seen = "\n".join([*table(tallies), *each_lateness(tallies)])
    assert {name: one.due for name, one in tallies.items()} == {NOW: 1, RETRYING: 1, EVERY: 16, BURST: 50}
    assert (whole.arrived, whole.lost, whole.doubled, whole.early) == (whole.due, 0, 0, 0), seen
    assert outcome.disagreements == ()
    runs = [run for runs in outcome.ledger.runs.values() for run in runs]
    assert {run["status"] for run in runs} == {"succeeded"}
    (retried,) = [run for run in runs if run["attempt"] > 1]
    assert [one["outcome"] for one in retried["attempts"]] == ["failed", "failed", "succeeded"]
    assert [one["httpStatus"] for one in retried["attempts"]] == [500, 500, 200]
    p99 = percentile(whole.lateness, 0.99)
    assert p99 is not None
    assert p99 < SANE_P99_MS * busyness(), seen
