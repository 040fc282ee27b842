"""The queries of docs/reference/archive.md find what they say, by DuckDB, in objects that played jobs left."""

import gzip
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import duckdb
import pytest

from tests.api.client import Api
from tests.engine.play import NOW, Play, spec
from tests.streams import tape_of
from timeball.domain.archive import LineKind, objects_of
from timeball.domain.model.ids import JobKey
from timeball.domain.model.terms.policies import Jitter, RetryPolicy
from timeball.domain.time.instants import SECOND_MS
from timeball.domain.time.schedule import At
from timeball.testing.memory_store import MemoryStore

PAGE = (Path(__file__).parents[2] / "docs/reference/archive.md").read_text()
TABLES = re.findall(r"<!-- tables -->\n```sql\n(.*?)```", PAGE, re.DOTALL)[0]
ATHENA = re.findall(r"<!-- athena -->\n```sql\n(.*?)```", PAGE, re.DOTALL)[0]
QUERIES = dict(re.findall(r"\*\*([^*\n]+)\*\*[^\n]*\n\n```sql\n(.*?)```", PAGE, re.DOTALL))
ONCE = RetryPolicy(max_retries=1, base_seconds=1, jitter=Jitter.NONE)


def _play_on(play: Play) -> None:
    for _ in range(4):
        play.scan_all()
        play.drain()
        play.clock.advance(5 * SECOND_MS)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder as `aws s3 sync` leaves it, with doubles: a job failed and succeeded later, and ten succeeded."""
    play = Play(MemoryStore())
    api = Api(play.store, play.clock)  # type: ignore[arg-type]
    play.queue = api.queue
    tape = tape_of(api.store, play.clock)
    play.store_jobs([spec("report", At(NOW), ONCE)])
    play.caller.statuses = [503, 503]
    _play_on(play)
    (run,) = play.runs(JobKey("acme", "report"))
    assert api.call("POST", f"/v1/runs/{run.id}/retry").status == 200
    play.store_jobs([spec(f"other-{n}", At(NOW), ONCE) for n in range(10)])
    _play_on(play)
    assert api.call("PUT", "/v1/jobs/report", {"handler": "https://example.com/hook", "everySeconds": 60}).status == 201
    lines, root = tape.lines(), tmp_path_factory.mktemp("archive")
    half = len(lines) // 2
    for one in [*objects_of(lines), *objects_of(lines[:half]), *objects_of(lines[half:])]:
        path = root / "archive" / one.key
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(gzip.compress(one.text.encode(), mtime=0))
    (root / "stored.json").write_text(
        json.dumps(Counter(str(row.state) for row in api.store.runs.values() if row.is_terminal))
    )
    return root


@pytest.fixture
def tables(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.chdir(folder)
    with duckdb.connect() as connection:
        connection.execute(TABLES)
        yield connection


def _rows(tables: Any, about: str) -> list[tuple[Any, ...]]:
    found: list[tuple[Any, ...]] = tables.execute(QUERIES[about]).fetchall()
    return found


def test_every_query_of_the_page_finds_something(tables: Any) -> None:
    assert len(QUERIES) == 4
    for about in QUERIES:
        assert _rows(tables, about)


def test_outcomes_by_day_count_each_run_once_as_it_ended_last(tables: Any, folder: Path) -> None:
    rows = _rows(tables, "Outcomes by day, without doubles")
    stored = json.loads((folder / "stored.json").read_text())
    assert {status: fires for _, status, fires in rows} == stored
    assert {day for day, _, _ in rows} == {"2026-11-21"}
    (in_all,) = tables.execute("SELECT count(*) FROM timeball_runs").fetchone()
    assert in_all > sum(stored.values()) + 1  # the files do hold doubles


def test_the_past_of_a_run_has_each_of_its_ends(tables: Any) -> None:
    rows = _rows(tables, "The past of one run")
    assert [(status, attempt) for _, status, _, attempt, _ in rows] == [("failed", 2), ("succeeded", 3)]


def test_the_attempts_of_a_run_are_its_failures(tables: Any) -> None:
    rows = _rows(tables, "Its attempts")
    assert [(number, outcome, status) for number, outcome, status, *_ in rows] == [
        (1, "failed", 503),
        (2, "failed", 503),
    ]


def test_changes_of_a_job_have_their_actors(tables: Any) -> None:
    rows = _rows(tables, "Changes of one job, and their actors")
    assert [(action, key_id) for _, _, action, _, key_id, _ in rows] == [
        ("create", None),
        ("retry", "key_1"),
        ("put", "key_1"),
    ]


@pytest.mark.parametrize("kind", LineKind)
def test_the_tables_name_fields_that_lines_have(folder: Path, kind: LineKind) -> None:
    columns = re.findall(r'"?(\w+)"?: \'', TABLES.split("CREATE VIEW ")[[*LineKind].index(kind) + 1])
    texts = [path.read_bytes() for path in folder.glob(f"archive/tenant=*/{kind}/*/*/*")]
    for line in (json.loads(line) for text in texts for line in gzip.decompress(text).splitlines()):
        assert {*columns} <= line.keys()


def test_athena_has_the_same_columns_as_duckdb() -> None:
    ours = re.findall(r"\"?(\w+)\"?: '(\w+)", TABLES.split("CREATE VIEW ")[1])
    theirs = re.findall(r"`?(\w+)`? (string|int|double)\b", ATHENA.partition("PARTITIONED BY")[0])
    kinds = {"VARCHAR": "string", "INTEGER": "int", "DOUBLE": "double"}
    assert [(name, kinds[kind]) for name, kind in ours] == theirs


def test_athena_finds_objects_where_the_archive_puts_them(folder: Path) -> None:
    template = re.findall(r"template' = 's3://<bucket>/(.+?)'", ATHENA)[0]
    pattern = re.sub(r"\\\$\\\{\w+\\\}", "[^/]+", re.escape(template))
    keys = [path.relative_to(folder / "archive").as_posix() for path in folder.glob("archive/tenant=*/runs/*/*/*")]
    assert keys
    assert all(re.fullmatch(f"{pattern}[^/]+", key) for key in keys)
