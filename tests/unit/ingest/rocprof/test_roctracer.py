"""roctracer's text: calls, operations and ranges between the output of the program."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocm_perf.errors import EmptyCaptureError, InputError
from rocm_perf.ingest.io.source import Source
from rocm_perf.ingest.part import Part
from rocm_perf.ingest.rocprof import roctracer
from rocm_perf.ingest.sniff import sniff

TEXT = """ROCTracer (pid=88): input from "input.xml"
0x1e17410 agent cpu
9007199254740001
    HIP-trace()
PASSED!
9007199254740101:9007199254740111 88:89 hipMemcpy(dst=0x1, src=0x2, sizeBytes=4096, kind=1) :3
9007199254740121:9007199254740131 88:89 hipLaunchKernel(function=0x4, stream=0) kernel=ns::saxpy(float*, int) :4
9007199254740141:9007199254740151 88:89 hsa_signal_destroy() = 0
9007199254740105:9007199254740109 2:1 CopyHostToDevice:3:88
9007199254740125:9007199254740129 2:1 KernelExecution:4:88
9007199254740135:9007199254740139 2:0 other::kernel(int):9:88
9007199254740140:9007199254740140 2:0 Marker:10:88
9007199254740160:9007199254740170 async-copy:11:88
9007199254740200 88:89 1:0:"outer"
9007199254740201 88:89 0:0:"say "hello""
9007199254740202 88:89 1:0:"inner"
9007199254740203 88:89 3:7:"free"
9007199254740204 88:89 2:0:""
9007199254740205 88:90 4:7:""
9007199254740206 88:89 2:0:""
"""


def _read(folder: Path, text: str) -> Part:
    file = folder / "anything.dat"
    file.write_text(text)
    source = Source(file)
    adapter = sniff(source)
    assert adapter.name == "roctracer-text"
    return adapter.read(source)


def test_calls(tmp_path: Path) -> None:
    part = _read(tmp_path, TEXT)
    assert (part.tool, part.pid, part.losses) == ("roctracer", 88, ())
    assert part.tables["api_calls"].select(
        "domain", "name", "start_ns", "end_ns", "pid", "tid", "correlation_id"
    ).rows() == [
        ("hip", "hipMemcpy", 9007199254740101, 9007199254740111, 88, 89, 3),
        ("hip", "hipLaunchKernel", 9007199254740121, 9007199254740131, 88, 89, 4),
        ("hsa", "hsa_signal_destroy", 9007199254740141, 9007199254740151, 88, 89, None),
    ]


def test_operations_take_names_and_sizes_from_their_calls(tmp_path: Path) -> None:
    tables = _read(tmp_path, TEXT).tables
    assert tables["dispatches"].select(
        "kernel", "start_ns", "agent_id", "queue_id", "correlation_id"
    ).rows() == [
        ("ns::saxpy(float*, int)", 9007199254740125, 2, 1, 4),
        ("other::kernel(int)", 9007199254740135, 2, 0, 9),
    ]
    assert tables["copies"].select("kind", "size_bytes", "agent_id", "pid", "correlation_id").rows() == [
        ("H2D", 4096, 2, 88, 3),
        ("UNKNOWN", None, None, 88, 11),
    ]


def test_ranges_nest_by_thread_and_stop_by_number(tmp_path: Path) -> None:
    ranges = _read(tmp_path, TEXT).tables["ranges"]
    assert ranges.select("name", "start_ns", "end_ns", "depth").rows() == [
        ("outer", 9007199254740200, 9007199254740206, 0),
        ('say "hello"', 9007199254740201, 9007199254740201, 1),
        ("inner", 9007199254740202, 9007199254740204, 1),
        ("free", 9007199254740203, 9007199254740205, None),
    ]


def test_ids_that_may_be_hexadecimal_are_left_out(tmp_path: Path) -> None:
    lines = [
        f"{10**9 + i}:{10**9 + i + 1} 1:1 hsa_f() = 0 :{name}"
        for i, name in enumerate(["27", "38", "27", "2a"])
    ]
    calls = _read(tmp_path, "\n".join(lines)).tables["api_calls"]
    assert calls["correlation_id"].to_list() == [None, 38, None, None]


def test_what_is_left_open_keeps_its_begin(tmp_path: Path) -> None:
    part = _read(tmp_path, '1000000000 1:1 2:0:""\n1000000001 1:1 1:0:"open"\n1000000002 1:1 4:5:""\n')
    assert part.tables["ranges"].select("name", "start_ns", "end_ns").rows() == [("open", 1000000001, None)]
    assert [loss.records for loss in part.losses] == [2, 1]


def test_a_line_cut_off_and_a_time_too_large_are_counted(tmp_path: Path) -> None:
    huge = f"{10**30}:{10**30 + 1} 1:1 hipFree(ptr=0) :8\n"
    part = _read(tmp_path, TEXT + huge + "9007199254740300:90071992")
    assert part.tables["api_calls"].height == 3
    assert [loss.records for loss in part.losses] == [1, 1]


def test_no_record_is_an_empty_capture(tmp_path: Path) -> None:
    with pytest.raises(EmptyCaptureError, match="roctracer started"):
        _read(tmp_path, "ROCTracer (pid=7):\n    KFD-trace()\nPASSED!\n")


@given(cut=st.integers(0, len(TEXT)), at=st.integers(0, len(TEXT)), junk=st.binary(max_size=12))
def test_no_damage_gives_a_traceback(
    tmp_path_factory: pytest.TempPathFactory, cut: int, at: int, junk: bytes
) -> None:
    file = tmp_path_factory.getbasetemp() / "roctracer_mutated.txt"
    data = TEXT.encode()
    file.write_bytes((data[:at] + junk + data[at:])[: cut + len(junk)])
    with suppress(InputError, EmptyCaptureError):
        assert isinstance(roctracer.read_trace(Source(file)), Part)


def _specimen(specimens: Path, name: str) -> Part:
    source = Source(specimens / "roctracer_txt" / f"ROCm_roctracer__{name}_trace.txt")
    return sniff(source).read(source)


def test_hip_specimens(specimens: Path) -> None:
    filtered = _specimen(specimens, "MatrixTranspose_hip_input")
    assert {name: table.height for name, table in filtered.tables.items()} == {
        "copies": 200,
        "api_calls": 204,
    }
    assert filtered.tables["copies"]["size_bytes"].to_list() == [4194304] * 200
    assert sorted(filtered.tables["copies"]["kind"].unique()) == ["D2H", "H2D"]
    assert filtered.losses == ()
    period = _specimen(specimens, "MatrixTranspose_hip_period")
    assert {name: table.height for name, table in period.tables.items()} == {"copies": 19, "api_calls": 49}
    assert period.tables["api_calls"]["correlation_id"].null_count() == 49
    assert len(period.notices) == 1


def test_other_specimens(specimens: Path) -> None:
    hsa = _specimen(specimens, "copy_hsa").tables["api_calls"]
    assert (hsa.height, set(hsa["domain"])) == (61, {"hsa"})
    assert hsa["correlation_id"].null_count() == 8  # 27, 28, 29 twice, 2a, 2b
    ranges = _specimen(specimens, "roctx_test").tables["ranges"].sort("start_ns")
    assert ranges["name"].to_list() == [
        "NestedRangeA",
        "NestedRangeB",
        "NestedRangeC",
        "StartStopRangeA",
        "NestedRangeD",
        "NestedRangeE",
    ]
    assert ranges["depth"].to_list() == [0, 0, 1, None, 0, 1]
    assert ranges.row(3, named=True)["end_ns"] == 628584859755545
    with pytest.raises(EmptyCaptureError):
        _specimen(specimens, "MatrixTranspose_kfd")
