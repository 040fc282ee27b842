"""Control the embedded AWS from tests: its processes, its queues, the limits of its functions."""

import ipaddress
import json
import os
import re
import signal
import subprocess
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from tests.end_to_end.steps import until
from timeball.dev.stage import Stage

_PROCESSES = Path("/proc")
_LISTENING = "0A"


def processes_of(stage: Stage, function: str) -> list[int]:
    """Return the ids of the processes in which the emulator runs a function."""
    # Each process is started from its own folder, below the emulator's.
    name = f"{stage.deployment.name}-{function}"
    folder = re.compile(re.escape(f"{stage.folder}/") + rf"\S*/ministack-lambda-{name}-[^-/]+/")
    return [process for process, command in _commands() if folder.search(command)]


def kill(stage: Stage, function: str) -> None:
    """Kill the processes of a function, as the machine does when it is out of memory, and wait until they are gone."""
    processes = processes_of(stage, function)
    assert processes, f"{function} has no process"
    for process in processes:
        os.kill(process, signal.SIGKILL)
    until(lambda: not {*processes} & {*processes_of(stage, function)}, otherwise=f"{function} outlives its end")


def start_processes(stage: Stage, executor: str, at_once: int) -> None:
    """Make the emulator start this many processes of an executor that are ready for calls.

    The emulator notices that a process has died only when it invokes that process. That call fails, and is repeated.
    Calls that do not overlap share a process, so they are repeated too.
    """
    functions = stage.emulator.client("lambda")
    name = f"{stage.deployment.name}-{executor}"

    def call(payload: str) -> bool:
        return "FunctionError" not in functions.invoke(FunctionName=name, Payload=payload)

    def ready() -> bool:
        with ThreadPoolExecutor(at_once) as pool:
            answered = list(pool.map(call, [json.dumps({"Records": []})] * at_once))
        return all(answered) and len(processes_of(stage, executor)) >= at_once

    until(ready, otherwise=f"{executor} has not got {at_once} processes that answer")


def listeners_of(stage: Stage) -> list[str]:
    """Return the addresses at which the emulator and its children accept connections. Works on Linux only."""
    sockets = set()
    for link in _PROCESSES.glob("[0-9]*/fd/*"):
        with suppress(OSError):  # the process has ended, or belongs to another user
            if os.getpgid(int(link.parts[2])) == stage.emulator.pid:
                sockets.add(str(link.readlink()))
    addresses = []
    for table in ("tcp", "tcp6"):
        for line in (_PROCESSES / "net" / table).read_text().splitlines()[1:]:
            _, local, _, state, *_, inode = line.split()[:10]
            if state == _LISTENING and f"socket:[{inode}]" in sockets:
                address, port = local.split(":")
                octets = bytes.fromhex(address)[::-1]
                addresses.append(f"{ipaddress.ip_address(octets)}:{int(port, 16)}")
    return addresses


def busy_seconds(processes: Iterable[int]) -> float:
    """Return the processor time (s) of processes so far; an ended process counts as 0. Works on Linux only."""
    ticks = 0
    for process in processes:
        with suppress(OSError):
            # The fields follow the command's name. It may contain any character, but the fields after it no closing
            # parenthesis.
            numbers = (_PROCESSES / str(process) / "stat").read_text().rpartition(")")[2].split()
            ticks += int(numbers[11]) + int(numbers[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def _commands() -> Iterator[tuple[int, str]]:
    """Yield the id and the command line of each process of this machine."""
    if _PROCESSES.is_dir():
        for file in _PROCESSES.glob("[0-9]*/cmdline"):
            try:
                yield int(file.parent.name), file.read_bytes().replace(b"\0", b" ").decode(errors="replace")
            except OSError:
                continue  # the process has ended
        return
    listed = subprocess.run(["ps", "-axww", "-o", "pid=,args="], capture_output=True, text=True, check=True)  # noqa: S607
    for line in listed.stdout.splitlines():
        pid, _, command = line.strip().partition(" ")
        yield int(pid), command


@contextmanager
def scan_at_a_standstill(stage: Stage) -> Iterator[None]:
    """Stop the ticks of the ticker from reaching the scan."""
    functions = stage.emulator.client("lambda")
    scan = f"{stage.deployment.name}-scan"
    functions.put_function_concurrency(FunctionName=scan, ReservedConcurrentExecutions=0)
    try:
        yield
    finally:
        functions.delete_function_concurrency(FunctionName=scan)


@contextmanager
def no_executor(stage: Stage, executor: str) -> Iterator[None]:
    """Stop the messages of an executor's queue from reaching it."""
    functions = stage.emulator.client("lambda")
    name = f"{stage.deployment.name}-{executor}"
    (mapping,) = functions.list_event_source_mappings(FunctionName=name)["EventSourceMappings"]
    functions.update_event_source_mapping(UUID=mapping["UUID"], Enabled=False)
    try:
        yield
    finally:
        functions.update_event_source_mapping(UUID=mapping["UUID"], Enabled=True)


def purge(stage: Stage, queue: str) -> None:
    """Delete all messages of a queue, to simulate their loss."""
    stage.emulator.client("sqs").purge_queue(QueueUrl=stage.deployment.outputs[queue])


def receive_and_die(stage: Stage, queue: str) -> int:
    """Receive messages like an executor that then dies. Return how many messages that were."""
    url = stage.deployment.outputs[queue]
    answer = stage.emulator.client("sqs").receive_message(QueueUrl=url, MaxNumberOfMessages=10, VisibilityTimeout=900)
    return len(answer.get("Messages", []))


def send_copy(stage: Stage, queue: str, run: dict[str, Any]) -> None:
    """Send a run's message again, without a delay."""
    body = json.dumps({"tenant": stage.tenant, "runs": [run["runId"]]}, separators=(",", ":"))
    stage.emulator.client("sqs").send_message(QueueUrl=stage.deployment.outputs[queue], MessageBody=body)


def messages_in(stage: Stage, queue: str) -> int:
    """Return the number of messages in a queue: waiting, delayed, and received but not deleted."""
    answer = stage.emulator.client("sqs").get_queue_attributes(
        QueueUrl=stage.deployment.outputs[queue],
        AttributeNames=[
            "ApproximateNumberOfMessages",
            "ApproximateNumberOfMessagesDelayed",
            "ApproximateNumberOfMessagesNotVisible",
        ],
    )
    return sum(map(int, answer["Attributes"].values()))
