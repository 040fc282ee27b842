"""A receiver of one's own, in a process of its own: it notes each call in a file, and prints the port that it has.

It imports nothing of Timeball's. `python receiver.py FILE`
"""

import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import TextIO

FACTS = ("Timeball-Job-Id", "Timeball-Run-Id", "Timeball-Attempt", "Timeball-Fire-Time", "Timeball-Now")


def serve(noted: TextIO) -> None:
    """Answer each call with a 200, and note its facts in a line."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            noted.write("\t".join(self.headers[name] for name in FACTS) + "\n")
            self.send_response_only(200)
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"ok")

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    server = HTTPServer(("127.0.0.1", 0), Handler)
    sys.stdout.write(f"{server.server_port}\n")
    sys.stdout.flush()
    server.serve_forever()


if __name__ == "__main__":
    with Path(sys.argv[1]).open("w", buffering=1, encoding="utf-8") as file:
        serve(file)
