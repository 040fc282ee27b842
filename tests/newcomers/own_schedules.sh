# A newcomer's fourth task: a unit test of one's own schedules.
# Read: docs/how-to/test-your-schedules.md, docs/concepts/schedules.md.

cat > plan.py <<'PROGRAM'
from timeball.client import Cron, Job, Timeball


def register(tb: Timeball) -> None:
    tb.jobs.put("rates", Job(call="https://bank.example/rates", when=Cron("30 7 * * MON-FRI", "Europe/London")))
    tb.jobs.put("invoices", Job(call="https://shop.example/invoices", when=Cron("0 1 1 * *", "Europe/London")))
PROGRAM

cat > test_plan.py <<'PROGRAM'
import pytest
from plan import register


@pytest.mark.timeball(start="2027-03-26 00:00", tz="Europe/London")
def test_the_rates_come_at_half_past_seven_on_both_sides_of_the_clock_change(timeball):
    register(timeball.client)
    timeball.answers("https://bank.example/rates", 200)
    calls = timeball.run_until("2027-03-30 00:00")
    assert calls.of("rates").local() == ["2027-03-26 07:30", "2027-03-29 07:30"]


@pytest.mark.timeball(start="2027-03-31 00:00", tz="Europe/London")
def test_invoices_are_tried_again_when_the_shop_answers_503(timeball):
    register(timeball.client)
    timeball.answers("https://bank.example/rates", 200)
    timeball.answers("https://shop.example/invoices", [503, 200])
    calls = timeball.run_until("2027-04-02 00:00").of("invoices")
    assert calls.local()[0] == "2027-04-01 01:00"
    assert calls.attempts == [1, 2]


def test_a_wrong_expectation_fails(timeball):
    register(timeball.client)
    timeball.answers("https://bank.example/rates", 200)
    timeball.answers("https://shop.example/invoices", 200)
    assert timeball.run_for(days=31).of("invoices").attempts == [1, 1, 1]
PROGRAM

python3 -m pytest -q -p no:cacheprovider test_plan.py || echo "Pytest ended with $?."
