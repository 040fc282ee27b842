"""The commands by name: the module that has each, and the line that describes it.

A command is one module with an `app`, and is imported only when it runs or shows its help. So a new command is a module
and a line here, and costs the others nothing.
"""

from collections.abc import Mapping
from typing import Final

COMMANDS: Final[Mapping[str, tuple[str, str]]] = {
    "dev": ("timeball.cli.dev", "Run a whole Timeball on this machine, without an account."),
    "login": ("timeball.cli.account.login", "Keep a URL and an API key as a profile."),
    "logout": ("timeball.cli.account.logout", "Forget the API key of a profile."),
    "whoami": ("timeball.cli.account.whoami", "Show the key, its role, its tenant and its limits."),
    "profile": ("timeball.cli.account.profile", "List, choose and delete profiles."),
    "open": ("timeball.cli.views.open_page", "Open the console, or the page of a job or a run."),
    "now": ("timeball.cli.views.now", "Show what is late, what runs, what failed and what fires next."),
    "job": ("timeball.cli.jobs.job", "List, make, change and steer jobs."),
    "run": ("timeball.cli.jobs.run", "List, follow, retry and cancel runs."),
    "cycle": ("timeball.cli.jobs.cycle", "Show and repeat the cycles of jobs that depend on each other."),
    "failures": ("timeball.cli.jobs.failures", "List, replay and discard the runs that failed for good."),
    "backfill": ("timeball.cli.jobs.backfill", "Run the fires of a past range again."),
    "bulk": ("timeball.cli.jobs.bulk", "Apply one action to all jobs that match."),
    "preview": ("timeball.cli.preview", "Print the next fire times of a schedule, without a service."),
    "test-call": ("timeball.cli.jobs.trial", "Call a URL or a job's target once, and show the whole call."),
    "import": ("timeball.cli.jobs.importing", "Make jobs of a crontab, or of another scheduler's definitions."),
    "event": ("timeball.cli.jobs.event", "Send an event to the jobs whose patterns match it."),
    "task": ("timeball.cli.resources.task", "List, set and delete tasks."),
    "calendar": ("timeball.cli.resources.calendar", "List, set and delete calendars."),
    "freeze": ("timeball.cli.resources.freeze", "List, begin and lift freezes."),
    "limit": ("timeball.cli.resources.limit", "Show and set the limits that jobs share."),
    "tenant": ("timeball.cli.account.tenant", "List, set and delete tenants."),
    "key": ("timeball.cli.account.key", "List, make, rotate and revoke API keys."),
    "secret": ("timeball.cli.account.secret", "Draw a secret that signs webhooks."),
    "stats": ("timeball.cli.views.stats", "Show counts of jobs and runs, lateness and failure rates."),
    "doctor": ("timeball.cli.views.doctor", "Name what is wrong with a Timeball, and how to mend it."),
    "worker": ("timeball.cli.work.worker", "Run a command for each run that comes through a queue."),
    "listen": ("timeball.cli.work.listen", "Forward the runs of a queue to a server on this machine."),
    "mcp": ("timeball.cli.work.tools", "Serve tools for language models by MCP."),
    "api": ("timeball.cli.call", "Send any request to the API."),
    "completion": ("timeball.cli.completion", "Print the script that completes commands in a shell."),
}
"""Each command in the order of the help."""
