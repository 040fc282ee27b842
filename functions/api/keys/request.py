"""What a person may set of a key."""

from pydantic import Field

from functions.api.http.request_model import Strict
from functions.api.keys.fields import MOST_AT_ONCE, PerSecond


class FlowKeyBody(Strict):
    """What a key allows from now on, whatever jobs say; what is left out, or null, is as they say."""

    limit: int | None = Field(
        None, ge=0, le=MOST_AT_ONCE, description="So many runs may be under way at once; 0: none begins."
    )
    per_second: PerSecond | None = Field(None, description="So many calls may begin in a second.")
    burst: int | None = Field(None, ge=1, le=MOST_AT_ONCE, description="So many of them may begin at once.")
