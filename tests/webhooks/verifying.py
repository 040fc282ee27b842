"""The library that the authors of the standard maintain, with a test's clock: it refuses old messages."""

from collections.abc import Mapping
from datetime import UTC, datetime, tzinfo
from typing import Self
from unittest.mock import patch

from standardwebhooks import webhooks

from timeball.domain.time.instants import SECOND_MS


def is_accepted(secret: str, now: int, body: str | bytes, headers: Mapping[str, str]) -> bool:
    """Say whether a target with this secret accepts a request at an instant (ms)."""

    class Then(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> Self:
            return cls.fromtimestamp(now / SECOND_MS, tz or UTC)

    with patch.object(webhooks, "datetime", Then):
        try:
            webhooks.Webhook(secret).verify(body, dict(headers), json_parse=False)
        except webhooks.WebhookVerificationError:
            return False
    return True
