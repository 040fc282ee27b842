"""The bounds of a limit that a person may set."""

from pydantic import Field

from timeball.api.http.request_model import Strict
from timeball.api.keys.fields import MOST_AT_ONCE, PerSecond


class LimitBody(Strict):
    """The bounds of a limit from now on; bounds that are left out, or null, are those that jobs state."""

    limit: int | None = Field(
        None, ge=0, le=MOST_AT_ONCE, description="The most runs under way at once; 0: no run begins."
    )
    per_second: PerSecond | None = Field(None, description="The most calls that begin in a second.")
    burst: int | None = Field(None, ge=1, le=MOST_AT_ONCE, description="The most calls that begin at once.")
