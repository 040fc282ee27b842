# A newcomer's first task: an endpoint that is called each night at 01:30 in Lisbon, and an alarm when that fails.
# Read: docs/start/first-job.md, docs/start/nightly-webhook.md.

cat > endpoint.py <<'PROGRAM'
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path


class Endpoint(BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        with Path("calls.txt").open("a") as calls:
            print(self.path, self.headers["Timeball-Fire-Time"], self.headers["Timeball-Attempt"], file=calls)
        self.send_response(500 if self.path == "/export" and Path("down").exists() else 200)
        self.end_headers()

    def log_message(self, *_):
        pass


HTTPServer(("127.0.0.1", 9000), Endpoint).serve_forever()
PROGRAM
python3 endpoint.py &
until curl -s -o /dev/null -X POST http://127.0.0.1:9000/hello; do :; done

timeball preview --cron "30 1 * * *" --timezone Europe/Lisbon --count 2

timeball job put export - <<'JOB'
{
  "target": {"type": "http", "url": "http://127.0.0.1:9000/export"},
  "cronExpression": "30 1 * * *",
  "timezone": "Europe/Lisbon",
  "maxRetries": 1,
  "notify": {"onFailure": "http://127.0.0.1:9000/alarm", "onRecovery": "http://127.0.0.1:9000/better"}
}
JOB

sleep 86400  # the first night is good
touch down
sleep 86400  # the second is not
timeball failures list --runs --job export
rm down
timeball failures replay --job export --yes
sleep 10
timeball run list --job export
cat calls.txt
