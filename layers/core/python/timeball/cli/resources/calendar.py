"""`timeball calendar`: dates on which jobs do not fire."""

from timeball.cli.output import Column
from timeball.cli.resources.documents import declare_documents
from timeball.cli.tree import Commands

app = Commands("List, set and delete calendars: dates on which jobs do not fire.")

_COLUMNS = (
    Column("CALENDAR", "name"),
    Column("ZONE", "timezone"),
    Column("DATES", lambda calendar: len(calendar["dates"])),
    Column("RANGES", lambda calendar: len(calendar["ranges"])),
    Column("UPDATED", "updatedAt"),
    Column("VERSION", "version"),
)
_LINES = (
    Column("CALENDAR", "name"),
    Column("ZONE", "timezone"),
    Column("DATES", "dates"),
    Column("RANGES", lambda calendar: [f"{one['from']} to {one['to']}" for one in calendar["ranges"]]),
    Column("UPDATED", "updatedAt"),
    Column("VERSION", "version"),
)

declare_documents(app, "calendar", "calendars", _COLUMNS, _LINES)
