"""The verifiers in docs/reference/webhooks.md, run as they stand there, accept Timeball's requests and nothing else."""

import json
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.docs.readme import ROOT, read
from timeball.targets.http.request import parse_key, signature_of

PAGE = read(ROOT / "docs/reference/webhooks.md")
NEW, OLD, OTHER = "whsec_" + "MDEy" * 8, "whsec_" + "YWJj" * 10 + "YQ==", "whsec_" + "eHl6" * 8
NOW = 1_795_253_400
"""The time (s) on the clock of a verifier, which refuses old messages."""
BODY = '{"n": 1, "ä": "✓"}'

Case = tuple[dict[str, str], str]
"""Headers and a body."""
Verify = Callable[[str, Sequence[Case]], list[bool]]
"""Says for each case whether a holder of the secret accepts it."""


def example(language: str, fence: str) -> str:
    (source,) = re.findall(
        rf"<!-- example: verifier in {language} -->\n```{fence}\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE
    )
    return str(source)


def in_python(secret: str, cases: Sequence[Case]) -> list[bool]:
    source = example("Python", "python")
    told = "import json, sys\nprint(json.dumps([is_timeballs(h, b.encode()) for h, b in json.load(sys.stdin)]))"
    clock = f"import time\ntime.time = lambda: {NOW}"
    return run([sys.executable, "-c", f"{clock}\n{source}\n{told}"], secret, cases)


def in_node(secret: str, cases: Sequence[Case]) -> list[bool]:
    source = example("Node", "js")
    told = (
        'import { readFileSync } from "node:fs";\n'
        "const cases = JSON.parse(readFileSync(0));\n"
        f"Date.now = () => {NOW} * 1000;\n"
        "console.log(JSON.stringify(cases.map(([headers, body]) => isTimeballs(headers, Buffer.from(body)))));"
    )
    node = str(Path(sys.executable).parent / "node")
    return run([node, "--input-type=module", "--eval", f"{source}\n{told}"], secret, cases)


def run(command: list[str], secret: str, cases: Sequence[Case]) -> list[bool]:
    environment = {"WEBHOOK_SECRET": secret}
    done = subprocess.run(command, input=json.dumps(cases), capture_output=True, text=True, check=True, env=environment)
    return list(json.loads(done.stdout))


def sent(*secrets: str, age_seconds: int = 0, body: str = BODY) -> dict[str, str]:
    keys = [key for secret in secrets if (key := parse_key(secret)) is not None]
    sent_at = NOW - age_seconds
    signature = signature_of("nightly.1795253400023.s", sent_at, body.encode(), keys)
    return {"webhook-id": "nightly.1795253400023.s", "webhook-timestamp": str(sent_at), "webhook-signature": signature}


@pytest.mark.parametrize("verify", [in_python, in_node])
def test_a_verifier_accepts_exactly_the_requests_that_timeball_signs_with_its_key(verify: Verify) -> None:
    good = sent(NEW, OLD)
    cases: dict[str, Case] = {
        "as it was sent": (good, BODY),
        "with no body": (sent(NEW, body=""), ""),
        "with another key alone": (sent(OLD, OTHER), BODY),
        "another body": (good, BODY + " "),
        "another run": ({**good, "webhook-id": "nightly.1795253400024.s"}, BODY),
        "another time": ({**good, "webhook-timestamp": str(int(good["webhook-timestamp"]) + 1)}, BODY),
        "too old": (sent(NEW, age_seconds=301), BODY),
        "of the future": (sent(NEW, age_seconds=-310), BODY),
        "no signature": ({name: good[name] for name in ("webhook-id", "webhook-timestamp")}, BODY),
        "an empty one": ({**good, "webhook-signature": ""}, BODY),
        "a short one": ({**good, "webhook-signature": "v1,"}, BODY),
        "no ASCII": ({**good, "webhook-signature": "v1,é v1,x"}, BODY),
        "no headers at all": ({}, BODY),
        "no time": ({**good, "webhook-timestamp": "soon"}, BODY),
    }
    accepted = [name for name, is_accepted in zip(cases, verify(NEW, list(cases.values())), strict=True) if is_accepted]
    assert accepted == ["as it was sent", "with no body"]
    assert verify(OLD, [(good, BODY)]) == [True]  # during a rotation
