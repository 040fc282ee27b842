"""Existing resources for the requests: jobs, tasks, and runs in each state, created anew from time to time."""

from tests.api.backfills.calls import HOURLY, RANGE
from tests.api.client import Api
from tests.api.runs.rows import called, dead, waiting
from timeball.domain.time.instants import SECOND_MS

ROUND = 100
"""After this many requests the world is created anew."""


class World:
    """An API whose jobs are planned and whose runs are called as requests arrive."""

    def __init__(self) -> None:
        self.api = Api()
        self._requests = 0
        self.api.tick()
        self._make()

    def go_on(self) -> None:
        """Count a request, and let time pass."""
        self._requests += 1
        if self._requests % ROUND == 0:
            self.api.clock.advance(SECOND_MS)
            self.api.tick()
            self.api.dispatch()
            self._make()

    def _make(self) -> None:
        api = self.api
        for freeze in api.call("GET", "/v1/freezes").body["items"]:
            api.call("DELETE", f"/v1/freezes/{freeze['freezeId']}")
        api.call("PUT", "/v1/calendars/holidays-de", {"timezone": "Europe/Berlin", "dates": ["2026-12-25"]})
        hourly = api.create(**HOURLY)
        api.call("POST", f"/v1/jobs/{hourly['jobId']}/backfills", RANGE)
        paused = api.create(everySeconds=60)
        api.call("POST", f"/v1/jobs/{paused['jobId']}/pause")
        task = api.call("POST", "/v1/tasks", {"handler": "https://example.com"}).body
        api.call("POST", "/v1/jobs", {"taskId": task["taskId"], "everySeconds": 60})
        called(api)
        waiting(api)
        dead(api, hourly, -self._requests)
