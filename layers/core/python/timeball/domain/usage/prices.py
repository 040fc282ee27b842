"""What AWS charges, in dollars: the one place for prices, of what is shown to tenants and of what `bench` prints.

Those of us-east-1, by AWS's public price pages of 2026-11-21. Free tiers and discounts are left out.
"""

from dataclasses import dataclass, fields, replace
from typing import Final

_MILLION: Final = 1e6
SECONDS_A_MONTH: Final = 730 * 3600


@dataclass(frozen=True)
class Prices:
    """The price of one of each.

    A strong read of up to 4 KB is a unit, any other read half of one. A GB-second of a function is that on Graviton; of
    Express the memory is counted in whole chunks of 64 MB. A log's GB is one that is written.
    """

    write_unit: float = 0.625 / _MILLION
    read_unit: float = 0.125 / _MILLION
    queue_request: float = 0.40 / _MILLION
    function_request: float = 0.20 / _MILLION
    function_gb_second: float = 0.000_013_333_4
    api_request: float = 1.00 / _MILLION
    express_start: float = 1.00 / _MILLION
    express_gb_second: float = 0.000_016_67
    secret_month: float = 0.40
    poller_hour: float = 0.00925
    log_gb: float = 0.50
    source: str = "AWS's public price pages, us-east-1, 2026-11-21"


PRICES: Final = Prices()


def parse_prices(text: str) -> Prices:
    """Return the prices with those that a text names, `write_unit=0.000000715,api_request=0.00000116`.

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
