"""`query`: what a statement may read, how long it may take, and how it ends."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest

from rocm_perf.cli.main import main
from rocm_perf.model import bundle, schema
from rocm_perf.model.trace import Trace
from rocm_perf.sql import query_process
from tests.unit.cli.test_ending import PATIENCE_S, wait_for

ENDLESS = "WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r) SELECT count(*) FROM r"


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> str:
    rows = pl.DataFrame({"kernel": ["=a", "b", "b"], "start_ns": [0, 10, 20], "end_ns": [5, 15, 25]})
    folder = tmp_path_factory.mktemp("query") / "bundle"
    bundle.write(Trace({"dispatches": schema.conform("dispatches", rows)}), folder)
    return str(folder)


def test_rows_as_json_and_as_csv(recording: str, capsys: pytest.CaptureFixture[str]) -> None:
    sql = "SELECT kernel, count(*) AS n FROM DISPATCHES GROUP BY kernel ORDER BY n"
    assert main(["query", recording, sql, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"columns": ["kernel", "n"], "rows": [["=a", 1], ["b", 2]]}
    assert main(["query", recording, sql, "--csv"]) == 0
    assert list(csv.reader(capsys.readouterr().out.splitlines()))[1:] == [["'=a", "1"], ["b", "2"]]


def test_every_table_is_there(recording: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["query", recording, "SHOW TABLES", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert {name for (name,) in rows} == set(schema.SCHEMAS)


@pytest.mark.parametrize(
    "call", ["read_csv('{}')", "READ_CSV('{}')", "\"read_csv\"('{}')", "read_json('{}')"]
)
def test_files_are_closed_to_a_query(
    call: str, recording: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    secret = tmp_path / "secret.csv"
    secret.write_text("word\nswordfish\n")
    sql = f"SELECT * FROM {call.format(secret)}"
    assert main(["query", recording, sql]) == 2
    printed = capsys.readouterr()
    assert "--allow-files" in printed.err
    assert "swordfish" not in printed.out + printed.err


def test_files_can_be_opened_to_a_query(
    recording: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "more.csv").write_text("kernel,owner\nb,me\n")
    sql = f"SELECT d.kernel, owner FROM dispatches d JOIN read_csv('{tmp_path / 'more.csv'}') m ON d.kernel = m.kernel"
    assert main(["query", recording, sql, "--json", "--allow-files"]) == 0
    assert json.loads(capsys.readouterr().out)["rows"] == [["b", "me"], ["b", "me"]]


@pytest.mark.parametrize("address", ["http://127.0.0.1:9/x.csv", "s3://bucket/x.csv"])
def test_addresses_are_closed_to_a_query(
    address: str, recording: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["query", recording, f"SELECT * FROM read_csv('{address}')"]) == 2
    assert "--allow-files" in capsys.readouterr().err


def test_a_query_that_never_ends_is_ended(recording: str, capsys: pytest.CaptureFixture[str]) -> None:
    begun = time.monotonic()
    assert main(["query", recording, ENDLESS, "--timeout", "1"]) == 2
    assert "--timeout" in capsys.readouterr().err
    assert time.monotonic() - begun < 30


@pytest.mark.parametrize(
    ("sql", "more", "message"),
    [
        ("SELECT * FROM dispatches", ["--max-rows", "2"], "--max-rows"),
        ("SELECT array_agg(kernel) AS names FROM dispatches", ["--csv"], "Use --json"),
        ("SELECT nothing FROM dispatches", [], "Tables with rows here: dispatches"),
        ("", [], "the query failed"),
    ],
)
def test_what_is_refused(
    sql: str, more: list[str], message: str, recording: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["query", recording, sql, *more]) == 2
    assert message in capsys.readouterr().err


def _querying(pid: int) -> list[int]:
    """The children of a process that run a query; others come and go."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [int(child) for child in children if b"query_process" in _command_line(child)]


def _command_line(pid: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:  # it has ended
        return b""


@pytest.mark.launches
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_a_signal_ends_the_query_too(recording: str, tmp_path: Path, number: signal.Signals) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "rocm_perf.cli.main", "query", recording, ENDLESS],
        env={**os.environ, "TMPDIR": str(tmp_path)},
        stderr=subprocess.PIPE,
    )
    wait_for(lambda: bool(_querying(process.pid)))
    child = _querying(process.pid)[0]
    time.sleep(1)  # until it is in the query
    process.send_signal(number)
    process.communicate(timeout=PATIENCE_S)
    assert process.returncode == (-number if number == signal.SIGKILL else 128 + number)
    wait_for(lambda: not Path(f"/proc/{child}").exists())
    assert number == signal.SIGKILL or not list(tmp_path.iterdir())


def test_a_query_whose_asker_is_gone_does_not_start(tmp_path: Path) -> None:
    """The asker may be killed while the query process still imports: nobody would end it then."""
    request = {"folder": str(tmp_path), "sql": "SELECT 1", "most_rows": 1, "allow_files": False}
    request["asked_by"] = os.getppid()
    done = subprocess.run(
        [sys.executable, query_process.__file__], input=json.dumps(request).encode(), check=False
    )
    assert done.returncode == query_process.EXIT_FAILED
    assert not list(tmp_path.iterdir())
