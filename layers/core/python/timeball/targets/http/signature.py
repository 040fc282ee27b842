"""Signatures by Standard Webhooks, which prove to a target that a request is Timeball's and was not changed.

While a key is being changed two are live, and each signs: a target that knows either of them accepts the request.
"""

import binascii
import hmac
from base64 import b64decode, b64encode
from collections.abc import Sequence
from typing import Final

PREFIX: Final = "whsec_"
SHORTEST_KEY, LONGEST_KEY = 24, 64
"""In bytes, as the standard says."""


def parse_key(text: str) -> bytes | None:
    """Return the key in a secret's value; None if it contains none."""
    text = text.strip()  # a value from a file or a form ends in a line feed
    digits = text.removeprefix(PREFIX)
    try:
        key = b64decode(digits + "=" * (-len(digits) % 4), validate=True)
    except (binascii.Error, ValueError):
        return None
    return key if text.startswith(PREFIX) and SHORTEST_KEY <= len(key) <= LONGEST_KEY else None


def signature_of(message_id: str, sent_at: int, body: bytes, keys: Sequence[bytes]) -> str:
    """Return the value of `webhook-signature`: one signature for each key. `sent_at` is in seconds."""
    signed = f"{message_id}.{sent_at}.".encode() + body
    return " ".join(f"v1,{b64encode(hmac.digest(key, signed, 'sha256')).decode()}" for key in keys)
