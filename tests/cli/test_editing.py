"""A job in a person's editor: the differences become a merge patch, and nothing else is sent."""

import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.commands import Done, Shell
from timeball.cli.jobs.editing import merge_patch

JOB = {"handler": "https://shop.example/x", "everySeconds": 60, "priority": "low", "tags": {"team": "web", "env": "a"}}

# Each case: an object before and after, and the patch.
PATCHES: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = {
    "nothing": ({"a": 1}, {"a": 1}, {}),
    "a change": ({"a": 1}, {"a": 2}, {"a": 2}),
    "a field more": ({}, {"a": 1}, {"a": 1}),
    "a field less": ({"a": 1}, {}, {"a": None}),
    "within an object": ({"a": {"b": 1, "c": 2}}, {"a": {"b": 1, "c": 3}}, {"a": {"c": 3}}),
    "a whole list": ({"a": [1, 2]}, {"a": [1]}, {"a": [1]}),
    "an object in place of a text": ({"a": "x"}, {"a": {"b": 1}}, {"a": {"b": 1}}),
}


@pytest.mark.parametrize("case", PATCHES)
def test_a_merge_patch_has_the_differences_alone(case: str) -> None:
    before, after, patch = PATCHES[case]
    assert merge_patch(before, after) == patch


def edited(shell: Shell, folder: Path, code: str) -> Done:
    """Edit the job by a program in place of a person's editor."""
    script = folder / "editor.py"
    script.write_text(f"import json, pathlib, sys\nfile = pathlib.Path(sys.argv[1])\n{code}\n", encoding="utf-8")
    shell.environment["EDITOR"] = shlex.join([sys.executable, str(script)])
    shell.world.send("PUT", "/v1/jobs/nightly", JOB)
    return shell("job", "edit", "nightly", terminal=True)


def test_what_a_person_edits_is_changed(shell: Shell, tmp_path: Path) -> None:
    code = "job = json.loads(file.read_text()); job['priority'] = 'high'; del job['tags']['env']"
    done = edited(shell, tmp_path, f"{code}\nfile.write_text(json.dumps(job))")
    assert done.status == 0
    job = shell.world.send("GET", "/v1/jobs/nightly")
    assert (job["priority"], job["tags"], job["version"]) == ("high", {"team": "web"}, 2)


# Each case: what the editor does, the exit status, and words of the sentence.
LEFT: dict[str, tuple[str, int, str]] = {
    "nothing": ("", 0, "nightly is as it was."),
    "no JSON": ("file.write_text('{')", 2, "is no JSON"),
    "no object": ("file.write_text('[]')", 2, "no JSON object"),
    "an error": ("sys.exit(1)", 2, "ended with 1; nothing was changed"),
}


@pytest.mark.parametrize("case", LEFT)
def test_nothing_is_changed_by_what_is_no_change(shell: Shell, tmp_path: Path, case: str) -> None:
    code, status, words = LEFT[case]
    done = edited(shell, tmp_path, code)
    assert (done.status, words in done.stderr) == (status, True)
    assert shell.world.send("GET", "/v1/jobs/nightly")["version"] == 1


def test_a_job_that_somebody_else_has_changed_meanwhile_is_a_conflict(shell: Shell, tmp_path: Path) -> None:
    code = "job = json.loads(file.read_text()); job['priority'] = 'high'; file.write_text(json.dumps(job))"
    original = shell.world.handle

    def handle(event: dict[str, Any]) -> Any:
        if event["requestContext"]["http"]["method"] == "PATCH":
            vars(shell.world).pop("handle")
            shell.world.send("PATCH", "/v1/jobs/nightly", {"priority": "normal"})
        return original(event)

    vars(shell.world)["handle"] = handle
    done = edited(shell, tmp_path, code)
    assert (done.status, shell.world.send("GET", "/v1/jobs/nightly")["priority"]) == (5, "normal")


def test_an_editor_needs_a_terminal(shell: Shell) -> None:
    shell.world.send("PUT", "/v1/jobs/nightly", JOB)
    done = shell("job", "edit", "nightly")
    assert (done.status, "An editor needs a terminal" in done.stderr) == (2, True)


def test_an_editor_that_does_not_exist_is_named(shell: Shell) -> None:
    shell.world.send("PUT", "/v1/jobs/nightly", JOB)
    shell.environment["VISUAL"] = "/no/such/editor"
    done = shell("job", "edit", "nightly", terminal=True)
    assert (done.status, "/no/such/editor did not start" in done.stderr) == (2, True)
