"""Statistics of rocprofv3 and rocprof: the domain is what the names say."""

from __future__ import annotations

import csv
from contextlib import suppress
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocm_perf.errors import EmptyCaptureError, InputError
from rocm_perf.ingest.io.source import Source
from rocm_perf.ingest.part import Part
from rocm_perf.ingest.rocprofv3 import stats_csv
from rocm_perf.ingest.sniff import sniff

V3 = (
    '"Name","Calls","TotalDurationNs","AverageNs","Percentage","MinNs","MaxNs","StdDev"\n'
    '"void gemm<float, 4>(float*, ""x"")",4,262497406,65624351.500000,85.15,3991286,249121840,122332531.343496\n'
    '"hipLike(int)",1,7,7.000000,0.6470,7,7,0.00000000e+00\n'
)
V1 = (
    '"Name","Calls","TotalDurationNs","AverageNs","Percentage"\n'
    'CopyHostToDevice,10,5539551,553955,69.0\n"FillBuffer",6,25600,4266,31.0\n'
)


def _read(folder: Path, text: str, name: str = "anything.dat") -> Part:
    file = folder / name
    file.write_text(text)
    source = Source(file)
    adapter = sniff(source)
    assert adapter.name == "stats-csv"
    return adapter.read(source)


def test_eight_columns_are_of_rocprofv3(tmp_path: Path) -> None:
    part = _read(tmp_path, V3, "812_kernel_stats.csv")
    first, last = part.tables["summaries"].iter_rows(named=True)
    assert (part.tool, part.pid) == ("rocprofv3", 812)
    assert first["name"] == 'void gemm<float, 4>(float*, "x")'
    assert (first["domain"], first["calls"], first["total_ns"], first["percent"]) == (
        "kernel",
        4,
        262497406,
        85.15,
    )
    assert (last["min_ns"], last["max_ns"], last["stddev_ns"]) == (7, 7, 0)


def test_five_columns_are_of_rocprof_and_know_no_extremes(tmp_path: Path) -> None:
    part = _read(tmp_path, V1)
    row = part.tables["summaries"].row(0, named=True)
    assert (part.tool, part.pid, row["domain"], row["mean_ns"]) == ("rocprof", None, "copy", 553955)
    assert (row["min_ns"], row["max_ns"], row["stddev_ns"]) == (None, None, None)


@pytest.mark.parametrize(
    ("names", "file_name", "domain"),
    [
        (["hipMalloc", "__hipPushCallConfiguration"], "x.csv", "hip"),
        (["hsa_queue_create"], "x.csv", "hsa"),
        (["MEMORY_COPY_HOST_TO_DEVICE"], "x.csv", "copy"),
        (["HIP_API", "KERNEL_DISPATCH", "MARKER_CORE_API"], "x.csv", "domain"),
        (["MEMORY_ALLOCATION_ALLOCATE"], "x.csv", "allocation"),
        (["ncclAllReduce"], "x.csv", "rccl"),
        (["hip_scatter(double*)", "gemm"], "x.csv", "kernel"),
        (["step 1", "hipMemcpy", "hipFree"], "9_marker_api_stats.csv", "marker"),
        (["step 1", "hipMemcpy", "hipFree"], "9_hip_api_stats.csv", "hip"),
        (["hipMemcpy"], "9_marker_api_stats.csv", "marker"),
        (["hipMemcpy"], "9_kernel_stats.csv", "hip"),
        ([], "x.csv", "kernel"),
    ],
)
def test_domain(names: list[str], file_name: str, domain: str) -> None:
    assert stats_csv.domain_of(pl.Series(names, dtype=pl.String), file_name) == domain


def test_rows_that_are_no_statistics_are_counted(tmp_path: Path) -> None:
    part = _read(tmp_path, V1 + "CopyDeviceToHost,many,nan,1,1\nCopyDevi")
    assert part.tables["summaries"].height == 2
    assert [loss.records for loss in part.losses] == [1, 1]


def test_only_a_header_is_an_empty_capture(tmp_path: Path) -> None:
    with pytest.raises(EmptyCaptureError):
        _read(tmp_path, V3.splitlines()[0] + "\n\n")


def test_missing_columns_are_named(tmp_path: Path) -> None:
    file = tmp_path / "x.csv"
    file.write_text("Name,Calls\na,1\n")
    with pytest.raises(InputError, match="TotalDurationNs"):
        stats_csv.read_stats(Source(file))


@given(cut=st.integers(0, len(V3)), at=st.integers(0, len(V3)), junk=st.binary(max_size=12))
def test_no_damage_gives_a_traceback(
    tmp_path_factory: pytest.TempPathFactory, cut: int, at: int, junk: bytes
) -> None:
    file = tmp_path_factory.getbasetemp() / "stats_mutated.csv"
    data = V3.encode()
    file.write_bytes((data[:at] + junk + data[at:])[: cut + len(junk)])
    with suppress(InputError, EmptyCaptureError):
        assert isinstance(stats_csv.read_stats(Source(file)), Part)


def test_specimens(specimens: Path) -> None:
    files = sorted([*specimens.glob("rocprof*/*stats.csv")])
    assert len(files) == 19
    for file in files:
        part = sniff(Source(file)).read(Source(file))
        with file.open() as lines:
            rows = list(csv.DictReader(lines))
        table = part.tables["summaries"]
        assert part.losses == ()
        assert table["name"].to_list() == [row["Name"] for row in rows]
        assert table["total_ns"].to_list() == [float(row["TotalDurationNs"]) for row in rows]
        assert part.tool == ("rocprofv3" if len(rows[0]) == 8 else "rocprof")


def test_domains_of_specimens(specimens: Path) -> None:
    v3, v1 = specimens / "rocprofv3_csv", specimens / "rocprof_v1"
    expected = {
        v3 / "iree-org_wave__3785403_domain_stats.csv": "domain",
        v3 / "amd_HPCTrainingExamples__readme_hip_3_stats.csv": "hip",
        v3 / "amd_HPCTrainingExamples__readme_openmp_3_stats.csv": "kernel",
        v1 / "HazyResearch_HipKittens__basic_col_results.hsa_stats.csv": "hsa",
        v1 / "dalg24_kokkos__results.copy_stats.csv": "copy",
    }
    for file, domain in expected.items():
        assert set(stats_csv.read_stats(Source(file)).tables["summaries"]["domain"]) == {domain}, file.name
