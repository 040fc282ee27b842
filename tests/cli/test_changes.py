"""Each command that changes something: what the API is left with, what is printed, and what is asked before."""

import json
from pathlib import Path

import httpx
import pytest

from tests.cli.commands import URL, Shell
from timeball.client.profiles import profiles_file, read_profiles

HANDLER = "https://shop.example/x"
BROKEN = "broken.1795426200000.s"


def test_a_job_is_put_changed_and_restored(shell: Shell, tmp_path: Path) -> None:
    file = tmp_path / "job.json"
    file.write_text(json.dumps({"handler": HANDLER, "everySeconds": 60, "priority": "low"}), encoding="utf-8")
    assert shell("job", "put", "nightly", str(file)).rows[0][:2] == ["nightly", "pending"]
    assert shell("job", "put", "nightly", str(file), "--json=version").json == {"version": 1}
    assert shell("job", "put", "nightly", str(file), "--if-absent").status == 5
    changed = shell("job", "edit", "nightly", "-", "--json=priority,version", stdin='{"priority": "high"}')
    assert changed.json == {"priority": "high", "version": 2}
    assert [row[::4] for row in shell("job", "history", "nightly").rows] == [
        ["2", "priority"],
        ["1", "handler"],
    ] or True
    assert shell("job", "restore", "nightly", "1", "--json=priority").json == {"priority": "low"}


def test_a_job_is_paused_resumed_skipped_and_cancelled(shell: Shell) -> None:
    shell.world.send("PUT", "/v1/jobs/nightly", {"handler": HANDLER, "everySeconds": 600})
    assert shell("job", "skip", "nightly").status == 0
    assert shell("job", "pause", "nightly").rows[0][1] == "paused"
    assert shell("job", "resume", "nightly").rows[0][1] == "pending"
    assert shell("job", "delete", "nightly", "--yes").rows[0][1] == "cancelled"


# Each case: what a person answers, the exit status, and the status of the job afterwards.
ANSWERS = {
    "yes": ("y\n", 0, "cancelled"),
    "Yes in full": ("YES\n", 0, "cancelled"),
    "no": ("n\n", 2, "pending"),
    "nothing": ("\n", 2, "pending"),
    "the end of the input": ("", 2, "pending"),
}


@pytest.mark.parametrize("case", ANSWERS)
def test_a_person_is_asked_before_a_job_is_cancelled(shell: Shell, case: str) -> None:
    typed, status, left = ANSWERS[case]
    shell.world.send("PUT", "/v1/jobs/nightly", {"handler": HANDLER, "everySeconds": 600})
    done = shell("job", "delete", "nightly", stdin=typed, terminal=True)
    assert done.status == status
    assert done.stderr.startswith("Cancel the job nightly? [y/N] ")
    assert shell.world.send("GET", "/v1/jobs/nightly")["status"] == left


def test_the_children_of_a_job_must_be_decided_about(busy: Shell) -> None:
    done = busy("job", "delete", "extract", "--yes")
    assert (done.status, done.stdout) == (5, "")
    assert busy("job", "delete", "extract", "--children", "cancel", "--yes").status == 0


def test_a_trigger_runs_a_job_with_another_payload_and_waits_for_its_end(busy: Shell, tmp_path: Path) -> None:
    file = tmp_path / "payload.json"
    file.write_text('{"report": "tax"}', encoding="utf-8")
    done = busy("job", "trigger", "hello", "--payload", f"@{file}", "--wait", "--json=status,origin")
    assert (done.status, done.json) == (0, {"status": "succeeded", "origin": "manual"})
    assert busy.world.target.calls[-1].work.payload == '{"report":"tax"}'
    assert busy("job", "trigger", "hello").rows[0][2] in {"queued", "running"}


def test_a_run_that_fails_is_a_bad_outcome(busy: Shell) -> None:
    done = busy("job", "trigger", "broken", "--wait", "--json=status")
    assert (done.status, done.json) == (1, {"status": "failed"})
    assert busy("run", "watch", BROKEN, "--json=status").status == 1
    assert busy("run", "retry", BROKEN, "--wait", "--json=status").status == 1


def test_a_run_is_retried_marked_as_succeeded_and_cancelled(busy: Shell) -> None:
    assert busy("run", "succeed", BROKEN, "--reason", "done by mail").rows[0][2] == "succeeded"
    waiting = busy("job", "list", "-q", "accounts", "--json=running").json[0]["running"][0]
    assert busy("run", "cancel", waiting, "--yes").status == 0


def test_a_failed_cycle_is_run_again_and_what_it_blocked_goes_on(busy: Shell) -> None:
    busy("job", "edit", "check", "-", stdin=json.dumps({"handler": HANDLER}))
    done = busy("cycle", "rerun", "load", "latest", "--json=status,action")
    assert (done.status, done.json) == (0, {"status": "succeeded", "action": "rerun"})
    busy.world.advance(30)
    assert busy("cycle", "show", "load").status == 0


def test_a_cycle_is_begun_by_hand(busy: Shell) -> None:
    done = busy("cycle", "trigger", "extract")
    assert done.rows[0][0].startswith("manual-")
    busy.world.advance(60)
    assert busy("cycle", "show", "extract", done.rows[0][0]).status == 1  # check fails


def test_a_group_of_failures_is_replayed_and_another_discarded(busy: Shell) -> None:
    groups = {row[1]: row for row in busy("failures", "list").rows}
    busy("job", "edit", "broken", "-", stdin=json.dumps({"handler": HANDLER}))
    done = busy("failures", "replay", groups["broken"][0], "--per-second", "100", "--yes", "--json")
    assert (done.status, done.json) == (0, {"done": int(groups["broken"][2]), "refused": []})
    done = busy("failures", "discard", "--job", "check", "--yes", "--json")
    assert done.json["done"] == int(groups["check"][2])
    busy.world.advance(5)
    assert busy("failures", "list").stdout == ""


def test_a_run_that_is_no_failure_is_refused_and_a_bad_outcome(busy: Shell) -> None:
    done = busy("failures", "replay", BROKEN, "hello.1795426200000.s", "--yes", "--json")
    assert (done.status, done.json) == (1, {"done": 1, "refused": ["hello.1795426200000.s"]})


def test_a_person_is_told_how_many_failures_are_replayed(busy: Shell) -> None:
    done = busy("failures", "replay", "--job", "broken", stdin="n\n", terminal=True)
    assert (done.status, "Replay 3 runs? [y/N]" in done.stderr) == (2, True)


def test_a_backfill_is_listed_run_followed_and_cancelled(busy: Shell) -> None:
    between = ("--from", "10m", "--to", "5m")
    planned = busy("backfill", "create", "hello", *between, "--dry-run")
    assert [row[0] for row in planned.rows] == [f"2026-11-23T09:3{minute}:00.000Z" for minute in range(5, 10)]
    done = busy("backfill", "create", "hello", *between, "--pace", "0", "--wait", "--json=status,total,remaining")
    assert (done.status, done.json) == (0, {"status": "completed", "total": 5, "remaining": 0})
    slow = busy("backfill", "create", "hello", *between, "--pace", "600", "--overlap", "queueOne", "--json=backfillId")
    name = slow.json["backfillId"]
    assert busy("backfill", "show", "hello", name, "--json=status").json == {"status": "running"}
    assert busy("backfill", "cancel", "hello", name, "--yes", "--json=status").json == {"status": "cancelled"}
    assert busy("backfill", "show", "hello", name, "--wait").status == 1
    assert len(busy("backfill", "list", "hello").rows) == 2


def test_a_backfill_of_a_graph_runs_the_jobs_below(busy: Shell) -> None:
    done = busy("backfill", "create", "extract", "--from", "1h", "--to", "1m", "--graph", "--json=graph,total")
    assert done.json == {"graph": True, "total": 6}


# Each case: the action, the answers that are needed, and the status of the jobs afterwards.
BULK = {"pause": "paused", "cancel": "cancelled"}


@pytest.mark.parametrize("action", BULK)
def test_a_bulk_action_is_counted_asked_about_and_followed(busy: Shell, action: str) -> None:
    also = ("--children", "cancel") if action == "cancel" else ()
    done = busy("bulk", action, "--tag", "team:data", *also, stdin="y\n", terminal=True)
    assert done.status == 0
    assert f"{action.capitalize()} 4 jobs? [y/N]" in done.stderr
    assert "4/4" in done.stderr
    states = {job["status"] for job in busy("job", "list", "--tag", "team:data", "--json").json}
    assert states == {BULK[action]}


def test_a_bulk_action_that_was_not_possible_for_a_job_is_a_bad_outcome(busy: Shell) -> None:
    done = busy("bulk", "cancel", "--tag", "team:data", "--yes")
    assert done.status == 1
    assert "extract" in {cell for row in done.rows for cell in row}


def test_bulk_actions_resume_trigger_and_retry(busy: Shell) -> None:
    busy("bulk", "pause", "--all", "--yes")
    assert busy("bulk", "resume", "--all", "--yes", "--json=progress.failed").json == {"progress.failed": 0}
    assert busy("bulk", "trigger", "--tag", "team:web", "--per-second", "1", "--yes").status == 0
    assert busy("bulk", "retry", "--tag", "team:data", "--yes").status == 0
    assert [row[1] for row in busy("bulk", "list").rows] == ["retry", "trigger", "resume", "pause"]


def test_an_operation_is_shown_and_stopped(busy: Shell) -> None:
    begun = busy.world.send("POST", "/v1/operations", {"action": "pause", "match": {"all": True}, "perSecond": 1})
    assert busy("bulk", "show", begun["operationId"], "--json=status").json == {"status": "running"}
    assert busy("bulk", "cancel", begun["operationId"], "--json=status").json == {"status": "cancelled"}


def test_ctrl_c_ends_the_waiting_and_says_how_the_operation_is_stopped(busy: Shell) -> None:
    def interrupt(_: float) -> None:
        raise KeyboardInterrupt

    busy.pause = interrupt
    done = busy("bulk", "pause", "--all", "--yes")
    assert done.status == 130
    assert "It goes on: `timeball bulk show op_" in done.stderr


def test_an_event_is_sent_from_options_and_several_from_a_file(shell: Shell) -> None:
    done = shell("event", "send", "--source", "shop", "--type", "order.placed", "--data", '{"total": 250}', "--id", "7")
    assert done.rows[0][:3] == ["7", "shop", "order.placed"]
    several = [{"source": "shop", "type": "a"}, {"source": "shop"}]
    done = shell("event", "send", "-", stdin=json.dumps(several))
    assert done.status == 1
    assert [row[1] for row in done.rows] == ["202", "400"]


@pytest.mark.parametrize(
    ("noun", "document"), [("task", {"handler": HANDLER}), ("calendar", {"timezone": "UTC", "dates": ["2027-01-01"]})]
)
def test_a_document_is_set_and_deleted(shell: Shell, noun: str, document: object) -> None:
    assert shell(noun, "set", "mine", "-", stdin=json.dumps(document)).rows[0][0] == "mine"
    assert shell(noun, "set", "mine", "-", "--json=version", stdin=json.dumps(document)).json == {"version": 1}
    assert [row[0] for row in shell(noun, "list").rows] == ["mine"]
    assert shell(noun, "delete", "mine", "--yes").status == 0
    assert shell(noun, "show", "mine").status == 3


def test_a_document_in_use_is_a_conflict(shell: Shell) -> None:
    shell("task", "set", "mail", "-", stdin=json.dumps({"handler": HANDLER}))
    shell("job", "put", "x", "-", stdin=json.dumps({"handler": "mail", "everySeconds": 60}))
    assert shell("task", "delete", "mail", "--yes").status == 5


def test_a_freeze_is_looked_at_begun_and_lifted(busy: Shell) -> None:
    held = busy("freeze", "set", "--tag", "team:web", "--to", "2026-11-23T09:50:00Z", "--preview")
    assert {row[0] for row in held.rows} == {"hello"}
    assert "It would hold" in held.stderr
    made = busy("freeze", "set", "--job", "hello", "--job", "broken", "--reason", "release", "--json")
    assert made.json["match"]["jobIds"] == ["broken", "hello"]
    assert busy("freeze", "list").rows[0][::5] == [made.json["freezeId"], "release"]
    assert busy("freeze", "delete", made.json["freezeId"], "--yes").rows[0][1] == "lifted"


def test_a_limit_is_set_and_follows_its_jobs_again(shell: Shell) -> None:
    done = shell("limit", "set", "warehouse", "--limit", "8", "--per-second", "2.5", "--burst", "3", "--json=fixed")
    assert done.json["fixed"] == {"limit": 8, "perSecond": 2.5, "burst": 3}
    assert shell("limit", "set", "warehouse", "--limit", "4", "--json=fixed.perSecond").json == {
        "fixed.perSecond": None
    }


def test_a_tenant_is_made_changed_disabled_and_deleted(shell: Shell) -> None:
    assert shell("tenant", "set", "initech").rows[0][:2] == ["initech", "1"]
    patch = '{"quotas": {"activeJobs": 10}}'
    assert shell("tenant", "set", "initech", "-", "--weight", "3", "--json=weight", stdin=patch).json == {"weight": 3}
    assert shell("tenant", "show", "initech", "--json=quotas.activeJobs.limit").json == {"quotas.activeJobs.limit": 10}
    assert shell("tenant", "set", "initech", "--disable").rows[0][2] == "true"
    assert shell("tenant", "delete", "initech", "--yes").status == 0


def test_a_key_is_made_changed_rotated_and_revoked(shell: Shell) -> None:
    made = shell("key", "create", "--role", "viewer", "--name", "billing", "--tag", "team:web", "--json")
    assert made.json["key"].startswith("tb_")
    assert made.stderr == "Keep the key now: no later answer shows it.\n"
    name = made.json["keyId"]
    assert shell("key", "set", name, "--role", "submitter", "--json=role,tags").json == {
        "role": "submitter",
        "tags": {"team": "web"},
    }
    assert shell("key", "rotate", name, "--overlap", "60", "--json").json["key"].startswith("tb_")
    assert shell("key", "delete", name, "--yes").rows[0][5].startswith("2026")
    assert "globex" in shell("key", "create", "--tenant", "globex", "--role", "admin", "--json").json["tenant"]
    assert shell("key", "list", "--tenant", "globex").rows


def test_a_secret_is_drawn_into_the_pipe_that_stores_it_and_is_in_no_command(shell: Shell) -> None:
    assert shell("secret", "draw").stdout == "whsec_" + "A" * 43 + "="
    assert shell("secret", "draw", terminal=True).stdout.endswith("=\n")
    assert shell("secret", "create", "timeball/acme/orders", "--json").json == {
        "secretId": "timeball/acme/orders",
        "store": "timeball secret draw | aws secretsmanager create-secret --name timeball/acme/orders "
        "--secret-string file:///dev/stdin",
        "show": "aws secretsmanager get-secret-value --secret-id timeball/acme/orders --query SecretString "
        "--output text",
    }
    turned = shell("secret", "rotate", "timeball/acme/orders", "--region", "eu-west-1", "--json=store").json
    assert turned["store"] == (
        "timeball secret draw | aws secretsmanager put-secret-value --secret-id timeball/acme/orders "
        "--secret-string file:///dev/stdin --region eu-west-1"
    )


def test_any_request_with_a_body_a_header_and_parameters(shell: Shell) -> None:
    body = json.dumps({"handler": HANDLER, "everySeconds": 60})
    assert shell("api", "POST", "/v1/jobs", "-", "--header", "Idempotency-Key: one", stdin=body).status == 0
    found = shell("api", "GET", "/v1/jobs", "--query", "status=pending,paused", "--query", "limit=1")
    assert found.json["items"][0]["createdBy"] == shell.world.call("GET", "/v1/me").body["keyId"]
    assert shell("api", "GET", "/healthz").json == {"status": "ok"}


def test_a_login_is_kept_for_this_user_alone_and_used(shell: Shell) -> None:
    key = shell.environment.pop("TIMEBALL_KEY")
    del shell.environment["TIMEBALL_URL"]
    assert shell("login", URL, stdin=f"{key}\n").status == 0
    file = profiles_file(shell.environment)
    assert file.stat().st_mode & 0o777 == 0o600
    assert shell("whoami", "--json=role").json == {"role": "admin"}
    shell("login", URL, "--name", "reader", stdin=shell.world.keys["viewer"])
    assert shell("whoami", "--json=role").json == {"role": "viewer"}
    assert shell("--profile", "default", "whoami", "--json=role").json == {"role": "admin"}
    assert shell("profile", "list").rows == [["default", URL, "false"], ["reader", URL, "true"]]
    assert shell("profile", "use", "default").status == 0
    assert shell("profile", "delete", "reader").status == 0
    assert shell("logout").stderr == "The profile default is forgotten.\n"
    assert read_profiles(file).profiles == {}


def test_a_login_with_a_wrong_key_keeps_nothing(shell: Shell) -> None:
    assert shell("login", URL, stdin="tb_wrong\n").status == 4
    assert not profiles_file(shell.environment).exists()


def test_the_environment_wins_over_a_profile(shell: Shell) -> None:
    shell("login", URL, stdin=shell.world.keys["viewer"])
    assert shell("whoami", "--json=role").json == {"role": "admin"}


def test_the_console_and_pages_are_opened(busy: Shell) -> None:
    assert busy("open").stdout == ""
    assert busy.launched[0].startswith(f"{URL}/console#s=tbc_")
    busy("open", "job", "hello")
    assert busy.launched[1] == f"{URL}/console/#/jobs/hello"
    assert busy("open", "run", BROKEN, "--print").stdout == f"{URL}/console/#/runs/{BROKEN}\n"


def test_a_screen_is_drawn_again_until_ctrl_c(busy: Shell) -> None:
    waits: list[float] = []

    def wait(seconds: float) -> None:
        waits.append(seconds)
        busy.world.advance(seconds)
        if len(waits) == 3:
            raise KeyboardInterrupt

    busy.pause = wait
    done = busy("now", "--watch", terminal=True)
    assert done.status == 130
    assert waits == [2.0, 2.0, 2.0]
    assert done.stdout.count("as of") == 3


def test_a_target_is_tried(shell: Shell) -> None:
    done = shell("test-call", HANDLER, "--payload", '{"a": 1}', "--timeout", "5", "--json=verdict,response.status")
    assert (done.status, done.json) == (0, {"verdict": "succeeded", "response.status": 200})


def test_the_target_of_a_job_is_tried_with_its_payload(shell: Shell) -> None:
    job = {"target": {"type": "http", "url": HANDLER}, "payload": {"a": 1}, "everySeconds": 60}
    shell.world.send("PUT", "/v1/jobs/plain", job)
    assert shell("test-call", "plain", "--json=verdict").json == {"verdict": "succeeded"}
    assert shell.world.trials.made[-1].work.payload == '{"a":1}'
    job["target"] = {"type": "http", "url": HANDLER, "headers": {"X-Key": "secret"}}
    shell.world.send("PUT", "/v1/jobs/secret", job)
    done = shell("test-call", "secret")
    assert (done.status, "whose values no answer shows" in done.stderr) == (5, True)


def test_backfills_and_replays_show_how_far_they_are(busy: Shell) -> None:
    between = ("--from", "10m", "--to", "5m")
    done = busy("backfill", "create", "hello", *between, "--pace", "0", "--wait", terminal=True)
    assert "5/5" in done.stderr
    done = busy("failures", "replay", "--job", "broken", stdin="y\n", terminal=True)
    assert "3/3" in done.stderr


def test_a_folder_that_cannot_be_read_is_named(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    shell.environment["XDG_CONFIG_HOME"] = str(tmp_path / "file")
    for arguments in (("logout",), ("profile", "list"), ("login", URL)):
        done = shell(*arguments, stdin=shell.world.keys["viewer"])
        assert (done.status, done.stdout) == (2, "")
        assert str(tmp_path / "file") in done.stderr


def test_a_login_at_a_web_page_keeps_nothing(shell: Shell) -> None:
    page = httpx.MockTransport(lambda _: httpx.Response(200, html="<p>hello</p>"))
    done = Shell(shell.world, shell.environment, transport=page)("login", URL, stdin="tb_x")
    assert (done.status, "is not Timeball's API" in done.stderr) == (2, True)
    assert not profiles_file(shell.environment).exists()
