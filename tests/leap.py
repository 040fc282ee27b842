"""A leap of an event loop's clock: a timeout expires at once, and does not depend on the machine's speed."""

import asyncio


def leap(seconds: float) -> None:
    """Advance the running loop's clock by this many seconds: everything that is due by then is due now."""
    loop = asyncio.get_running_loop()
    shown = loop.time
    vars(loop)["time"] = lambda: shown() + seconds
