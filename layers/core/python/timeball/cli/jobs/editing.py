"""Changes a job in a person's editor: what the editor leaves becomes a JSON merge patch of the differences."""

import json
import os
import shlex
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from timeball.cli.status import CommandError
from timeball.cli.surroundings import Surroundings

_EDITABLE = (
    *("name", "owner", "priority", "target", "taskId", "payload", "scheduleAt", "cronExpression", "timezone"),
    *("dstPolicy", "everySeconds", "anchorAt", "startAt", "endAt", "maxRuns", "event", "catchUp", "jitterSeconds"),
    *("overlapPolicy", "calendar", "dependsOn", "triggerRule", "dependencyTimeoutSeconds", "passParents", "forEach"),
    *("maxRetries", "retryPolicy", "timeoutSeconds", "completion", "heartbeatSeconds", "concurrencyLimit", "rateLimit"),
    *("uniqueKey", "uniqueSeconds", "debounceSeconds", "debounceMaxSeconds", "supersede", "delivery", "notify"),
    *("pauseAfterFailures", "tags"),
)
"""The fields of a job's answer that a patch may change."""


def edited(surroundings: Surroundings, job: Mapping[str, Any]) -> dict[str, Any]:
    """Let a person edit a job, and return the merge patch; an empty one means that nothing changed."""
    if not (surroundings.can_ask and surroundings.is_terminal):
        raise CommandError("An editor needs a terminal: give a FILE with a JSON merge patch, or - for standard input.")
    editor = surroundings.environment.get("VISUAL") or surroundings.environment.get("EDITOR") or "vi"
    before = {name: job[name] for name in _EDITABLE if job.get(name) is not None}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / f"{job['jobId']}.json"
        file.write_text(json.dumps(before, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        try:
            done = subprocess.run([*shlex.split(editor), os.fspath(file)], check=False)  # noqa: S603 - the user's own
        except OSError as bad:
            raise CommandError(f"The editor {editor} did not start: {bad.strerror}; set VISUAL or EDITOR.") from None
        if done.returncode:
            raise CommandError(f"The editor {editor} ended with {done.returncode}; nothing was changed.")
        try:
            after = json.loads(file.read_text(encoding="utf-8"))
        except ValueError as bad:
            raise CommandError(f"What the editor left is no JSON: {bad}; nothing was changed.") from None
    if not isinstance(after, dict):
        raise CommandError("What the editor left is no JSON object; nothing was changed.")
    return merge_patch(before, after)


def merge_patch(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """Return the merge patch (RFC 7396) that turns one object into another."""
    patch: dict[str, Any] = {name: None for name in before if name not in after}
    for name, value in after.items():
        old = before.get(name)
        if value != old:
            patch[name] = merge_patch(old, value) if isinstance(value, Mapping) and isinstance(old, Mapping) else value
    return patch
