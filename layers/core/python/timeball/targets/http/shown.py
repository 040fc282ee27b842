"""A webhook's call as a trial shows it: what was sent, without the values of the user's headers, and what took time."""

from collections.abc import Collection, Mapping
from typing import Final

from timeball.targets.http.intake import Intake
from timeball.targets.http.request import Request
from timeball.targets.witness import Witness

_LONGEST_BODY: Final = 16 * 1024
_LONGEST_HEADERS: Final = 8 * 1024


class Showing:
    """Tells a witness of the one call that is made."""

    def __init__(self, witness: Witness) -> None:
        self._witness = witness
        self._sent_at: int | None = None
        self._headed_at: int | None = None

    def sends(self, request: Request, own: Collection[str], signatures: int, now: int) -> None:
        """Tell what is sent; a header of the user's `own` has no value, for that may be secret."""
        hidden = {name.lower() for name in own}
        headers = {name: None if name.lower() in hidden else value for name, value in request.headers.items()}
        body = None if request.body is None else request.body[:_LONGEST_BODY].decode("utf-8", "ignore")
        self._witness.request = {"method": request.method, "url": str(request.url), "headers": headers, "body": body}
        self._witness.signatures = signatures
        self._sent_at = now

    def hears(self, headers: Mapping[str, str], now: int) -> None:
        """Tell that an answer's head has come."""
        self._witness.headers = _shown_headers(headers)
        self._headed_at = now

    def ends(self, intake: Intake, now: int) -> None:
        """Tell how long each part took, as far as the call came; TLS only where it is spoken."""
        connected_at = intake.greeted_at if intake.is_greeted_first else intake.called_at
        moments = {
            "name": (self._sent_at, intake.opened_at),
            "connect": (intake.opened_at, connected_at),
            "tls": (intake.greeted_at if intake.is_greeted_first else None, intake.called_at),
            "wait": (intake.called_at, self._headed_at),
            "body": (self._headed_at, now),
        }
        self._witness.took_ms = {
            part: end - begin for part, (begin, end) in moments.items() if begin is not None and end is not None
        }


def _shown_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Return an answer's headers, as many as are no flood."""
    shown: dict[str, str] = {}
    left = _LONGEST_HEADERS
    for name, value in headers.items():
        left -= len(name) + len(value)
        if left >= 0:
            shown[name] = value.encode("utf-8", "replace").decode()
    return shown
