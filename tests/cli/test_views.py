"""Each command that only shows something: what a pipe gets, what a terminal gets, and JSON."""

from typing import Any

import pytest

from tests.cli.commands import Shell

# Each case: the command, and cells that a pipe gets among its values.
SHOWN: dict[str, tuple[tuple[str, ...], set[str]]] = {
    "jobs": (("job", "list"), {"hello", "pending", "team:web", "2026-11-23T09:45:00.000Z"}),
    "jobs of a tag": (("job", "list", "--tag", "team:data", "--sort", "name"), {"broken", "extract", "ff"}),
    "jobs of a name": (("job", "list", "-q", "hel"), {"hello"}),
    "a job": (("job", "show", "hello"), {"hello", "Hello", "https://shop.example/hello"}),
    "a graph": (("job", "graph", "check"), {"ancestor", "descendant", "extract", "load"}),
    "a history": (("job", "history", "hello"), {"1", "create"}),
    "costs": (("job", "cost", "hello"), {"day", "month", "all"}),
    "runs": (("run", "list", "--job", "hello"), {"hello.1795426200000.s", "succeeded"}),
    "runs that failed": (("run", "list", "--status", "failed"), {"broken", "retries_exhausted"}),
    "runs of a time": (("run", "list", "--job", "hello", "--from", "2m"), {"hello.1795427040000.s"}),
    "a run": (("run", "show", "broken.1795426200000.s"), {"failed", "503", "The target answered with status 503."}),
    "groups of failures": (("failures", "list"), {"broken", "check", "The target answered with status 503."}),
    "failures one by one": (("failures", "list", "--runs", "--job", "broken"), {"broken.1795426200000.s", "503"}),
    "backfills": (("backfill", "list", "hello"), set()),
    "operations": (("bulk", "list"), set()),
    "tasks": (("task", "list"), {"mail", "http"}),
    "a task": (("task", "show", "mail"), {"mail", "TARGET"}),
    "calendars": (("calendar", "list"), {"holidays", "Europe/Berlin"}),
    "a calendar": (("calendar", "show", "holidays"), {"2026-12-25"}),
    "freezes": (("freeze", "list"), set()),
    "freezes that are over": (("freeze", "list", "--over"), set()),
    "a limit": (("limit", "show", "warehouse"), {"warehouse", "2"}),
    "tenants": (("tenant", "list"), {"acme", "globex"}),
    "their health": (("tenant", "list", "--health"), {"acme", "globex"}),
    "a tenant": (("tenant", "show", "acme"), {"acme", "weight"}),
    "keys": (("key", "list"), {"admin", "The viewer of the tests"}),
    "the caller": (("whoami",), {"admin", "acme", "https://api.example"}),
    "the state now": (("now",), {"failing", "running", "accounts", "next", "failed"}),
    "statistics": (("stats",), {"jobs pending", "runs failed for good", "hour"}),
    "profiles": (("profile", "list"), set()),
    "any request": (("api", "get", "/v1/me"), {'  "role": "admin",'}),
    "all pages": (("api", "GET", "/v1/jobs", "--query", "limit=2", "--pages"), set()),
    "a script of completion": (("completion", "bash"), {"complete -o default -F _timeball_completion timeball"}),
}


@pytest.mark.parametrize("case", SHOWN)
def test_a_pipe_gets_a_line_for_each_thing_and_whole_values(looking: Shell, case: str) -> None:
    arguments, cells = SHOWN[case]
    done = looking(*arguments)
    assert (done.status, done.stderr) == (0, "")
    assert cells <= {cell for row in done.rows for cell in row}


@pytest.mark.parametrize("case", SHOWN)
def test_a_terminal_shows_the_same_words(looking: Shell, case: str) -> None:
    arguments, cells = SHOWN[case]
    looking.environment |= {"COLUMNS": "250", "NO_COLOR": "1"}
    done = looking(*arguments, terminal=True)
    assert done.status == 0
    for cell in cells:
        assert cell.replace("T", " ").removesuffix(".000Z") in done.stdout.replace("T", " ") or cell in OF_A_PIPE


OF_A_PIPE = {"failed", "next", "TARGET", "0"}
"""Words that a terminal does not show, or shows as a title."""


# Each case: the command, and fields of its JSON.
AS_JSON: dict[str, tuple[tuple[str, ...], set[str]]] = {
    "jobs": (("job", "list"), {"jobId", "recent", "cronExpression"}),
    "a job": (("job", "show", "hello"), {"jobId", "target", "nextRuns"}),
    "costs": (("job", "cost", "hello"), {"day", "month", "prices"}),
    "a graph": (("job", "graph", "check"), {"jobId", "relation"}),
    "runs": (("run", "list", "--job", "hello"), {"runId", "fireTime"}),
    "a run": (("run", "show", "broken.1795426200000.s"), {"attempts", "runId"}),
    "failures": (("failures", "list"), {"fingerprint", "count"}),
    "the state now": (("now",), {"needsAttention", "next"}),
    "statistics": (("stats",), {"stats", "slo"}),
    "the caller": (("whoami",), {"keyId", "limits"}),
    "a task": (("task", "show", "mail"), {"taskId", "payloadSchema"}),
    "a limit": (("limit", "show", "warehouse"), {"holders", "waiters"}),
    "a cycle": (("cycle", "show", "extract"), {"items", "cycleId"}),
}


@pytest.mark.parametrize("case", AS_JSON)
def test_json_has_every_field_of_the_api(looking: Shell, case: str) -> None:
    arguments, fields = AS_JSON[case]
    found = looking(*arguments, "--json").json
    assert fields <= set(found[0] if isinstance(found, list) else found)


# Each case: the arguments after `job`, and what is printed.
FIELDS: dict[str, tuple[tuple[str, ...], Any]] = {
    "after an equals sign": (("show", "hello", "--json=jobId"), {"jobId": "hello"}),
    "as the next word, with commas": (("show", "--json", "jobId,name", "hello"), {"jobId": "hello", "name": "Hello"}),
    "as the next word of a command without arguments": (
        ("list", "-q", "hello", "--json", "jobId"),
        [{"jobId": "hello"}],
    ),
    "of a field": (("list", "-q", "hello", "--json", "catchUp.policy"), [{"catchUp.policy": "latest"}]),
    "of a field that is absent there": (("show", "hello", "--json=target.body.x"), {"target.body.x": None}),
}


@pytest.mark.parametrize("case", FIELDS)
def test_json_of_some_fields(looking: Shell, case: str) -> None:
    arguments, printed = FIELDS[case]
    assert looking("job", *arguments).json == printed


def test_a_word_after_json_that_may_be_an_argument_is_one(looking: Shell) -> None:
    assert looking("job", "show", "--json", "hello").json["jobId"] == "hello"


def test_a_field_that_does_not_exist_is_named_with_those_that_do(looking: Shell) -> None:
    done = looking("job", "list", "--json", "jobId,status,stats")
    assert (done.status, done.stdout) == (2, "")
    assert done.stderr.startswith('--json: There is no field "stats". There are: jobId, name, status')


def test_an_empty_list_is_an_empty_array(looking: Shell) -> None:
    assert looking("bulk", "list", "--json").stdout == "[]\n"
    assert looking("bulk", "list", terminal=True).stdout == "Nothing to show.\n"


def test_a_limit_bounds_a_list_of_several_pages(looking: Shell) -> None:
    assert len(looking("run", "list", "--job", "hello", "--limit", "3").rows) == 3


def test_the_cycle_of_a_graph_is_bad_if_a_run_failed(looking: Shell) -> None:
    done = looking("cycle", "show", "load")
    assert done.status == 1
    assert [row[:2] for row in done.rows] == [["extract", "succeeded"], ["check", "failed"], ["load", "blocked"]]


def test_the_runs_of_a_group_of_failures(looking: Shell) -> None:
    groups = looking("failures", "list", "--job", "broken", "--json").json
    assert len(looking("failures", "show", groups[0]["fingerprint"]).rows) == groups[0]["count"] > 1
