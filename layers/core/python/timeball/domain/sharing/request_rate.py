"""A request rate with bursts: decided from one number, the instant until which the rate is used up."""

SECOND_US = 1_000_000


def used_until(before_us: int, now_ms: int, per_second: int, most_at_once: int) -> int | None:
    """Return until when (µs) a rate is used up after one more request at `now_ms`; None: the request exceeds the rate.

    Room returns evenly, until `most_at_once` requests fit.
    """
    interval_us, now_us = SECOND_US // per_second, 1_000 * now_ms
    after_us = max(before_us, now_us) + interval_us
    most_us = now_us + interval_us * most_at_once
    return after_us if after_us <= most_us else None
