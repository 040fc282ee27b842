"""Call targets in a rehearsal: by canned answers, or for real on this machine; anything else ends the rehearsal.

Invariant: a target that has no answer, and an error in a user's function, is reported by the rehearsal, and never
becomes an outcome of a run that a test might take for the job's own.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from timeball.domain.model.runs.values import Accepted
from timeball.domain.model.terms.target import is_followed
from timeball.domain.templates.template import TemplateError
from timeball.ports.target import Answer, Call, ExecutionStatus
from timeball.rehearsal.answers import Answers, Canned, NoAnswer, RealTarget, ReportsLater, Standing, standing_for
from timeball.rehearsal.calls import Called
from timeball.rehearsal.errors import RehearsalError
from timeball.rehearsal.in_memory import InMemory
from timeball.rehearsal.loopback import send
from timeball.rehearsal.moments import seconds_in_ms
from timeball.rehearsal.outgoing import Outgoing, lower, outgoing
from timeball.rehearsal.transport import ask
from timeball.targets.calls import unanswered, unsent
from timeball.targets.http.addresses import UncallableError, parse_url
from timeball.targets.http.signing_keys import KeyRing, NoKeyError
from timeball.targets.http.verdict import answered

if TYPE_CHECKING:
    import httpx


@dataclass
class RehearsalCaller:
    """Calls targets, and notes their calls."""

    memory: InMemory
    answers: Answers
    ring: KeyRing
    calls: list[Called] = field(default_factory=list)
    failure: Exception | None = None
    """Why the rehearsal must end; None: it may continue."""

    async def prepare(self, call: Call) -> None:
        """Fetch nothing."""

    async def call(self, call: Call) -> Answer:
        """Call the target once."""
        clock = self.memory.clock
        try:
            leaving = outgoing(self.memory, self.ring, call)
        except TemplateError as why:
            return unsent(clock.now(), str(why))
        except UncallableError as why:
            return unanswered(call, None, clock.now(), str(why))
        except NoKeyError as why:
            return self._end(RehearsalError(f"{why} Give the rehearsal its value, such as secret(name, 'whsec_…')."))
        position = len(self.calls)
        self.calls.append(leaving.called)
        try:
            with self.memory.let_go():
                found = self._found(call, leaving)
        except Exception as failure:  # noqa: BLE001 - the rehearsal reports it, and not the engine
            return self._end(failure)
        answer = found if isinstance(found, Answer) else await self._answer(call, leaving, found)
        self.calls[position] = replace(leaving.called, status=answer.status)
        return answer

    def _end(self, failure: Exception) -> Answer:
        """End the rehearsal, and the attempt."""
        self.failure = self.failure or failure
        return unsent(self.memory.clock.now(), "The rehearsal ended here.")

    def _found(self, call: Call, leaving: Outgoing) -> Standing | Answer:
        """Return what becomes of a call, or the answer of a receiver on this machine. Raises RehearsalError."""
        called = leaving.called
        found = self.answers.of(called.url)
        if found is None:
            raise _unknown(called)
        if isinstance(found, RealTarget):
            return self._call_for_real(call, leaving, found)
        standing = standing_for(found, called, _sent)
        if isinstance(standing, ReportsLater) and not call.takes_report and not _is_followed(call):
            raise RehearsalError(
                f"The job {called.job_id} takes no reports: give it the completion `callback`, or another answer."
            )
        return standing

    def _call_for_real(self, call: Call, leaving: Outgoing, real: RealTarget) -> Answer:
        """Send a request to a receiver on this machine; the virtual clock stands until it has answered."""
        if leaving.request is None:
            raise RehearsalError("Only webhooks can be called for real: give this target canned answers.")
        now, url = self.memory.clock.now(), parse_url(real.url_of(str(leaving.request.url)))
        received = send(replace(leaving.request, url=url), call.timeout_seconds)
        if received.status is None:
            called_at = now if received.timed_out else None
            return unanswered(call, called_at, now, received.why, timed_out=received.timed_out)
        return answered(call, now, now, received.status, received.body, received.retry_after)

    async def _answer(self, call: Call, leaving: Outgoing, standing: Standing) -> Answer:
        """Return the answer of a target that is not called for real, once it has come by the virtual clock."""
        now = self.memory.clock.now()
        match standing:
            case NoAnswer(times_out=False):
                return unanswered(call, None, now, "The connection was refused.")
            case NoAnswer():
                return await self._timed_out(call)
            case ReportsLater() if _is_followed(call):
                body = None if standing.result is None else Canned(body=standing.result).text
                end = ExecutionStatus(is_over=True, error=standing.error, body=body)
                return self._started(call, standing.after_seconds, end)
            case ReportsLater():
                self._report(leaving, standing)
                return Answer(Accepted(), now, now, status=202, is_down=False)
            case Canned() if _is_followed(call) and standing.status < 300:
                end = ExecutionStatus(is_over=True, body=standing.text)
                return self._started(call, standing.takes_seconds, end)
        return await self._canned(call, leaving, standing)

    async def _canned(self, call: Call, leaving: Outgoing, canned: Canned) -> Answer:
        clock, called_at = self.memory.clock, self.memory.clock.now()
        if canned.takes_seconds > call.timeout_seconds:
            return await self._timed_out(call)
        await clock.sleep_until(called_at + seconds_in_ms(canned.takes_seconds))
        retry_after = lower(canned.headers).get("retry-after", "")
        answer = answered(call, called_at, clock.now(), canned.status, canned.text, retry_after)
        is_taken_over = leaving.request is None and call.takes_report and 200 <= canned.status < 300
        return replace(answer, verdict=Accepted()) if is_taken_over else answer

    async def _timed_out(self, call: Call) -> Answer:
        clock, called_at = self.memory.clock, self.memory.clock.now()
        await clock.sleep_until(called_at + seconds_in_ms(call.timeout_seconds))
        why = f"The target did not answer in full within {call.timeout_seconds:g} s."
        return unanswered(call, called_at, clock.now(), why, timed_out=True)

    def _started(self, call: Call, lasts_seconds: float, end: ExecutionStatus) -> Answer:
        """Start an execution that the run follows."""
        now, name = self.memory.clock.now(), f"{call.run}-{call.starts_as}"
        self.memory.executions.start(name, now + seconds_in_ms(lasts_seconds), end)
        return Answer(Accepted(name), now, now, status=200, is_down=False)

    def _report(self, leaving: Outgoing, later: ReportsLater) -> None:
        """Let heartbeats and a report come by the virtual clock."""
        now, report_ms = self.memory.clock.now(), seconds_in_ms(later.after_seconds)
        step_ms = seconds_in_ms(later.heartbeat_seconds) if later.heartbeat_seconds else report_ms
        for after_ms in range(step_ms, report_ms, max(1, step_ms)):
            self.memory.engine.at(now + after_ms, lambda: self._send_report(leaving, "heartbeat", {}))
        verb, body = ("complete", {"result": later.result}) if later.error is None else ("fail", {"error": later.error})
        self.memory.engine.at(now + report_ms, lambda: self._send_report(leaving, verb, body))

    def _send_report(self, leaving: Outgoing, verb: str, body: Mapping[str, object]) -> None:
        """Report as the target would; Timeball may refuse a report, of an attempt that it has given up for instance."""
        called = leaving.called
        asked = {"attempt": called.attempt, **body}
        ask(self.memory, "POST", f"/v1/runs/{called.run_id}/{verb}", asked, leaving.token or "")


def _is_followed(call: Call) -> bool:
    return is_followed(call.work.target)


def _sent(transport: "httpx.BaseTransport", call: Called) -> Canned:
    """Return the answer of a transport of httpx, such as one that calls a WSGI application in this process."""
    import httpx  # noqa: PLC0415 - only where a test has a transport

    request = httpx.Request(call.method, call.url, headers=dict(call.headers), content=call.body.encode())
    response = transport.handle_request(request)
    response.read()
    return Canned(response.status_code, response.text, dict(response.headers))


def _unknown(call: Called) -> RehearsalError:
    """Return the error about a target for which there is no answer."""
    if call.url.startswith("arn:"):
        return RehearsalError(
            f"The job {call.job_id} called {call.url}, which cannot be called in a rehearsal: "
            f"give it a canned answer, such as answers({call.url!r}, 200)."
        )
    return RehearsalError(
        f"The job {call.job_id} called {call.url}, for which the rehearsal has no answer: give it one, such as "
        f"answers({call.url!r}, 200), or name a receiver on this machine, such as "
        "calls_for_real('http://127.0.0.1:8000')."
    )
