"""Tables as CSV files, which people open in spreadsheets, and where the files of several hosts go."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from rocm_perf.model import schema
from rocm_perf.model.trace import Trace
from rocm_perf.render.formats import rocprof_v1, rocprofv3, rocprofv3_json
from rocm_perf.render.formats.cells import inert
from rocm_perf.render.formats.tables import write_table

FORMULA = "=cmd|' /C calc'!A0"
SPAN = {"start_ns": 1000, "end_ns": 2000, "agent_id": 1, "pid": 7}


def _trace(kernel: str, hosts: tuple[str, ...] = ("a",)) -> Trace:
    rows = [{"kernel": kernel, **SPAN, "node": node} for node in range(len(hosts))]
    nodes = [{"node": node, "host": host, "clock": "boot"} for node, host in enumerate(hosts)]
    tables = {"dispatches": pl.DataFrame(rows), "nodes": pl.DataFrame(nodes)}
    return Trace({name: schema.conform(name, frame) for name, frame in tables.items()})


def _written_table(trace: Trace, folder: Path) -> None:
    write_table(trace.table("dispatches"), folder / "t.csv", "csv")


def _written_rocprof(trace: Trace, folder: Path) -> None:
    rocprof_v1.write_csv(trace, folder / "results.csv")
    rocprof_v1.write_stats(trace, folder)


def _written_rocprofv3(trace: Trace, folder: Path) -> None:
    rocprofv3.write_csv(trace, folder, "out", stats=True)


@pytest.mark.parametrize("write", [_written_table, _written_rocprof, _written_rocprofv3])
def test_no_cell_of_any_csv_is_a_formula(write: Callable[[Trace, Path], None], tmp_path: Path) -> None:
    write(_trace(FORMULA), tmp_path)
    texts = [path.read_text() for path in tmp_path.rglob("*.csv")]
    cells = [cell for text in texts for row in csv.reader(text.splitlines()) for cell in row]
    assert any(FORMULA in cell for cell in cells)
    assert not [cell for cell in cells if cell.startswith("=")]


def test_only_texts_that_begin_a_formula_change() -> None:
    frame = pl.DataFrame({"text": ["=a", "+b", "-c", "@d", "\te", "\rf", "g=h", "", None], "number": -1})
    made = inert(frame)
    assert made["text"].to_list() == ["'=a", "'+b", "'-c", "'@d", "'\te", "'\rf", "g=h", "", None]
    assert made["number"].to_list() == frame["number"].to_list()


@pytest.mark.parametrize("host", ["../../outside", "/outside", "..", "a/b", "a\0b", "x" * 300])
def test_a_host_cannot_lead_out_of_the_output(host: str, tmp_path: Path) -> None:
    trace = _trace("k", ("plain-host.example", host))
    output = tmp_path / "a" / "b" / "c"
    files = rocprofv3.write_csv(trace, output, "out") + rocprofv3_json.write(trace, output / "r.json")
    assert {path.relative_to(output).parts[0] for path in files} == {"plain-host.example", "node1"}
    assert not list(tmp_path.rglob("*outside*"))
