"""Windows of recordings: what is read of each format, and what a survey tells beforehand."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import polars as pl
import pytest
from bench.make_rocpd import make as make_rocpd

from rocm_perf.errors import EmptyCaptureError
from rocm_perf.ingest.io import csv
from rocm_perf.ingest.kineto.types import Args, Event
from rocm_perf.ingest.kineto.window import EventWindow
from rocm_perf.ingest.load import load
from rocm_perf.ingest.size import survey_paths
from rocm_perf.ingest.survey import FLOOR_BYTES, Survey
from rocm_perf.model import bundle
from rocm_perf.model.time_window import Span, TimeWindow, parse_window
from rocm_perf.model.trace import Trace
from tests.unit.ingest import recordings as make

ROWS = 2_000  # one every 5 us: 10 ms in all
TABLES = ("dispatches", "api_calls")


@pytest.fixture
def database(tmp_path: Path) -> Path:
    file = tmp_path / "results.db"
    make_rocpd(file, ROWS, ROWS)
    return file


def _joined(parts: list[Trace], table: str) -> pl.DataFrame:
    return pl.concat([part.table(table) for part in parts])


def _windows(*ends_ms: int) -> list[TimeWindow]:
    ends = [end * 10**6 for end in ends_ms]
    return [TimeWindow(start, end) for start, end in zip([0, *ends], [*ends, None], strict=True)]


@pytest.mark.parametrize("form", ["rocpd", "bundle"])
def test_the_windows_of_a_recording_are_all_of_it(database: Path, tmp_path: Path, form: str) -> None:
    whole = load(database)
    path = database
    if form == "bundle":
        path = tmp_path / "bundle"
        bundle.write(whole, path)
    parts = [load(path, window=window) for window in _windows(3, 4, 9)]
    for table in TABLES:
        assert all(part.rows(table) for part in parts)
        assert _joined(parts, table).sort("start_ns").equals(whole.table(table).sort("start_ns"))
    assert all(part.rows("processes") == whole.rows("processes") for part in parts)


def test_a_part_says_that_it_is_one(database: Path) -> None:
    part = load(database, window=parse_window("2ms..3ms"))
    assert part.run.notices[0].endswith("what starts in the window 0.002s..0.003s")


def test_a_window_counts_from_the_earliest_time_of_all_files(tmp_path: Path) -> None:
    make.kernel_trace(tmp_path / "7_kernel_trace.csv", start=1000, count=5)  # starts at 1020, 1040, ...
    make.api_trace(tmp_path / "7_hip_api_trace.csv", pid=7, start=1000)
    part = load(tmp_path, window=TimeWindow(40, 80))
    assert part.table("dispatches")["start_ns"].to_list() == [1040, 1060]
    assert part.rows("api_calls") == 0


def _torch_trace(file: Path, steps: int = 60) -> Path:
    """A step every 10 us: an operator, its launch, a kernel 12 us after that, an allocation, and a link to the next
    step but three. Operators are written first, kernels last first, so nothing is in the order of time."""
    operators, calls, kernels, others = [], [], [], []
    for step in range(1, steps + 1):
        at, thread = {"ts": 10.0 * step, "dur": 5}, {"pid": 5, "tid": 6}
        ids = {"correlation": step, "External id": step}
        operators.append({"ph": "X", "cat": "cpu_op", "name": "aten::mm", **at, **thread, "args": ids})
        calls.append(
            {"ph": "X", "cat": "cuda_runtime", "name": "hipLaunchKernel", **at, **thread, "args": ids}
        )
        placed = {"pid": 0, "tid": 7, "args": {"device": 0, "stream": 7, **ids}}
        kernels.append({"ph": "X", "cat": "kernel", "name": "k", "ts": 10.0 * step + 12, "dur": 5, **placed})
        sizes = {"Bytes": 512, "Addr": step, "Device Id": 0, "Device Type": 1, "Total Allocated": 512 * step}
        others.append(
            {"ph": "i", "cat": "cpu_instant_event", "name": "[memory]", **at, **thread, "args": sizes}
        )
        others.append({"ph": "s", "cat": "fwdbwd", "id": step, "ts": 10.0 * step, **thread})
        others.append({"ph": "f", "cat": "fwdbwd", "id": step - 3, "ts": 10.0 * step, **thread})
    events = [*operators, *others, *kernels[::-1], *calls]
    file.write_text(json.dumps({"schemaVersion": 1, "deviceProperties": [], "traceEvents": events}))
    return file


def test_the_windows_of_a_torch_trace_are_all_of_it(tmp_path: Path) -> None:
    file = _torch_trace(tmp_path / "trace.json")
    whole = load(file)
    windows = [TimeWindow(0, 100_000), TimeWindow(100_000, 345_000), TimeWindow(345_000, None)]
    parts = [load(file, window=window) for window in windows]
    for table in ("dispatches", "api_calls", "ops", "allocations", "samples", "links"):
        order = ["effect_ns"] if table == "links" else ["time_ns"] if table == "samples" else ["start_ns"]
        assert _joined(parts, table).sort(order).equals(whole.table(table).sort(order)), table
    assert [part.rows("agents") for part in parts] == [1, 1, 1]
    assert (
        parts[1].table("links")["cause_ns"].min() == 80_000
    )  # 3 steps before its effect, and before the window


def test_what_lies_outside_the_window_of_a_torch_trace_is_dropped_while_it_is_read() -> None:
    window = EventWindow(Span(1_000_000, 2_000_000), base_ns=500_000)
    events = [Event(ph="X", ts=float(us)) for us in range(0, 3_000, 10)]
    kept = window.kept("operator", events)
    assert [event.ts for event in kept] == [float(us) for us in range(500, 1_501, 10)]
    assert len(window.kept("flow_s", events)) == len(events)  # what they cause may lie in the window
    launches = [Event(ph="X", name="hipGraphLaunch", ts=0.0, args=Args(correlation=id)) for id in (1, 2)]
    assert window.kept("runtime", launches) == launches  # kernels of the window may be theirs


def test_files_that_are_read_whole_are_cut(tmp_path: Path) -> None:
    file = tmp_path / "trace.json"
    slices = [{"ph": "X", "name": "work", "ts": 10.0 * n, "dur": 5, "pid": 1, "tid": 7} for n in range(1, 6)]
    file.write_text(json.dumps(slices))
    part = load(file, window=TimeWindow(10_000, 30_000))
    assert part.table("ranges")["start_ns"].to_list() == [20_000, 30_000]


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzip"])
def test_csv_files_are_read_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pack: object) -> None:
    file = make.kernel_trace(tmp_path / "7_kernel_trace.csv", count=1000, kernel="f<int, 4>(a, b)")
    file.write_bytes(pack(file.read_bytes().rstrip(b"\n")))  # type: ignore[operator]
    whole = load(file).table("dispatches")
    monkeypatch.setattr(csv, "_PIECE_BYTES", 1000)
    windows = [TimeWindow(0, 5_000), TimeWindow(5_000, 12_345), TimeWindow(12_345, None)]
    parts = [load(file, window=window) for window in windows]
    assert _joined(parts, "dispatches").equals(whole)
    assert [part.rows("dispatches") for part in parts] == [250, 368, 382]


@pytest.mark.parametrize("form", ["torch", "trace", "csv", "bundle"])
def test_what_runs_on_behind_a_window_that_is_looked_at_alone_is_cut(tmp_path: Path, form: str) -> None:
    paths = {
        "torch": tmp_path / "trace.json",
        "csv": tmp_path / "7_kernel_trace.csv",
        "bundle": tmp_path / "b",
    }
    paths["trace"] = tmp_path / "other.json"
    slices = [{"ph": "X", "name": "work", "ts": 10.0 * n, "dur": 8, "pid": 1, "tid": 7} for n in range(1, 6)]
    paths["trace"].write_text(json.dumps(slices))
    make.kernel_trace(paths["csv"], start=1000, count=5)
    bundle.write(load(_torch_trace(paths["torch"])), paths["bundle"])
    window = TimeWindow(0, 22 if form == "csv" else 25_000)
    whole, alone = (load(paths[form], window=each) for each in (window, window.alone()))
    table = "ranges" if form == "trace" else "dispatches"
    origin = 1020 if form == "csv" else 10_000
    assert alone.table(table)["start_ns"].equals(whole.table(table)["start_ns"])
    assert whole.table(table)["end_ns"].max() > origin + window.end_ns  # type: ignore[operator]
    assert alone.table(table)["end_ns"].max() == origin + window.end_ns  # type: ignore[operator]


@pytest.mark.parametrize("form", ["rocpd", "csv", "bundle"])
def test_a_window_without_anything_in_it(database: Path, tmp_path: Path, form: str) -> None:
    paths = {"rocpd": database, "csv": tmp_path / "7_kernel_trace.csv", "bundle": tmp_path / "bundle"}
    make.kernel_trace(paths["csv"])
    bundle.write(load(database), paths["bundle"])
    with pytest.raises(EmptyCaptureError, match=r"starts in the window 1000s\.\.: a window counts from"):
        load(paths[form], window=parse_window("1000.."))


# Surveys


def test_a_torch_trace_is_surveyed_by_its_times(tmp_path: Path) -> None:
    survey = survey_paths([_torch_trace(tmp_path / "trace.json")], limit_bytes=1)
    assert (survey.rows, survey.first_ns, survey.last_ns) == ({"events": 180}, 10_000, 612_000)
    assert survey.in_part
    assert list(survey.moments) == sorted(survey.moments)


def test_a_database_is_surveyed_without_being_read(database: Path) -> None:
    survey = survey_paths([database], limit_bytes=1)
    whole = load(database)
    assert survey.rows == {table: whole.rows(table) for table in TABLES}
    assert survey.first_ns == whole.table("api_calls")["start_ns"].min()
    assert survey.in_part


def test_a_bundle_is_surveyed_by_its_manifest(database: Path, tmp_path: Path) -> None:
    whole = load(database)
    bundle.write(whole, tmp_path / "bundle")
    survey = survey_paths([tmp_path / "bundle"], limit_bytes=1 << 60)
    assert {table: survey.rows[table] for table in TABLES} == {table: whole.rows(table) for table in TABLES}
    assert survey.first_ns == whole.table("api_calls")["start_ns"].min()


def test_a_bundle_with_texts_for_times_is_surveyed_without_them(database: Path, tmp_path: Path) -> None:
    bundle.write(load(database), tmp_path / "bundle")
    file = tmp_path / "bundle" / "api_calls.parquet"
    pl.read_parquet(file).with_columns(pl.lit("soon").alias("start_ns")).write_parquet(file)
    survey = survey_paths([tmp_path / "bundle"], limit_bytes=1 << 60)
    assert survey.rows["api_calls"] == ROWS
    assert isinstance(survey.first_ns, int)


@pytest.mark.parametrize("count", [100, 50_000])
@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzip"])
def test_csv_files_are_surveyed_by_some_of_their_rows(tmp_path: Path, pack: object, count: int) -> None:
    file = make.kernel_trace(tmp_path / "7_kernel_trace.csv", count=count, kernel="f<int, 4>(a, b)")
    data = file.read_bytes()
    file.write_bytes(pack(data))  # type: ignore[operator]
    survey = survey_paths([file], limit_bytes=1)
    assert survey.rows["CSV"] == pytest.approx(count, rel=0.2)
    assert survey.first_ns == 1020
    if len(data) < 4 << 20 or file.read_bytes() == data:
        middle = survey.moments[len(survey.moments) // 2]
        assert middle == pytest.approx(1000 + 10 * count, rel=0.1)


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzip"])
def test_other_files_are_surveyed_by_their_bytes(tmp_path: Path, pack: object) -> None:
    events = [{"ph": "X", "cat": "x", "name": f"e{n}", "ts": n, "dur": 1, "args": {}} for n in range(100_000)]
    file = tmp_path / "trace.json"
    file.write_bytes(pack(json.dumps({"traceEvents": events}).encode()))  # type: ignore[operator]
    survey = survey_paths([file], limit_bytes=1)
    assert survey.rows["events"] == pytest.approx(100_000, rel=0.2)
    assert not survey.in_part


def test_small_files_are_not_opened(database: Path) -> None:
    assert survey_paths([database], limit_bytes=1 << 40).rows == {}


def test_what_cannot_be_read_counts_nothing(tmp_path: Path) -> None:
    (tmp_path / "noise.bin").write_bytes(b"\x00" * 1000)
    assert survey_paths([tmp_path, tmp_path / "missing"], limit_bytes=1).rows == {}


def test_windows_hold_about_the_same_number_of_rows() -> None:
    # Two thirds of the rows lie in the first tenth of the time.
    moments = tuple(range(200)) + tuple(range(200, 2000, 18))
    survey = Survey({"dispatches": 3_000_000}, 0, 2000, moments, in_part=True)
    windows = survey.windows(FLOOR_BYTES + survey.row_bytes // 3)
    assert windows == [TimeWindow(0, 100), TimeWindow(100, 200), TimeWindow(200, None)]
    assert all(survey.peak_bytes(window) <= FLOOR_BYTES + survey.row_bytes // 3 + 1 for window in windows)


@pytest.mark.parametrize(
    "survey",
    [
        Survey({"dispatches": 1 << 62}, 0, 10, (0, 5, 10), in_part=True),
        Survey({"events": 10**9}),
        Survey({"dispatches": 10**9}, None, None, in_part=True),
    ],
    ids=["more parts than moments", "cannot be read in part", "without times"],
)
def test_where_no_window_fits(survey: Survey) -> None:
    assert survey.windows(10**9) == []
