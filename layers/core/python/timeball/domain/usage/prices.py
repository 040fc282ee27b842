"""The prices of AWS in dollars: the only source for the costs that tenants see and for those that `bench` prints.

They are the prices of us-east-1, from AWS's public price pages of 2026-11-21. Free tiers and discounts are left out.
"""

from dataclasses import dataclass, fields, replace
from typing import Final

_MILLION: Final = 1e6
SECONDS_A_MONTH: Final = 730 * 3600


@dataclass(frozen=True)
class Prices:
    """The price of one unit of each, in dollars."""

    write_unit: float = 0.625 / _MILLION
    """DynamoDB: a write of up to 1 KB."""
    read_unit: float = 0.125 / _MILLION
    """DynamoDB: a strong read of up to 4 KB; any other read is half a unit."""
    queue_request: float = 0.40 / _MILLION
    """SQS: a request."""
    function_request: float = 0.20 / _MILLION
    """Lambda: a call."""
    function_gb_second: float = 0.000_013_333_4
    """Lambda on Graviton: a GB-second."""
    api_request: float = 1.00 / _MILLION
    """API Gateway: a request."""
    express_start: float = 1.00 / _MILLION
    """Step Functions Express: a start."""
    express_gb_second: float = 0.000_016_67
    """Step Functions Express: a GB-second; memory is counted in whole chunks of 64 MB."""
    secret_month: float = 0.40
    """Secrets Manager: a secret for a month."""
    poller_hour: float = 0.00925
    """SQS to Lambda: a provisioned poller for an hour."""
    log_gb: float = 0.50
    """CloudWatch Logs: a GB that is written."""
    source: str = "AWS's public price pages, us-east-1, 2026-11-21"
    """Where the prices come from."""


PRICES: Final = Prices()


def parse_prices(text: str) -> Prices:
    """Return the prices, with those replaced that a text names: `write_unit=0.000000715,api_request=0.00000116`.

    Raises ValueError with the end of a sentence that the setting's name begins.
    """
    known = [one.name for one in fields(Prices) if one.name != "source"]
    given: dict[str, float] = {}
    for part in filter(None, text.split(",")):
        name, _, dollars = part.partition("=")
        try:
            given[name] = float(dollars)
        except ValueError:
            given[name] = -1
        if name not in known or not 0 <= given[name] < 1_000:
            raise ValueError(f"must be prices in dollars, such as write_unit=0.000000715, of {', '.join(known)}")
    source = f"{PRICES.source}; by setting: {', '.join(given)}" if given else PRICES.source
    return replace(PRICES, source=source, **given)
