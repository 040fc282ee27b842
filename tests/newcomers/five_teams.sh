# A newcomer's third task: five teams with keys, quotas and alarms. The endpoint of all teams fails, so each alarm rings.
# Read: docs/how-to/teams.md, docs/reference/tenants.md.

cat > alarms.py <<'PROGRAM'
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path


class Alarms(BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        is_alarm = self.path.startswith("/alarm/")
        if is_alarm:
            with Path("alarms.txt").open("a") as alarms:
                print(self.path, file=alarms)
        self.send_response(200 if is_alarm else 400)
        self.end_headers()

    def log_message(self, *_):
        pass


HTTPServer(("127.0.0.1", 9000), Alarms).serve_forever()
PROGRAM
python3 alarms.py &
until curl -s -o /dev/null -X POST http://127.0.0.1:9000/hello; do :; done

for team in red green blue black white; do
  timeball tenant set "$team" - <<TEAM
{
  "quotas": {"activeJobs": 2, "runsAtOnce": 5},
  "defaults": {"timezone": "Europe/Madrid", "notify": {"onFailure": "http://127.0.0.1:9000/alarm/$team"}}
}
TEAM
  timeball key create --tenant "$team" --role submitter --name "$team's deployments" --json > "$team.json"
done
key() { python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["key"])' "$1.json"; }

for team in red green blue black white; do
  for job in one two; do
    echo '{"handler": "http://127.0.0.1:9000/work", "cronExpression": "0 7 * * *", "maxRetries": 0}' |
      TIMEBALL_KEY=$(key "$team") timeball job put "$job" -
  done
done
echo '{"handler": "http://127.0.0.1:9000/work", "cronExpression": "0 7 * * *"}' |
  TIMEBALL_KEY=$(key red) timeball job put three - || echo "Refused with $?."
TIMEBALL_KEY=$(key blue) timeball job list

sleep 86400
sort alarms.txt
timeball tenant list --health
