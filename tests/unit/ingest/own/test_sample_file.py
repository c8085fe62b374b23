"""The sampler's own file: read whole, read cut, and placed beside a recording of another clock and numbering."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocm_perf.analysis.program.energy import energy
from rocm_perf.backends.sensors import METRICS, Reading
from rocm_perf.collect.sampling.sample_file import SampleFile
from rocm_perf.errors import EmptyCaptureError, InputError
from rocm_perf.ingest.io.source import Source
from rocm_perf.ingest.load import load
from rocm_perf.ingest.own.sample_file import read
from rocm_perf.ingest.sniff import sniff

BOOT, REALTIME = 5_000 * 10**9, 1_760_000_000 * 10**9
EPOCH = REALTIME - BOOT
ALL = [name for group in METRICS.values() for name in group]
GPUS = [
    {"gpu": 0, "node": 4, "ordinal": 1, "gfx": "gfx942", "name": "MI300X", "memory_bytes": 192 << 30},
    {"gpu": 1, "node": 5, "ordinal": 0, "gfx": "gfx942", "name": "MI300X"},
    {"gpu": 2, "node": 6, "ordinal": None},
]


def _write(path: Path, readings: list[Reading], **facts: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    file = SampleFile(path, ALL)
    file.begin(
        {"boot_ns": BOOT, "realtime_ns": REALTIME, "host": "box", "vendor": "AMD", "gpus": GPUS, **facts}
    )
    file.add(readings)
    file.end({"readings": len(readings)})
    file.close()
    return path


def _power(seconds: list[int], gpu: int = 0, watts: float = 100.0) -> list[Reading]:
    return [Reading(gpu, BOOT + second * 10**9, {"power_w": watts}) for second in seconds]


def test_what_is_written_is_read(tmp_path: Path) -> None:
    values = {"power_w": 412.25, "vram_used_bytes": 206158430208.0, "energy_j": 1234567.875}
    path = _write(
        tmp_path / "samples.csv", [Reading(0, BOOT, values), Reading(1, BOOT + 7, {"clock_mhz": 2100})]
    )
    assert sniff(Source(path)).name == "rocm-perf-samples"
    part = read(Source(path))
    rows = part.tables["samples"].select("time_ns", "agent_id", "metric", "value", "unit").rows()
    assert sorted(rows) == [
        (BOOT, 0, "energy_j", 1234567.875, "J"),
        (BOOT, 0, "power_w", 412.25, "W"),
        (BOOT, 0, "vram_used_bytes", 206158430208.0, "B"),
        (BOOT + 7, 1, "clock_mhz", 2100.0, "MHz"),
    ]
    assert part.clock == "boot"
    assert part.sensing is not None
    assert (part.sensing.epoch_ns, part.sensing.nodes, part.sensing.ordinals) == (
        EPOCH,
        {0: 4, 1: 5, 2: 6},
        {0: 1, 1: 0},
    )


@given(st.integers(1, 10_000))
def test_a_file_cut_anywhere_is_read_or_refused_with_words(
    tmp_path_factory: pytest.TempPathFactory, cut: int
) -> None:
    folder = tmp_path_factory.mktemp("cut")
    path = _write(folder / "samples.csv", _power(list(range(20))))
    data = path.read_bytes()[:cut]
    path.write_bytes(data)
    whole = data.decode().split("\n")[3:-1]  # rows that have their end
    try:
        part = read(Source(path))
    except (EmptyCaptureError, InputError):
        assert not [row for row in whole if row[:1].isdigit()]
        return
    assert part.tables["samples"].height == len([row for row in whole if row[:1].isdigit()])
    assert bool(part.losses) == (not data.endswith(b"\n"))


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("# rocm-perf samples 1\n", InputError),
        ("# rocm-perf samples 1\n# {}\ntime_ns,gpu,power_w\n1,0,5\n", InputError),
        ('# rocm-perf samples 1\n# {"boot_ns": 1, "realtime_ns": 2}\n', EmptyCaptureError),
        (
            '# rocm-perf samples 1\n# {"boot_ns": 1, "realtime_ns": 2}\ntime_ns,gpu,power_w\n',
            EmptyCaptureError,
        ),
        ('# rocm-perf samples 1\n# {"boot_ns": 1, "realtime_ns": 2}\ntime_ns,gpu\n1,0\n', EmptyCaptureError),
        ('# rocm-perf samples 1\n# {"boot_ns": 1, "realtime_ns": 1e30}\nt\n', InputError),
    ],
)
def test_what_holds_nothing_says_so(tmp_path: Path, text: str, error: type[Exception]) -> None:
    path = tmp_path / "samples.csv"
    path.write_text(text)
    with pytest.raises(error):
        read(Source(path))


def test_rows_that_are_no_readings_are_losses(tmp_path: Path) -> None:
    path = tmp_path / "samples.csv"
    path.write_text(
        '# rocm-perf samples 1\n# {"boot_ns": 1, "realtime_ns": 2}\n'
        "time_ns,gpu,power_w,shoe_size\n1,0,5,44\nx,0,6,44\n3,0,nan,44\n99999999999999999999,0,7,44\n"
    )
    part = read(Source(path))
    assert part.tables["samples"].select("time_ns", "value").rows() == [(1, 5.0)]
    assert [loss.records for loss in part.losses] == [2]


def test_notices_of_the_sampler_reach_the_run(tmp_path: Path) -> None:
    _write(tmp_path / "samples.csv", _power([0, 1]), notices=["GPU 1 does not tell its power"])
    assert "GPU 1 does not tell its power" in load(tmp_path).run.notices


_KERNELS = '"Kind","Agent_Id","Queue_Id","Kernel_Id","Kernel_Name","Correlation_Id","Start_Timestamp","End_Timestamp"'


def _rocprof(folder: Path, agent: int = 4) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    start, end = BOOT + 10**9, BOOT + 2 * 10**9
    row = f'"KERNEL_DISPATCH",{agent},1,1,"gemm",1,{start},{end}'
    (folder / "1_kernel_trace.csv").write_text(f"{_KERNELS}\n{row}\n")


def _kineto(folder: Path, device: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    event = {
        "ph": "X", "cat": "kernel", "name": "gemm", "pid": device, "tid": 7, "ts": 1_000_000.0, "dur": 1_000_000.0,
        "args": {"device": device, "stream": 7, "correlation": 1},
    }  # fmt: skip
    document = {
        "schemaVersion": 1,
        "deviceProperties": [],
        "baseTimeNanoseconds": REALTIME,
        "traceEvents": [event],
    }
    (folder / "trace.json").write_text(json.dumps(document))


def test_beside_rocprofv3_gpus_are_numbered_by_their_nodes(tmp_path: Path) -> None:
    _write(tmp_path / "samples.csv", _power([0, 1, 2, 3]) + _power([0, 1, 2, 3], 1, 50.0))
    _rocprof(tmp_path / "pass_1" / "box")
    trace = load(tmp_path)
    assert set(trace.table("samples")["agent_id"]) == {4, 5}
    result = energy(trace)
    assert [(kernel.kernel, round(kernel.energy_j, 6)) for kernel in result.kernels] == [("gemm", 100.0)]


def test_beside_a_torch_trace_times_are_dates_and_gpus_are_the_programs(tmp_path: Path) -> None:
    hidden = _power([0, 1, 2, 3], 2, 900.0)
    _write(tmp_path / "samples.csv", _power([0, 1, 2, 3]) + _power([0, 1, 2, 3], 1, 50.0) + hidden)
    _kineto(tmp_path / "pass_1", device=0)
    trace = load(tmp_path)
    samples = trace.table("samples")
    assert samples["time_ns"].min() == REALTIME
    assert set(samples["agent_id"]) == {0, 1}
    assert trace.table("nodes")["clock"].to_list() == ["epoch"]
    result = energy(trace)
    assert [(kernel.kernel, round(kernel.energy_j, 6)) for kernel in result.kernels] == [("gemm", 50.0)]
    assert result.left_out == 0


_THINNED = "time_ns,gpu,power_w,start_ns,end_ns,readings,power_w_min,power_w_max"


def test_thinned_rows_are_read_and_moved_to_the_clock_of_a_torch_trace(tmp_path: Path) -> None:
    first, middle, last = (BOOT + second * 10**9 for second in (0, 2, 4))
    facts = json.dumps({"boot_ns": BOOT, "realtime_ns": REALTIME, "gpus": GPUS})
    rows = f"{middle},1,100,{first},{last},40,10,700\n{last},1,100,,,,,\n"
    (tmp_path / "samples.csv").write_text(f"# rocm-perf samples 1\n# {facts}\n{_THINNED}\n{rows}")
    _kineto(tmp_path / "pass_1", device=0)
    trace = load(tmp_path)
    columns = ("start_ns", "time_ns", "end_ns", "lowest", "value", "highest", "readings")
    assert trace.table("samples").select(columns).rows() == [
        (REALTIME, REALTIME + 2 * 10**9, REALTIME + 4 * 10**9, 10.0, 100.0, 700.0, 40),
        (None, REALTIME + 4 * 10**9, None, None, 100.0, None, None),
    ]
    assert energy(trace).kernels[0].energy_j == pytest.approx(100.0)


@pytest.mark.parametrize("interval", ["9,5,3", "5,5,3", "1,5,0", "1,5,-1", "x,5,3", "1,,3", "1,5,"])
def test_an_interval_that_cannot_be_is_a_single_reading(tmp_path: Path, interval: str) -> None:
    path = tmp_path / "samples.csv"
    path.write_text(
        '# rocm-perf samples 1\n# {"boot_ns": 1, "realtime_ns": 2}\n' + f"{_THINNED}\n3,0,5,{interval},4,6\n"
    )
    (row,) = read(Source(path)).tables["samples"].rows(named=True)
    assert (row["time_ns"], row["value"]) == (3, 5.0)
    assert {row[name] for name in ("start_ns", "end_ns", "lowest", "highest", "readings")} == {None}


def test_a_torch_trace_that_uses_hsa_nodes_is_recognised(tmp_path: Path) -> None:
    _write(tmp_path / "samples.csv", _power([0, 1, 2, 3]))
    _kineto(tmp_path / "pass_1", device=4)
    assert energy(load(tmp_path)).kernels[0].energy_j == pytest.approx(100.0)


def test_numbers_that_both_could_mean_are_hsa_nodes_beside_rocprofv3(tmp_path: Path) -> None:
    gpus = [{"gpu": 0, "node": 1, "ordinal": 0}, {"gpu": 1, "node": 2, "ordinal": 1}]
    _write(tmp_path / "samples.csv", _power([0, 1, 2, 3]) + _power([0, 1, 2, 3], 1, 50.0), gpus=gpus)
    _rocprof(tmp_path / "pass_1" / "box", agent=1)
    assert energy(load(tmp_path)).kernels[0].energy_j == pytest.approx(100.0)


def test_alone_the_file_keeps_its_own_numbers(tmp_path: Path) -> None:
    path = _write(tmp_path / "samples.csv", _power([0, 1], 2))
    trace = load(path)
    assert set(trace.table("samples")["agent_id"]) == {2}
    assert trace.table("agents").filter(pl.col("agent_id") == 0).select("name", "memory_bytes").row(0) == (
        "MI300X",
        192 << 30,
    )


def test_two_ranks_that_read_one_gpu_do_not_count_its_energy_twice(tmp_path: Path) -> None:
    for rank, shift in ((0, 0), (1, 300_000_000)):
        readings = [Reading(0, BOOT + second * 10**9 + shift, {"power_w": 100.0}) for second in range(4)]
        _write(tmp_path / "box" / f"rank{rank}-{rank + 70}" / "samples.csv", readings)
    gpus = energy(load(tmp_path)).gpus
    assert len(gpus) == 1
    assert gpus[0].energy.value == pytest.approx(330.0)
