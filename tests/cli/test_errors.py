"""Each kind of error has its exit status and one sentence, on standard error alone."""

import json

import httpx
import pytest

from tests.cli.commands import Shell
from timeball.cli.status import Status

# Each case: the exit status, the command, its standard input, and words of the sentence.
WRONG: dict[str, tuple[Status, tuple[str, ...], str, str]] = {
    "no command": (Status.USAGE, (), "", "Say which: dev, login, logout"),
    "an unknown command": (Status.USAGE, ("jobs",), "", "No such command 'jobs'"),
    "a group alone": (Status.USAGE, ("job",), "", "Say which: list, show, put"),
    "an unknown command of a group": (Status.USAGE, ("job", "lst"), "", "No such command 'lst'"),
    "a missing argument": (Status.USAGE, ("job", "show"), "", "Missing argument 'JOB'; see timeball job show --help."),
    "an argument too many": (Status.USAGE, ("job", "show", "a", "b"), "", "unexpected extra argument"),
    "an unknown option": (Status.USAGE, ("job", "list", "--stauts", "failed"), "", "No such option: --stauts"),
    "a text for a number": (Status.USAGE, ("job", "list", "--limit", "many"), "", "--limit"),
    "a number below the least": (Status.USAGE, ("job", "list", "--limit", "0"), "", "--limit"),
    "a tag without a colon": (Status.USAGE, ("job", "list", "--tag", "web"), "", "--tag: Write a tag as key:value"),
    "a tag of a run without a key": (Status.USAGE, ("run", "list", "--tag", ":web"), "", "--tag"),
    "an unknown status": (Status.USAGE, ("job", "list", "--status", "broken"), "", "status: "),
    "an unknown order": (Status.USAGE, ("job", "list", "--sort", "age"), "", "sort: "),
    "a time that is none": (Status.USAGE, ("run", "list", "--from", "yesterday"), "", "from: "),
    "a time before 1970": (Status.USAGE, ("run", "list", "--from", "9999w"), "", "before 1970"),
    "no JSON": (Status.USAGE, ("job", "put", "x", "-"), "{", "FILE: the standard input is no JSON"),
    "JSON that is no object": (Status.USAGE, ("job", "put", "x", "-"), "[]", "Give a JSON object"),
    "a number that JSON has not": (Status.USAGE, ("job", "put", "x", "-"), '{"a": NaN}', "NaN is no number"),
    "very deep JSON": (Status.USAGE, ("job", "put", "x", "-"), "[" * 100_000, "too many levels"),
    "a file that is missing": (Status.USAGE, ("job", "put", "x", "/nowhere.json"), "", "/nowhere.json cannot be read"),
    "a field that the API refuses": (Status.USAGE, ("job", "put", "x", "-"), '{"handler": "ftp://x"}', "handler: "),
    "several fields": (Status.USAGE, ("job", "put", "x", "-"), '{"a": 1, "b": 2}', "; "),
    "a cron that cannot be parsed": (
        Status.USAGE,
        ("job", "put", "x", "-"),
        '{"handler": "https://a.example", "cronExpression": "61 * * * *"}',
        "cronExpression: The minute 61 is out of range",
    ),
    "an empty id": (Status.USAGE, ("job", "show", ""), "", "is no id"),
    "a job that is not there": (Status.NOT_FOUND, ("job", "show", "nothing"), "", "no job with this id (request "),
    "a patch of no job": (Status.NOT_FOUND, ("job", "edit", "nothing", "-"), '{"priority": "high"}', "no job"),
    "a pause of no job": (Status.NOT_FOUND, ("job", "pause", "nothing"), "", "no job"),
    "a resume of no job": (Status.NOT_FOUND, ("job", "resume", "nothing"), "", "no job"),
    "a skip of no job": (Status.NOT_FOUND, ("job", "skip", "nothing"), "", "no job"),
    "a trigger of no job": (Status.NOT_FOUND, ("job", "trigger", "nothing"), "", "no job"),
    "a bad payload": (
        Status.USAGE,
        ("job", "trigger", "hello", "--payload", "{"),
        "",
        "--payload: the value is no JSON",
    ),
    "a payload of a missing file": (Status.USAGE, ("job", "trigger", "hello", "--payload", "@/no"), "", "/no cannot"),
    "a delete of no job": (Status.NOT_FOUND, ("job", "delete", "nothing", "--yes"), "", "no job"),
    "a delete with a wrong rule": (
        Status.USAGE,
        ("job", "delete", "hello", "--children", "eat", "--yes"),
        "",
        "children",
    ),
    "a delete that nobody confirms": (Status.USAGE, ("job", "delete", "hello"), "", "needs --yes"),
    "the graph of no job": (Status.NOT_FOUND, ("job", "graph", "nothing"), "", "no job"),
    "the history of no job": (Status.NOT_FOUND, ("job", "history", "nothing"), "", "no job"),
    "a revision that is not there": (Status.NOT_FOUND, ("job", "restore", "hello", "99"), "", "revision"),
    "a revision in words": (Status.USAGE, ("job", "restore", "hello", "first"), "", "REVISION"),
    "the cost of no job": (Status.NOT_FOUND, ("job", "cost", "nothing"), "", "no job"),
    "a run that is not there": (Status.NOT_FOUND, ("run", "show", "hello.1.s"), "", "no run"),
    "a run that nobody can wait for": (Status.NOT_FOUND, ("run", "watch", "hello.1.s"), "", "no run"),
    "a retry of no run": (Status.NOT_FOUND, ("run", "retry", "hello.1.s"), "", "no run"),
    "a retry of a run that succeeded": (Status.CONFLICT, ("run", "retry", "hello.1795426200000.s"), "", "succeeded"),
    "a cancel of a run that is over": (
        Status.CONFLICT,
        ("run", "cancel", "hello.1795426200000.s", "--yes"),
        "",
        "nothing to cancel",
    ),
    "a cancel that nobody confirms": (Status.USAGE, ("run", "cancel", "hello.1.s"), "", "needs --yes"),
    "success of no run": (Status.NOT_FOUND, ("run", "succeed", "hello.1.s"), "", "no run"),
    "a job without cycles": (Status.NOT_FOUND, ("cycle", "show", "nothing"), "", "no job"),
    "a cycle that is none": (Status.USAGE, ("cycle", "show", "load", "tomorrow"), "", "cycle"),
    "a rerun by an unknown mode": (Status.USAGE, ("cycle", "rerun", "load", "latest", "--mode", "some"), "", "--mode"),
    "a rerun of a cycle that is not there": (
        Status.NOT_FOUND,
        ("cycle", "rerun", "load", "2020-01-01T00:00:00Z"),
        "",
        "no such fire time",
    ),
    "a cycle of a job that runs once": (Status.CONFLICT, ("cycle", "trigger", "accounts"), "", "once"),
    "failures with an unknown reason": (Status.USAGE, ("failures", "list", "--reason", "bad luck"), "", "reason"),
    "a group that is not there": (Status.NOT_FOUND, ("failures", "show", "0123456789abcdef"), "", "group"),
    "a replay of nothing": (Status.USAGE, ("failures", "replay"), "", "Say which: a GROUP, RUNs"),
    "a replay by two ways": (
        Status.USAGE,
        ("failures", "replay", "--all", "--job", "broken"),
        "",
        "one of these alone",
    ),
    "a replay that nobody confirms": (Status.USAGE, ("failures", "replay", "--all"), "", "needs --yes"),
    "a discard of nothing": (Status.USAGE, ("failures", "discard"), "", "Say which"),
    "a backfill without a range": (Status.USAGE, ("backfill", "create", "hello"), "", "--from"),
    "a backfill of the future": (
        Status.USAGE,
        ("backfill", "create", "hello", "--from", "1h", "--to", "2030-01-01T00:00:00Z"),
        "",
        "to: ",
    ),
    "a backfill of no job": (Status.NOT_FOUND, ("backfill", "list", "nothing"), "", "no job"),
    "a backfill that is not there": (Status.NOT_FOUND, ("backfill", "show", "hello", "b1"), "", "backfill"),
    "a cancel of no backfill": (Status.NOT_FOUND, ("backfill", "cancel", "hello", "b1", "--yes"), "", "backfill"),
    "a bulk action on nothing": (Status.USAGE, ("bulk", "pause"), "", "Say which jobs"),
    "a bulk action on all and some": (
        Status.USAGE,
        ("bulk", "pause", "--all", "--task", "mail"),
        "",
        "--all means all",
    ),
    "a bulk action that nobody confirms": (
        Status.USAGE,
        ("bulk", "pause", "--tag", "team:data"),
        "",
        "Pause 4 jobs? Without a terminal to ask on, this needs --yes.",
    ),
    "a bulk pace of 0": (Status.USAGE, ("bulk", "retry", "--all", "--per-second", "0"), "", "--per-second"),
    "an operation that is not there": (Status.NOT_FOUND, ("bulk", "show", "op_1"), "", "operation"),
    "an operation and jobs": (Status.USAGE, ("bulk", "cancel", "op_1", "--all"), "", "not both"),
    "a test call without a URL": (Status.NOT_FOUND, ("test-call", "nothing"), "", "no job"),
    "a test call for too long": (Status.USAGE, ("test-call", "https://a.example", "--timeout", "60"), "", "--timeout"),
    "an event of nothing": (Status.USAGE, ("event", "send"), "", "--source and --type"),
    "an event without a type": (Status.USAGE, ("event", "send", "--source", "shop"), "", "type"),
    "an event twice": (Status.USAGE, ("event", "send", "-", "--type", "a"), "{}", "Give the event as a FILE, or"),
    "a task that is not there": (Status.NOT_FOUND, ("task", "show", "nothing"), "", "no task"),
    "a task without a target": (Status.USAGE, ("task", "set", "x", "-"), "{}", "handler"),
    "a delete of no task": (Status.NOT_FOUND, ("task", "delete", "nothing", "--yes"), "", "no task"),
    "a calendar without a zone": (Status.USAGE, ("calendar", "set", "x", "-"), "{}", "timezone"),
    "a freeze of nothing": (Status.USAGE, ("freeze", "set"), "", "Say which jobs"),
    "a freeze that ends before": (
        Status.USAGE,
        ("freeze", "set", "--all", "--to", "2020-01-01T00:00:00Z"),
        "",
        "to: ",
    ),
    "a freeze that is not there": (Status.NOT_FOUND, ("freeze", "show", "f1"), "", "freeze"),
    "a lift of no freeze": (Status.NOT_FOUND, ("freeze", "delete", "f1", "--yes"), "", "freeze"),
    "a limit that is not there": (Status.NOT_FOUND, ("limit", "show", "nothing"), "", "limit"),
    "a limit below 0": (Status.USAGE, ("limit", "set", "x", "--limit", "-1"), "", "--limit"),
    "a limit above the most": (Status.USAGE, ("limit", "set", "x", "--limit", "5000"), "", "limit: "),
    "a tenant that is not there": (Status.NOT_FOUND, ("tenant", "show", "nothing"), "", "tenant"),
    "a tenant with an impossible name": (Status.USAGE, ("tenant", "set", "no name"), "", "name"),
    "a weight of 0": (Status.USAGE, ("tenant", "set", "globex", "--weight", "0"), "", "--weight"),
    "a delete of a tenant at work": (Status.CONFLICT, ("tenant", "delete", "globex", "--yes"), "", "disable"),
    "a key that is not there": (Status.NOT_FOUND, ("key", "show", "acme.1"), "", "key"),
    "a key without a role": (Status.USAGE, ("key", "create"), "", "--role"),
    "a key with an unknown role": (Status.USAGE, ("key", "create", "--role", "king"), "", "role: "),
    "a key that ends before": (
        Status.USAGE,
        ("key", "create", "--role", "viewer", "--expires", "2020-01-01T00:00:00Z"),
        "",
        "expiresAt: ",
    ),
    "a change of no key": (Status.NOT_FOUND, ("key", "set", "acme.1", "--role", "viewer"), "", "key"),
    "a rotation of no key": (Status.NOT_FOUND, ("key", "rotate", "acme.1"), "", "key"),
    "a delete of no key": (Status.NOT_FOUND, ("key", "delete", "acme.1", "--yes"), "", "key"),
    "a secret without a tenant": (Status.USAGE, ("secret", "create", "orders"), "", "timeball/TENANT/NAME"),
    "a secret of an empty tenant": (Status.USAGE, ("secret", "create", "timeball//x"), "", "timeball/TENANT/NAME"),
    "a secret with a quote": (Status.USAGE, ("secret", "create", "timeball/a/x'y"), "", "timeball/TENANT/NAME"),
    "a secret with a blank": (Status.USAGE, ("secret", "rotate", "timeball/a/b c"), "", "timeball/TENANT/NAME"),
    "an unknown method": (Status.USAGE, ("api", "FETCH", "/v1/jobs"), "", "METHOD: Give one of GET"),
    "a path without a slash": (Status.USAGE, ("api", "GET", "v1/jobs"), "", "PATH: Begin the path with a slash"),
    "a parameter without a value": (
        Status.USAGE,
        ("api", "GET", "/v1/jobs", "--query", "q"),
        "",
        "--query: Write name",
    ),
    "a header without a value": (Status.USAGE, ("api", "GET", "/v1/jobs", "--header", "X"), "", "--header: Write name"),
    "a path that is not there": (Status.NOT_FOUND, ("api", "GET", "/v1/nothing"), "", "path"),
    "an unknown shell": (Status.USAGE, ("completion", "cmd"), "", "cmd"),
    "a page of nothing": (Status.USAGE, ("open", "task", "mail"), "", "Say what to open"),
    "a page of no job": (Status.NOT_FOUND, ("open", "job", "nothing"), "", "no job"),
    "a screen in a pipe": (Status.USAGE, ("now", "--watch"), "", "needs a terminal"),
    "a logout of nobody": (Status.NOT_FOUND, ("logout",), "", "no profile to forget"),
    "a logout of an unknown profile": (Status.NOT_FOUND, ("logout", "prod"), "", "no profile prod"),
    "a profile that is not there": (Status.NOT_FOUND, ("profile", "use", "prod"), "", "no profile prod"),
    "a delete of no profile": (Status.NOT_FOUND, ("profile", "delete", "prod"), "", "no profile prod"),
    "a profile that is named and missing": (Status.USAGE, ("--profile", "prod", "whoami"), "", "no profile 'prod'"),
    "a login without a URL": (Status.USAGE, ("login",), "tb_x", "timeball login URL"),
    "a login without a key": (Status.USAGE, ("login", "https://api.example"), "", "no key"),
    "a login at no URL": (Status.USAGE, ("login", "api.example"), "tb_x", "https://"),
    "a login with a wrong key": (Status.NOT_ALLOWED, ("login", "https://api.example"), "tb_x", ""),
    "a worker of no queue": (Status.USAGE, ("worker", "--exec", "true"), "", "--queue"),
    "a worker of a queue that is none": (
        Status.USAGE,
        ("worker", "--queue", "work", "--exec", "true"),
        "",
        "--queue: Give",
    ),
    "a worker of a queue of no region": (
        Status.USAGE,
        ("worker", "--queue", "http://127.0.0.1:4566/1/work", "--exec", "true"),
        "",
        "set AWS_REGION",
    ),
    "a worker of nothing": (Status.USAGE, ("worker", "--queue", "work", "--exec", ""), "", "--exec: Give a command"),
    "a worker with an open quote": (
        Status.USAGE,
        ("worker", "--queue", "work", "--exec", "a '"),
        "",
        "close the quotes",
    ),
    "a listener for no server": (
        Status.USAGE,
        ("listen", "--queue", "work", "--forward", "3000"),
        "",
        "--forward: Give",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_input_has_its_exit_status_and_one_sentence(looking: Shell, case: str) -> None:
    status, arguments, stdin, words = WRONG[case]
    done = looking(*arguments, stdin=stdin)
    assert (done.status, done.stdout) == (status, "")
    assert words.lower() in done.stderr.lower()
    assert done.stderr.count("\n") == 1
    assert done.stderr.endswith(".\n")


# Each case: the role of the key, the command, and its standard input.
FORBIDDEN: dict[str, tuple[str, tuple[str, ...], str]] = {
    "a viewer pauses": ("viewer", ("job", "pause", "hello"), ""),
    "a viewer puts": ("viewer", ("job", "put", "x", "-"), json.dumps({"handler": "https://a.example"})),
    "a submitter replays": ("submitter", ("failures", "replay", "--all", "--yes"), ""),
    "a submitter sets a task": ("submitter", ("task", "set", "x", "-"), json.dumps({"handler": "https://a.example"})),
    "an operator makes a key": ("operator", ("key", "create", "--role", "viewer"), ""),
    "a worker lists jobs": ("worker", ("job", "list"), ""),
    "a worker sees now": ("worker", ("now",), ""),
}


@pytest.mark.parametrize("case", FORBIDDEN)
def test_a_role_that_may_not_is_exit_status_4(looking: Shell, case: str) -> None:
    role, arguments, stdin = FORBIDDEN[case]
    done = looking(*arguments, role=role, stdin=stdin)
    assert (done.status, done.stdout) == (Status.NOT_ALLOWED, "")
    assert "(request " in done.stderr


def _answering(status: int, body: object = None, headers: dict[str, str] | None = None) -> httpx.MockTransport:
    return httpx.MockTransport(lambda _: httpx.Response(status, json=body, headers=headers))


def _broken(request: httpx.Request) -> httpx.Response:
    raise httpx.ConnectError("refused", request=request)


# Each case: what answers, the exit status, and words of the sentence.
ANSWERS: dict[str, tuple[httpx.MockTransport, Status, str]] = {
    "nobody": (httpx.MockTransport(_broken), Status.UNAVAILABLE, "did not answer (ConnectError"),
    "a gateway without a body": (_answering(502), Status.UNAVAILABLE, "status 502"),
    "a busy API": (_answering(503, {"detail": "Later."}), Status.UNAVAILABLE, "Later."),
    "a full quota": (
        _answering(429, {"detail": "Too many.", "quota": "activeJobs"}, {"Retry-After": "3600"}),
        Status.QUOTA,
        "Too many.",
    ),
    "a quota that waiting does not help": (
        _answering(400, {"detail": "Too large.", "quota": "payloadBytes"}),
        Status.QUOTA,
        "Too large.",
    ),
    "a stale version": (_answering(412, {"detail": "Changed."}), Status.CONFLICT, "Changed."),
    "another body under a key": (_answering(422, {"detail": "Used."}), Status.CONFLICT, "Used."),
    "no key": (_answering(401, {"detail": "Send a key."}), Status.NOT_ALLOWED, "Send a key."),
}


@pytest.mark.parametrize("case", ANSWERS)
def test_what_the_api_cannot_do_has_its_exit_status(shell: Shell, case: str) -> None:
    transport, status, words = ANSWERS[case]
    done = Shell(shell.world, shell.environment, transport=transport)("job", "pause", "x")
    assert (done.status, done.stdout) == (status, "")
    assert words in done.stderr


def test_without_a_url_and_a_key_it_says_how_to_get_them(shell: Shell) -> None:
    shell.environment |= {"TIMEBALL_URL": "", "TIMEBALL_KEY": ""}
    done = shell("whoami")
    assert (done.status, done.stderr) == (2, "Set TIMEBALL_URL and TIMEBALL_KEY, or run `timeball login` once.\n")
