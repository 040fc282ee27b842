"""How many files a plain run passes, and how deep the calls of a cancel are."""

from tests.house.paths import CALLS, FILES, PACKAGE, cancelled_job, plain_run, way_of


def test_a_plain_run_passes_no_more_files_than_the_bar_allows() -> None:
    way = plain_run()
    assert len(way.files) <= FILES, way.files


def test_a_plain_run_begins_with_its_submit_and_passes_its_scan_and_its_claim() -> None:
    files = list(plain_run().files)
    steps = ["scheduling/submit", "scanning/scan", "scheduling/dispatch", "execution/execute", "execution/claim"]
    positions = [files.index(f"engine/{step}.py") for step in steps]
    assert positions == sorted(positions)


def test_a_cancel_calls_no_deeper_than_the_bar_allows() -> None:
    way = cancelled_job()
    assert len(way.deepest) <= CALLS, way.deepest
    assert way.deepest[0] == "engine/changes/change.py: cancel"


def test_only_functions_of_the_package_count() -> None:
    way = way_of(lambda: sorted([2, 1], key=lambda one: -one))
    assert (PACKAGE.endswith("/timeball/"), way.files, way.returns, way.deepest) == (True, {}, 0, [])
