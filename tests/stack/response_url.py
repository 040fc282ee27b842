"""A URL to which a custom resource's function answers, as CloudFormation gives one with each request."""

import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any


def answer_to(ask: Callable[[str], None]) -> dict[str, Any]:
    """Call a function with a URL, and return what it sends there."""
    told: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_PUT(self) -> None:
            told.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.handle_request)
        thread.start()
        ask(f"http://127.0.0.1:{server.server_port}/")
        thread.join()
    return told[0]
