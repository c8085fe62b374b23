"""Recordings of our own tracer, written by hand; tests/unit/backends/test_cupti.py has the tracer itself write them."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rocm_perf
from rocm_perf.errors import InputError
from rocm_perf.ingest.io.blocks import read_blocks
from rocm_perf.ingest.io.source import Source
from rocm_perf.model.trace import Trace
from tests import rptrace

WHOLE = rptrace.MAGIC + rptrace.document(rptrace.BEGINNING)


def loaded(data: bytes, folder: Path) -> Trace:
    file = folder / "rank-6.rptrace"
    file.write_bytes(data)
    return rocm_perf.load(file)


def test_every_table_is_read(tmp_path: Path) -> None:
    trace = loaded(rptrace.small(), tmp_path)
    kernels = trace.table("dispatches")
    assert kernels.select(
        "kernel", "start_ns", "end_ns", "correlation_id", "stream_id", "grid_x", "vgprs"
    ).rows() == [
        ("gemm", 5_001_100, 5_001_600, 1, 7, 1280, 40),
        ("gemm", 5_002_100, 5_002_800, 2, 7, 1280, 40),
    ]
    assert trace.table("api_calls").select("name", "domain", "tid", "pid").unique().rows() == [
        ("cudaLaunchKernel", "cuda", 6, 6)
    ]
    assert trace.table("copies").select("kind", "size_bytes", "host_memory").rows() == [
        ("H2D", 4096, "pinned")
    ]
    assert trace.table("allocations").select("operation", "size_bytes").rows() == [("ALLOC", 1 << 20)]
    assert trace.table("ranges").select("name", "source").rows() == [("step", "nvtx")]
    assert trace.table("agents").select("name", "gfx").rows() == [("NVIDIA H200", "sm_90")]
    assert trace.run.hosts == ("box",)
    assert trace.run.clock == "boot"
    assert trace.run.losses == ()


@pytest.mark.whole
def test_a_file_cut_anywhere_says_so(tmp_path: Path) -> None:
    data = rptrace.small()
    for size in range(len(WHOLE), len(data) - 1, 7):
        trace = loaded(data[:size], tmp_path)
        assert any("breaks off" in loss.what for loss in trace.run.losses), size


@pytest.mark.parametrize("size", [1, 8, 12, 60])
def test_a_file_without_a_beginning_is_refused(tmp_path: Path, size: int) -> None:
    with pytest.raises(InputError):
        loaded(rptrace.small()[:size], tmp_path)


def test_a_changed_byte_ends_the_reading_there(tmp_path: Path) -> None:
    data = bytearray(rptrace.small())
    data[-80] ^= 1
    assert any("checksum" in loss.what for loss in loaded(bytes(data), tmp_path).run.losses)


def test_an_unknown_table_and_further_columns_are_of_a_later_release(tmp_path: Path) -> None:
    later = rptrace.table("?", [(1, 2)]) + rptrace.table("c", [(9_000, 1, 9, 1, 6, 0, 77)])
    data = rptrace.small().replace(
        rptrace.document(rptrace.ORDINARY_END), later + rptrace.document(rptrace.ORDINARY_END)
    )
    trace = loaded(data, tmp_path)
    assert trace.rows("api_calls") == 3
    assert trace.run.losses == ()


def test_a_number_without_a_text_or_a_row_is_left_out(tmp_path: Path) -> None:
    data = (
        WHOLE
        + rptrace.texts(["k"])
        + rptrace.table("k", [(1, 1, 1, 0, 5, 5), (2, 1, 2, 9, 0, 0), (3, 1, 3, -1, 0, 0)])
    )
    kernels = loaded(data, tmp_path).table("dispatches")
    assert kernels.select("kernel", "agent_id", "vgprs").rows() == [("k", None, None)]


@pytest.mark.parametrize(
    "content",
    [
        b"Tk\x06\x00\xff\xff\xff\xff" + b"\0" * 54,  # four thousand million equal rows
        b"Tk\x06\x00\x10\x00\x00\x00" + (b"\0" * 8 + b"\x03") * 6 + b"\0" * 400,  # three bytes a number
        b"Tk\x01\x00\x01\x00\x00\x00" + b"\0" * 9,  # too few columns
        b"Tk\x06",
        b"S\x05\x00\x00\x00\x01\x00\x00\x00\x01\x00\x00\x00x",  # texts from number 5 on
        b"S\x00\x00\x00\x00\xff\xff\xff\xff",
    ],
)
def test_a_forged_block_is_damage(tmp_path: Path, content: bytes) -> None:
    trace = loaded(rptrace.small() + rptrace.framed(content), tmp_path)
    assert any("is damaged" in loss.what for loss in trace.run.losses)
    assert trace.rows("dispatches") == 2


NUMBERS = st.integers(-(2**63), 2**63 - 1) | st.integers(-3, 300)


@given(st.lists(st.tuples(NUMBERS, NUMBERS, NUMBERS), min_size=1, max_size=40))
def test_any_numbers_come_back(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[int, int, int]]
) -> None:
    file = tmp_path_factory.mktemp("blocks") / "x.rptrace"
    file.write_bytes(rptrace.MAGIC + rptrace.table("x", rows) + rptrace.table("x", rows))
    blocks = read_blocks(Source(file), {"x": ("a", "b", "c")})
    assert blocks.tables["x"].rows() == rows * 2
    assert blocks.damage is None


def test_windows_keep_what_was_launched_in_them(tmp_path: Path) -> None:
    changes = rptrace.table("v", [(2_500, 1), (3_500, 0)])
    data = rptrace.small().replace(
        rptrace.document(rptrace.ORDINARY_END), changes + rptrace.document(rptrace.ORDINARY_END)
    )
    trace = loaded(data, tmp_path)
    assert trace.table("dispatches")["correlation_id"].to_list() == [2]
    assert trace.table("api_calls")["correlation_id"].to_list() == [2]
    assert not trace.has("copies")


def test_the_kernel_of_a_call_that_was_under_way_is_not_of_the_window(tmp_path: Path) -> None:
    """Seen on an H200: one kernel more than launches in a period of 1.5 s."""
    kernels = [(2_600, 100, 1, 0, 0, 0), (3_100, 700, 2, 0, 0, 0), (3_200, 9, 3, 0, 0, 0)]
    data = b"".join(
        (
            rptrace.MAGIC,
            rptrace.document(rptrace.BEGINNING),
            rptrace.texts(["gemm", "cudaLaunchKernel"]),
            rptrace.table("g", [(40, 1024, 10, 1, 1, 128, 1, 1)]),
            rptrace.table("p", [(0, 1, 7)]),
            rptrace.table("c", [(3_000, 10, 2, 1, 6, 0)]),
            rptrace.table("k", kernels),
            rptrace.table("v", [(2_500, 1), (3_500, 0)]),
            rptrace.document(rptrace.ORDINARY_END),
        )
    )
    kept = loaded(data, tmp_path).table("dispatches")["correlation_id"].to_list()
    assert kept == [2, 3]  # the third lost its launch otherwise, and coverage says so


def test_segments_of_a_ring_are_one_process(tmp_path: Path) -> None:
    for number, end in ((3, {"end": {"continued": True}}), (4, rptrace.ORDINARY_END)):
        data = rptrace.small().replace(
            rptrace.document(rptrace.BEGINNING), rptrace.document(rptrace.BEGINNING | {"segment": number})
        )
        data = data.replace(rptrace.document(rptrace.ORDINARY_END), rptrace.document(end))
        (tmp_path / f"rank-6.00000{number}.rptrace").write_bytes(data)
    trace = rocm_perf.load(tmp_path)
    assert trace.rows("dispatches") == 4
    assert trace.table("dispatches").filter(pl.col("pid") != 6).is_empty()
    assert trace.run.losses == ()


def test_the_processes_of_a_run_become_tables_of_one_piece(tmp_path: Path) -> None:
    for pid in (6, 7):
        data = rptrace.small().replace(
            rptrace.document(rptrace.BEGINNING), rptrace.document({**rptrace.BEGINNING, "pid": pid})
        )
        (tmp_path / f"rank-{pid}.rptrace").write_bytes(data)
    trace = rocm_perf.load(tmp_path)
    assert trace.rows("dispatches") == 4
    assert {trace.table(name).n_chunks() for name in trace} == {1}
