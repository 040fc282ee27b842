# A newcomer's second task: ten jobs with dependencies. Three sources, a table of each, two joins, a report and a clean-up.
# Read: docs/start/pipeline.md, docs/concepts/dependencies.md.

mkdir -p site
for job in orders customers stock orders-table customers-table stock-table sales shelves clean-up; do touch "site/$job"; done
python3 -m http.server 9000 --directory site &
until curl -s -o /dev/null http://127.0.0.1:9000/; do :; done

python3 - > jobs.json <<'PROGRAM'
import json

parents = {
    "orders": [], "customers": [], "stock": [],
    "orders-table": ["orders"], "customers-table": ["customers"], "stock-table": ["stock"],
    "sales": ["orders-table", "customers-table"], "shelves": ["orders-table", "stock-table"],
    "report": ["sales", "shelves"], "clean-up": ["report"],
}
night = {"cronExpression": "0 3 * * *", "timezone": "Europe/Berlin"}
jobs = []
for name, above in parents.items():
    target = {"type": "http", "method": "GET", "url": f"http://127.0.0.1:9000/{name}"}
    jobs.append({"jobId": name, "target": target, **({"dependsOn": above} if above else night)})
jobs[-1]["triggerRule"] = "allDone"  # clean up after a bad night, too
print(json.dumps({"jobs": jobs}))
PROGRAM
timeball api POST /v1/jobs:batch jobs.json > made.json
timeball job graph report

sleep 86400  # one night; there is no file of the report
timeball cycle show report || echo "The night has failed."
touch site/report
timeball cycle rerun report latest
sleep 20
timeball cycle show report
timeball cycle show clean-up
