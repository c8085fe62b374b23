"""Recordings that are read window by window into a bundle: it is the bundle of the whole."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from bench.make_rocpd import make as make_rocpd

from rocm_perf.errors import EmptyCaptureError
from rocm_perf.ingest.load import load
from rocm_perf.ingest.pieces import windows_at, write_in_pieces
from rocm_perf.model import bundle, schema
from rocm_perf.model.run import RunInfo
from rocm_perf.model.tables import SCHEMAS
from rocm_perf.model.time_window import TimeWindow, moment_of
from rocm_perf.model.trace import Trace
from tests.unit.ingest import recordings as make


def _windows(*ends_ns: int) -> list[TimeWindow]:
    return [TimeWindow(start, end) for start, end in zip([0, *ends_ns], [*ends_ns, None], strict=True)]


def _in_order(trace: Trace, table: str) -> pl.DataFrame:
    rows = trace.table(table)
    return rows.sort(moment_of(table) or rows.columns, maintain_order=True)


@pytest.fixture
def recordings(tmp_path: Path) -> dict[str, Path]:
    database, folder = tmp_path / "results.db", tmp_path / "csv"
    make_rocpd(database, 500, 500)
    folder.mkdir()
    make.old_kernel_trace(folder / "7_kernel_trace.csv", count=500)  # without ids of dispatches
    make.api_trace(folder / "7_hip_api_trace.csv", pid=7)
    return {"rocpd": database, "csv": folder}


@pytest.mark.parametrize(("form", "every_ns"), [("rocpd", 5_000), ("csv", 20)])
def test_the_bundle_of_pieces_is_that_of_the_whole(
    recordings: dict[str, Path], tmp_path: Path, form: str, every_ns: int
) -> None:
    path = recordings[form]
    whole = load(path)
    windows = _windows(50 * every_ns, 200 * every_ns, 200 * every_ns + 1)
    manifest = write_in_pieces(windows_at(path, windows), tmp_path / "bundle")
    pieced = bundle.read(tmp_path / "bundle")
    for table in SCHEMAS:
        assert _in_order(pieced, table).equals(_in_order(whole, table)), table
    assert {name: entry.rows for name, entry in manifest.tables.items()} == {
        name: whole.rows(name) for name in whole
    }
    assert (pieced.run.window, pieced.run.notices) == (None, whole.run.notices)
    assert sorted(file.name for file in (tmp_path / "bundle").iterdir()) == sorted(
        ["manifest.json", *(f"{name}.parquet" for name in whole)]
    )


def test_a_part_says_that_it_is_one(recordings: dict[str, Path], tmp_path: Path) -> None:
    part = TimeWindow(100_000, 300_000)
    halves = [TimeWindow(100_000, 200_000), TimeWindow(200_000, 300_000)]
    pieces = windows_at(recordings["rocpd"], halves)
    write_in_pieces(pieces, tmp_path / "bundle", part=part)
    run = bundle.read(tmp_path / "bundle").run
    assert run.window == str(part)
    assert run.notices == load(recordings["rocpd"], window=part).run.notices


def _piece(table: str, **columns: object) -> Trace:
    rows = schema.conform(table, pl.DataFrame(columns))
    return Trace({table: rows}, RunInfo(notices=("a part only",)))


def test_ranges_are_as_deep_as_in_the_whole(tmp_path: Path) -> None:
    """The inner range begins in another window than the one around it."""
    spans = [("outer", 0, 100), ("inner", 60, 70)]
    pieces = [
        _piece("ranges", name=[name], start_ns=[start], end_ns=[end], source=["roctx"])
        for name, start, end in spans
    ]
    write_in_pieces(pieces, tmp_path / "bundle")
    ranges = bundle.read(tmp_path / "bundle").table("ranges")
    assert ranges.select("name", "depth").rows() == [("outer", 0), ("inner", 1)]


def test_what_comes_with_every_window_is_kept_once(tmp_path: Path) -> None:
    alike = [
        _piece("library_calls", library=["rocblas"] * 2, call=["gemm"] * 2, calls=[1, 1]) for _ in range(3)
    ]
    agents = [_piece("agents", agent_id=[1], name=[name]) for name in (None, "MI300X")]
    write_in_pieces([*alike, *agents], tmp_path / "bundle")
    written = bundle.read(tmp_path / "bundle")
    assert written.rows("library_calls") == 2  # of one window: rows may be alike
    assert written.table("agents").select("agent_id", "name").rows() == [(1, "MI300X")]


def test_one_window_at_a_time_is_in_memory(recordings: dict[str, Path], tmp_path: Path) -> None:
    alive: list[int] = []

    class Counted(Trace):
        living = 0

        def __init__(self, trace: Trace) -> None:
            super().__init__({name: trace.table(name) for name in trace}, trace.run)
            Counted.living += 1
            alive.append(Counted.living)

        def __del__(self) -> None:
            Counted.living -= 1

    windows = windows_at(recordings["rocpd"], _windows(100_000, 200_000))
    write_in_pieces(map(Counted, windows), tmp_path / "bundle")
    assert alive == [1, 1, 1]


def test_nothing_is_written_where_nothing_starts(recordings: dict[str, Path], tmp_path: Path) -> None:
    with pytest.raises(EmptyCaptureError, match="starts in the window"):
        write_in_pieces(windows_at(recordings["rocpd"], [TimeWindow(10**15)]), tmp_path / "bundle")
    assert not list(tmp_path.glob("*bundle*"))
