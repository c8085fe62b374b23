"""What `count` counted without a GPU, beside a recording: its kernels get their place under the roof."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rocm_perf.analysis.emulated.build import Observed, counting
from rocm_perf.analysis.roofline import roofline
from rocm_perf.analysis.roofline.emulated import LEAST_BYTES
from rocm_perf.errors import EmptyCaptureError, InputError
from rocm_perf.ingest.io.source import Source
from rocm_perf.ingest.load import load
from rocm_perf.ingest.own.count_file import read
from rocm_perf.model.results.roofline import KernelRoofline
from rocm_perf.render import json as documents
from tests.unit.analysis.emulated.rows import LANES, SAXPY, WAVES, observed
from tests.unit.analysis.traces import Row, trace

RADEON: Row = {"agent_id": 0, "kind": "GPU", "gfx": "gfx1151", "name": "AMD Radeon 8060S", "cu_count": 40}
BYTES = 3 * WAVES * 128
TIME_NS = 4_000  # of the 1,536 ns that 256 GB/s allow


def saved(folder: Path, of: Observed | None = None, **changes: object) -> Path:
    """What `rocm-perf count --json` prints, in a file."""
    answer = json.loads(documents.encode(counting(of or observed(*SAXPY))))
    folder.mkdir(exist_ok=True)
    path = folder / "count.json"
    path.write_text(json.dumps({**answer, **changes}))
    return path


def kernel_of(path: Path, **launch: object) -> KernelRoofline:
    """The place of one dispatch of the counted kernel, recorded without counters."""
    dispatch: Row = {
        "kernel": "saxpy(float)", "dispatch_id": 1, "agent_id": 0, "pid": 1, "start_ns": 0, "end_ns": TIME_NS,
        "grid_x": 128 * 256, "grid_y": 1, "grid_z": 1, "workgroup_x": 128, "workgroup_y": 1, "workgroup_z": 1, **launch,
    }  # fmt: skip
    emulated = read(Source(path)).tables["emulated"].to_dicts()
    (kernel,) = roofline(trace(agents=[RADEON], dispatches=[dispatch], emulated=emulated)).kernels
    return kernel


def test_a_kernel_of_a_chip_without_counters_has_its_place(tmp_path: Path) -> None:
    kernel = kernel_of(saved(tmp_path))
    assert kernel.flops.value == 2 * LANES
    assert kernel.bytes.value == BYTES
    assert kernel.percent_of_roof.value == pytest.approx(100 * BYTES / 256 / TIME_NS)
    assert (kernel.basis, kernel.position) == ("emulated", "memory (DRAM)")
    assert LEAST_BYTES in kernel.notes


@pytest.mark.parametrize("name", ["saxpy.kd", "saxpy", "saxpy(float)"])
def test_the_name_may_be_spelt_as_any_profiler_does(tmp_path: Path, name: str) -> None:
    assert kernel_of(saved(tmp_path), kernel=name).basis == "emulated"


@pytest.mark.parametrize("launch", [{"grid_x": 128}, {"workgroup_x": 64}, {"grid_y": 2}])
def test_another_launch_of_it_does_other_work(tmp_path: Path, launch: dict[str, int]) -> None:
    kernel = kernel_of(saved(tmp_path), **launch)
    assert not kernel.flops.known
    assert "32768 x 1 x 1 work-items in workgroups of 128 x 1 x 1" in str(kernel.flops.unavailable)


def test_code_of_another_chip_and_another_kernel_do_not_count(tmp_path: Path) -> None:
    other = kernel_of(saved(tmp_path, gfx="gfx1100"))
    assert other.basis == "none"
    assert "for gfx1100, and it ran on gfx1151" in str(other.flops.unavailable)
    assert kernel_of(saved(tmp_path), kernel="daxpy").basis == "none"


def test_a_sample_is_doubted(tmp_path: Path) -> None:
    kernel = kernel_of(saved(tmp_path, observed(*SAXPY, workgroups=64)))
    assert any("64 of 256 workgroups" in str(part.amount.doubt) for part in kernel.work)


def test_it_is_found_beside_the_recording(tmp_path: Path) -> None:
    columns = {
        "Kind": "KERNEL_DISPATCH", "Agent_Id": "Agent 1", "Queue_Id": 1, "Stream_Id": 0, "Thread_Id": 7,
        "Dispatch_Id": 1, "Kernel_Id": 1, "Kernel_Name": "saxpy(float)", "Correlation_Id": 1, "Start_Timestamp": 1000,
        "End_Timestamp": 1000 + TIME_NS, "LDS_Block_Size": 0, "Scratch_Size": 0, "VGPR_Count": 8,
        "Accum_VGPR_Count": 0, "SGPR_Count": 16, "Workgroup_Size_X": 128, "Workgroup_Size_Y": 1,
        "Workgroup_Size_Z": 1, "Grid_Size_X": 32768, "Grid_Size_Y": 1, "Grid_Size_Z": 1,
    }  # fmt: skip
    rows = [",".join(columns), ",".join(f'"{value}"' for value in columns.values())]
    (tmp_path / "9_kernel_trace.csv").write_text("\n".join(rows) + "\n")
    saved(tmp_path)
    recorded = load(tmp_path)
    assert (recorded.rows("dispatches"), recorded.rows("emulated")) == (1, 2)


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"schema_version": 99}, "version 99"),
        ({"grid": [1, 2]}, "not a complete answer"),
        ({"roofline": {}}, "not a complete answer"),
    ],
)
def test_what_is_not_such_an_answer_is_refused(tmp_path: Path, changes: dict[str, Any], text: str) -> None:
    with pytest.raises(InputError, match=text):
        read(Source(saved(tmp_path, **changes)))


def test_a_kernel_that_does_nothing_is_no_work(tmp_path: Path) -> None:
    with pytest.raises(EmptyCaptureError, match="holds no work"):
        read(Source(saved(tmp_path, roofline={"point": {"work": []}})))
