"""Sheets for spreadsheets: their numbers are those of the document, and nothing in them is obeyed."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import openpyxl
import polars as pl
import pytest

import rocm_perf
from rocm_perf.errors import UsageError
from rocm_perf.model.document import Document
from rocm_perf.model.quantity import Quantity
from rocm_perf.model.results.operators import SUM_OF, OperatorShape
from rocm_perf.render.formats.workbook import write_folder, write_workbook
from rocm_perf.render.sheets import index
from rocm_perf.render.sheets.index import sheets
from rocm_perf.render.sheets.operators import WORK, Call
from rocm_perf.render.sheets.sheet import Sheet
from tests.unit.analysis.traces import kernel, trace

EAGER = Path(__file__).parents[3] / "data" / "h200" / "eager_sync.json.gz"
FORMULA = "=cmd|'/C calc'!A0"


@cache
def document() -> Document:
    return rocm_perf.analyze(EAGER, whole=True)


@cache
def by_name() -> dict[str, pl.DataFrame]:
    """The sheets under the headings that people know, without what ours say in brackets."""
    return {
        sheet.name: sheet.frame.rename(lambda name: name.partition(" [")[0]) for sheet in sheets(document())
    }


def test_headings_say_where_they_mean_something_else_than_in_tracelens() -> None:
    headings = {sheet.name: sheet.frame.columns for sheet in sheets(document())}
    assert headings["gpu_timeline"] == [
        "GPU",
        "type",
        "time ms [the whole recording]",
        "percent [of total_time]",
    ]
    assert "Count [also calls that launched nothing; the whole recording]" in headings["ops_summary"]
    assert "total_direct_kernel_time_ms [kernels, copies and fills]" in headings["ops_summary"]
    assert "Count [the whole recording]" in headings["kernel_summary"]
    steady = sheets(rocm_perf.analyze(EAGER))
    timeline = next(sheet for sheet in steady if sheet.name == "gpu_timeline")
    assert "time ms [the steady state of the recording]" in timeline.frame.columns


def test_the_sheets_of_a_torch_trace_are_those_that_people_know() -> None:
    assert {
        "gpu_timeline",
        "ops_summary_by_category",
        "ops_summary",
        "ops_unique_args",
        "unified_perf_summary",
        "GEMM",
        "NORM",
        "kernel_summary",
        "kernel_summary_by_category",
        "short_kernels_summary",
        "kernel_roofline",
        "memory_by_owner",
    } <= set(by_name())


def test_the_timeline_adds_up_to_the_window() -> None:
    times = dict(by_name()["gpu_timeline"].select("type", "time ms").iter_rows())
    (device,) = document().devices
    assert times["total_time"] * 1e6 == pytest.approx(device.window_ns)
    assert times["kernel_time"] + times["exposed_memcpy_time"] == pytest.approx(times["busy_time"])
    assert times["busy_time"] + times["idle_time"] == pytest.approx(times["total_time"])


def test_kernels_are_those_of_the_document() -> None:
    rows = by_name()["kernel_summary"].select("Kernel name", "Count", "total (us)").rows()
    assert rows == [(row.kernel, row.calls, row.total_ns / 1000) for row in document().hotspots.rows]
    assert by_name()["kernel_summary"]["Cumulative Percentage (%)"][-1] == pytest.approx(100)


def test_operators_are_those_of_the_document_and_count_every_kernel_once() -> None:
    operators = {row.name: row for kind in document().operators.categories for row in kind.operators}
    summary = by_name()["ops_summary"].select("name", "Count", "total_direct_kernel_time_ms")
    assert {name: (calls, time) for name, calls, time in summary.iter_rows()} == {
        name: (row.calls, row.gpu_self_ns / 1e6) for name, row in operators.items()
    }
    for name in ("ops_unique_args", "unified_perf_summary"):
        times = by_name()[name].select(pl.selectors.contains("time_sum", "Kernel Time (us)_sum")).to_series()
        assert times.sum() * 1000 == pytest.approx(document().operators.owned_ns)


def test_the_work_of_a_product_is_that_of_its_shapes() -> None:
    row = by_name()["GEMM"].row(0, named=True)
    assert row["Input Dims"] == "[[512],[128,2048],[2048,512],[],[]]"
    assert row["GFLOPS"] == pytest.approx(2 * 128 * 2048 * 512 / 1e9)
    assert row["TFLOPS/s"] == pytest.approx(row["GFLOPS"] / row["Kernel Time (us)_mean"] / 1e-3, rel=1e-9)
    assert row["FLOPS/Byte"] == pytest.approx(row["GFLOPS"] * 1e3 / row["Data Moved (MB)"])


def test_the_formula_beside_an_amount_of_one_call_is_that_of_one_call() -> None:
    row = by_name()["GEMM"].row(0, named=True)
    assert row["variants"] == 1
    assert row["how"].startswith("2 * 128 * 512 * 2048")


def test_a_bound_is_marked_as_one() -> None:
    """A text such as `at most: ...`, of either amount or of the rates, each once."""
    known = Quantity(1.0, "", "")
    bound = Quantity(1.0, "", f"{SUM_OF}2 kinds, the least being 1 * 2", doubt="at most: a; at least: b")
    shape = OperatorShape(
        "[[1]]", "[]", None, 2, 0, 1, 1, bound, known, bound, known, (), counted_calls=2, variants=2
    )
    call = Call("attention", "my::attention", shape)
    assert {name: WORK[name](call) for name in ("how", "doubt", "variants")} == {
        "how": "mean of 2 kinds, the least being 1 * 2",
        "doubt": "at most: a; at least: b",
        "variants": 2,
    }


def test_what_was_not_recorded_is_left_out_with_its_reason() -> None:
    about = {row["sheet"]: row for row in by_name()["about"].iter_rows(named=True)}
    assert "coll_analysis" not in by_name()
    assert about["coll_analysis"]["note"].startswith("left out: ")
    assert about["modules"]["note"] == f"left out: {document().operators.modules_unavailable}"


def test_a_workbook_reads_back_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "report.xlsx"
    made = sheets(document())
    write_workbook(made, path)
    book = openpyxl.load_workbook(path)
    assert book.sheetnames == [sheet.name for sheet in made]
    for sheet in made:
        heading, *rows = book[sheet.name].iter_rows(values_only=True)
        assert list(heading) == sheet.frame.columns
        assert [tuple(map(_read, row)) for row in rows] == [
            tuple(map(_read, row)) for row in sheet.frame.iter_rows()
        ]


def _read(cell: Any) -> Any:
    """The cell as Excel keeps it: numbers to 15 digits, an empty text as an empty cell."""
    return float(f"{cell:.14g}") if isinstance(cell, float | int) else cell or None


def test_csv_files_hold_the_same_rows(tmp_path: Path) -> None:
    made = sheets(document())
    paths = write_folder(made, tmp_path / "sheets")
    assert [path.stem for path in paths] == [sheet.name for sheet in made]
    back = pl.read_csv(tmp_path / "sheets" / "kernel_summary.csv")
    assert back["total (us)"].to_list() == by_name()["kernel_summary"]["total (us)"].to_list()


def test_a_name_that_is_a_formula_stays_a_text(tmp_path: Path) -> None:
    recorded = trace(dispatches=[kernel(FORMULA, 0, 1000), kernel("http://example.com", 2000, 3000)])
    made = sheets(rocm_perf.analyze(recorded, whole=True))
    write_workbook(made, tmp_path / "report.xlsx")
    cells = [row[0] for row in openpyxl.load_workbook(tmp_path / "report.xlsx")["kernel_summary"].iter_rows()]
    assert {(cell.value, cell.data_type, cell.hyperlink) for cell in cells[1:]} == {
        (FORMULA, "s", None),
        ("http://example.com", "s", None),
    }
    write_folder(made, tmp_path)
    assert f"'{FORMULA}" in (tmp_path / "kernel_summary.csv").read_text()


def test_what_a_cell_cannot_hold_is_cut(tmp_path: Path) -> None:
    frame = pl.DataFrame(
        {"text": ["x" * 40_000, "a\x1bb"], "number": [float("nan"), float("inf")], "none": [None] * 2}
    )
    write_workbook([Sheet("s" * 40, "", frame), Sheet("S" * 40, "", frame)], tmp_path / "odd.xlsx")
    book = openpyxl.load_workbook(tmp_path / "odd.xlsx")
    assert len({name.lower() for name in book.sheetnames}) == 2
    rows = [tuple(cell.value for cell in row) for row in book.worksheets[0].iter_rows(min_row=2)]
    assert rows == [("x" * 32_767, None, None), ("a b", None, None)]


def test_more_rows_than_a_sheet_holds_are_cut_and_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index, "MOST_ROWS", 3)
    made = {sheet.name: sheet.frame for sheet in sheets(document())}
    notes = {row["sheet"]: row["note"] for row in made["about"].iter_rows(named=True)}
    assert made["kernel_summary"].height == 3
    assert notes["kernel_summary"] == "the first 3 only: a sheet holds no more"


def test_files_that_are_there_are_not_replaced(tmp_path: Path) -> None:
    made = sheets(document())
    write_folder(made, tmp_path)
    with pytest.raises(UsageError, match="exists already"):
        write_folder(made, tmp_path)
    write_folder(made, tmp_path, overwrite=True)
