"""A client of the HTTP API as users see it: JSON in, JSON out, without Timeball's own code."""

import http.client
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode, urlsplit

_TIMEOUT_SECONDS = 30


class UnexpectedAnswerError(RuntimeError):
    """The API's answer differs from its documentation."""


@dataclass(frozen=True)
class ApiAnswer:
    """An answer: its status, its headers with names in lower case, its text."""

    status: int
    headers: Mapping[str, str]
    text: str

    @property
    def body(self) -> Any:  # noqa: ANN401 - JSON is whatever it is
        """Return the answer's JSON."""
        return json.loads(self.text)


@dataclass(frozen=True)
class ApiClient:
    """A caller, with or without a key."""

    url: str
    key: str | None

    def send(self, method: str, path: str, raw: bytes | None = None, **more: str) -> ApiAnswer:
        """Send a request with these bytes as JSON; raise OSError or HTTPException if there is no answer.

        `more` are further headers, with names in Python's form: `if_match`.
        """
        url = urlsplit(self.url)
        headers = {name.replace("_", "-"): value for name, value in more.items()}
        if self.key is not None:
            headers["Authorization"] = f"Bearer {self.key}"
        if raw is not None:
            headers["Content-Type"] = "application/json"
        connection = http.client.HTTPConnection(url.netloc, timeout=_TIMEOUT_SECONDS)
        try:
            connection.request(method, f"{url.path}{path}", raw, headers)
            answer = connection.getresponse()
            named = {name.lower(): value for name, value in answer.getheaders()}
            return ApiAnswer(answer.status, named, answer.read().decode())
        finally:
            connection.close()

    def get(self, path: str, **query: object) -> Any:  # noqa: ANN401 - JSON is whatever it is
        """Return the JSON at a path; raise `UnexpectedAnswerError` unless the answer is a 200."""
        answer = self.send("GET", f"{path}?{urlencode(query)}" if query else path)
        if answer.status != http.HTTPStatus.OK:
            raise UnexpectedAnswerError(f"GET {path} was answered {answer.status}: {answer.text}")
        return answer.body

    def create(self, job: Mapping[str, object]) -> Any:  # noqa: ANN401 - JSON is whatever it is
        """Create a job and return it; raise `UnexpectedAnswerError` if it is not created."""
        answer = self.send("POST", "/v1/jobs", json.dumps(job).encode())
        if answer.status != http.HTTPStatus.CREATED:
            raise UnexpectedAnswerError(f"creating a job was answered {answer.status}: {answer.text}")
        return answer.body

    def cancel(self, job_id: str) -> ApiAnswer:
        """Cancel a job."""
        return self.send("DELETE", f"/v1/jobs/{job_id}")
