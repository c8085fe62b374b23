"""What the example says it wrote is what is read back and analysed."""

from __future__ import annotations

import csv
import subprocess
import sys
from pathlib import Path

import pytest
from examples import first_recording

import rocm_perf
from rocm_perf.model.document import Document

LAUNCHES = first_recording.STEPS * len(first_recording.STEP)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("example")
    first_recording.write(path, first_recording.record())
    return path


@pytest.fixture(scope="module")
def document(folder: Path) -> Document:
    return rocm_perf.analyze(folder, whole=True)


def test_the_truth_it_states_is_the_truth_that_is_analysed(document: Document) -> None:
    truth = first_recording.record()
    (device,) = document.devices
    assert (device.dispatches, device.copies) == (LAUNCHES, first_recording.STEPS + 1)
    assert (device.kernel_ns, device.copy_ns) == (truth.kernel_ns, truth.copy_ns)
    assert device.busy_ns == truth.kernel_ns + truth.copy_ns
    assert device.name == "GPU 1 AMD Instinct MI300X (gfx942)"


def test_the_gpu_is_busy_a_little_over_half_of_the_time(document: Document) -> None:
    share = document.devices[0].busy.value
    assert share == pytest.approx(0.55, abs=0.02)


def test_the_host_waits_for_the_gpu_after_every_kernel_and_copy(document: Document) -> None:
    (hip,) = document.domains
    assert hip.busiest == "hipStreamSynchronize"
    assert hip.calls == 2 * (LAUNCHES + first_recording.STEPS + 1)


def test_every_kernel_has_its_launch_and_nothing_is_missing(document: Document) -> None:
    coverage = document.coverage
    assert (coverage.launched, coverage.dispatched, coverage.paired) == (LAUNCHES, LAUNCHES, LAUNCHES)
    assert (coverage.launches_without_kernels, coverage.kernels_without_launches) == (0, 0)
    assert coverage.holes == ()
    assert document.run.losses == ()


def test_kernel_names_with_commas_and_quotes_survive(document: Document) -> None:
    written = {kernel.name: first_recording.STEP.count(kernel) for kernel in first_recording.KERNELS}
    assert {row.kernel: row.calls for row in document.hotspots.rows} == {
        name: count * first_recording.STEPS for name, count in written.items()
    }


def test_each_step_is_a_range_that_holds_its_kernels(folder: Path) -> None:
    trace = rocm_perf.load(folder)
    ranges = trace.table("ranges").sort("start_ns")
    kernels = trace.table("dispatches")
    assert ranges["name"].to_list() == [f"decode step {n}" for n in range(1, first_recording.STEPS + 1)]
    for start, end in ranges.select("start_ns", "end_ns").iter_rows():
        assert kernels["start_ns"].is_between(start, end).sum() == len(first_recording.STEP)


def test_the_files_have_the_columns_of_rocprofv3(folder: Path) -> None:
    widths = {}
    for path in sorted(folder.rglob("*.csv")):
        with path.open(newline="", encoding="utf-8") as file:
            rows = list(csv.reader(file))
        assert {len(row) for row in rows} == {len(rows[0])}
        widths[path.name.partition("_")[2]] = len(rows[0])
    assert widths == {
        "agent_info.csv": 53,
        "hip_api_trace.csv": 7,
        "kernel_trace.csv": 22,
        "marker_api_trace.csv": 7,
        "memory_copy_trace.csv": 8,
    }


def test_writing_again_leaves_other_files_alone_and_changes_nothing(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    script = [sys.executable, first_recording.__file__, str(tmp_path)]
    said = subprocess.run(script, check=True, capture_output=True, text=True).stdout
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    again = subprocess.run(script, check=True, capture_output=True, text=True).stdout
    assert said == again
    assert f"{LAUNCHES} kernels in {first_recording.record().kernel_ns:,} ns" in said
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
    assert (tmp_path / "mine.txt").read_text() == "mine"
