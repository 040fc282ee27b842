"""`timeball task`: targets and policies that jobs name."""

from timeball.cli.output import Column
from timeball.cli.resources.documents import declare_documents
from timeball.cli.tree import Commands

app = Commands("List, set and delete tasks: targets and policies that jobs name.")

_COLUMNS = (
    Column("TASK", "taskId"),
    Column("NAME", "name"),
    Column("TYPE", "type"),
    Column("TIMEOUT", "timeoutSeconds"),
    Column("RETRIES", "maxRetries"),
    Column("VERSION", "version"),
)
_LINES = (*_COLUMNS[:3], Column("TARGET", "target"), *_COLUMNS[3:], Column("TAGS", "tags"))

declare_documents(app, "task", "tasks", _COLUMNS, _LINES)
