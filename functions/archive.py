"""The archive's function: write what records of the jobs table's stream say into the archive.

A batch whose objects are not all put comes again, as it was or in halves. A record that cannot be read stops no other:
its keys are kept for people, and its row stands in the table until it expires.
"""

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from functions.records import keep
from timeball.api.archive import lines_of
from timeball.aws.dynamodb.stream import Record, Works, named_works, read_write
from timeball.aws.request_retries import Timed, in_time
from timeball.domain.archive import ArchiveLine, objects_of
from timeball.ports.errors import UnavailableError
from timeball.runtime.wiring import archive, engine_context, start

log = logging.getLogger()
log.setLevel(logging.INFO)

start(engine_context)


@in_time
def handler(event: Mapping[str, Any], context: Timed) -> dict[str, Any]:  # noqa: ARG001 - in_time asks it
    """Put the lines about a batch of records. Raises UnavailableError if the batch must come again."""
    records = event["Records"]
    works = _works_of_all(records)
    lines = [line for record in records for line in _lines_of(record, works)]
    objects = objects_of(lines)
    archive().put(objects)
    counts = {"records": len(records), "lines": len(lines), "objects": len(objects)}
    log.info("archived", extra=counts)
    return counts


def _works_of_all(records: Sequence[Record]) -> Works | None:
    """Return the works of all records by one request; None: one cannot be read. Raises UnavailableError."""
    try:
        return _read_works(records)
    except UnavailableError:
        raise
    except Exception:
        log.warning("works are read record by record", exc_info=True)
        return None


def _read_works(records: Sequence[Record]) -> Works:
    names = named_works(records)
    return dict(zip(names, engine_context().store.works.read(names), strict=True)) if names else {}


def _lines_of(record: Record, works: Works | None) -> list[ArchiveLine]:
    """Return the lines about a record; none if it cannot be read, once its keys are kept. Raises UnavailableError."""
    try:
        write = read_write(record, _read_works([record]) if works is None else works)
        return [] if write is None else [*lines_of(write)]
    except UnavailableError:
        raise
    except Exception:
        log.exception("a record cannot be read")
    keep(record)
    return []
