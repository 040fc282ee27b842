"""An admin reads what its own tenant costs and its share under contention, and learns nothing of other tenants."""

from typing import Any

import pytest

from tests.api.client import OPERATING, Api
from timeball.domain.time.instants import DAY_MS, HOUR_MS
from timeball.domain.usage.bill import Counted
from timeball.domain.usage.hours import HourKey, hour_of
from timeball.engine.tally import FLUSH_MS


def read(api: Api, tenant: str, by: str = OPERATING) -> Any:
    answer = api.call("GET", f"/v1/admin/tenants/{tenant}", tenant=by)
    assert answer.status == 200, answer.text
    return answer.body


def count(api: Api, tenant: str, ago_ms: int, subject: str, **counts: int) -> None:
    now = api.clock.now()
    named: dict[str, int] = {Counted[name.upper()]: count for name, count in counts.items()}
    api.store.usage.add([(HourKey(tenant, hour_of(now - ago_ms), subject), named)], now)


def test_a_tenants_costs_are_itemized_by_day_and_by_month(api: Api) -> None:
    count(api, "globex", 0, "high", write_units=6_000, read_units=4_000, batches=100_000, executor_ms=200_000)
    count(api, "globex", 2 * HOUR_MS, "normal", write_units=2_000)
    count(api, "globex", 2 * HOUR_MS, "callers", api_requests=1_000, api_ms=50_000)
    count(api, "globex", 3 * DAY_MS, "normal", write_units=1_000_000)
    count(api, "globex", 31 * DAY_MS, "normal", write_units=9_000_000)
    count(api, OPERATING, 0, "high", write_units=5_000_000)
    cost = read(api, "globex")["cost"]
    assert cost["day"]["items"] == {
        "writeUnits": {"quantity": 8_000, "usd": 0.005},
        "readUnits": {"quantity": 4_300, "usd": 0.0005375},
        "queueRequests": {"quantity": 700, "usd": 0.00028},
        "functionCalls": {"quantity": 200, "usd": 0.00004},
        "executorSeconds": {"quantity": 200, "usd": 0.00200001},
        "apiRequests": {"quantity": 1_000, "usd": 0.0012},
        "apiSeconds": {"quantity": 50, "usd": 0.00066667},
    }
    assert (cost["day"]["usd"], cost["day"]["exact"]) == (0.00972418, False)
    assert cost["month"]["items"]["writeUnits"] == {"quantity": 1_008_000, "usd": 0.63}


def test_requests_are_counted_for_their_tenant_and_added_once_in_half_a_minute() -> None:
    api = Api(counts=True)
    for _ in range(5):
        api.create(everySeconds=60)
    api.call("GET", "/v1/jobs/nothing")
    api.call("GET", "/v1/jobs", tenant=None)  # belongs to no tenant
    api.flush()
    api.clock.advance(FLUSH_MS)
    api.flush()
    requests = read(api, "acme")["cost"]["day"]["items"]["apiRequests"]
    assert requests["quantity"] == 6
    assert len(api.store.usage.between("acme", 0, api.clock.now())) == 1


@pytest.mark.parametrize("by", [OPERATING, "globex"])
def test_the_share_under_contention_is_the_weight_among_enabled_tenants(api: Api, by: str) -> None:
    assert read(api, "globex", by)["share"] == 0.5
    for name, weight, disabled in (("initech", 3, False), ("hooli", 50, True)):
        made = api.call(
            "POST", "/v1/admin/tenants", {"name": name, "weight": weight, "disabled": disabled}, tenant=OPERATING
        )
        assert made.status == 201, made.text
    assert read(api, "globex", by)["share"] == 0.2
    assert read(api, "initech")["share"] == 0.6
    assert read(api, "hooli")["share"] is None


def test_lists_and_changes_read_no_costs(api: Api) -> None:
    (one, *_) = api.call("GET", "/v1/admin/tenants", tenant=OPERATING).body["items"]
    changed = api.call("PATCH", "/v1/admin/tenants/globex", {"weight": 2}, tenant=OPERATING).body
    assert {"cost", "share"}.isdisjoint({*one, *changed})
