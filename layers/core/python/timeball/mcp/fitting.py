"""Fits an answer of the API to what a language model should read: without payloads, and at most 4 KB."""

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

MOST_BYTES = 4096
"""The bytes of an answer, at most."""

PAYLOADS = frozenset({"payload", "result", "body"})
"""The fields with data of users, wherever they stand in an answer."""

REDACTED = "redacted: ask with show_payload"

_NOISE = frozenset({"consoleUrl", "scheduleRules", "retryTimetable", "overrides", "effectivePriority", "workerId"})
"""Fields that answer no question, or that another field says as well."""

_STEPS = ((50, 1000), (20, 500), (10, 300), (5, 200), (3, 100), (1, 60))
"""The most items of a list and characters of a text: the first step whose answer is small enough holds."""


def fitted(found: object, *, show_payload: bool = False) -> str:
    """Return an answer as JSON of at most MOST_BYTES; lists and texts are cut, and say so."""
    cleaned, text = _cleaned(found, show_payload=show_payload), ""
    for items, characters in _STEPS:
        text = _text(_cut(cleaned, items, characters))
        if len(text.encode()) <= MOST_BYTES:
            return text
    return text.encode()[: MOST_BYTES - 4].decode(errors="ignore") + "…"


def _text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _cleaned(value: Any, *, show_payload: bool) -> Any:  # noqa: ANN401 - any JSON
    """Return JSON without empty fields and secrets, and without payloads unless they are asked for."""
    if isinstance(value, list):
        return [_cleaned(one, show_payload=show_payload) for one in value]
    if not isinstance(value, Mapping):
        return value
    return {
        name: _field(name, one, show_payload=show_payload)
        for name, one in value.items()
        if name not in _NOISE and ((one is not None and one not in ([], {}, "")) or name == "nextCursor")
    }


def _field(name: str, value: Any, *, show_payload: bool) -> Any:  # noqa: ANN401 - any JSON
    if name in PAYLOADS and not show_payload:
        return REDACTED
    if name == "notify" and isinstance(value, Mapping):
        # The URLs of chats and pagers are secrets.
        return {news: "set" if news.startswith("on") else one for news, one in value.items() if one is not None}
    if name == "url" and isinstance(value, str) and urlsplit(value).query:
        return f"{value.partition('?')[0]}?…"
    return value if name in PAYLOADS else _cleaned(value, show_payload=show_payload)


def _cut(value: Any, items: int, characters: int) -> Any:  # noqa: ANN401 - any JSON
    if isinstance(value, str):
        return value if len(value) <= characters else f"{value[:characters]}… ({len(value)} characters)"
    if isinstance(value, list):
        kept = [_cut(one, items, characters) for one in value[:items]]
        return kept if len(value) <= items else [*kept, f"… {len(value) - items} more"]
    return {name: _cut(one, items, characters) for name, one in value.items()} if isinstance(value, dict) else value
