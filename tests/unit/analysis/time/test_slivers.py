"""Short kernels in repeating sequences."""

from __future__ import annotations

import pytest

from rocm_perf.analysis.time.slivers import sliver_findings, slivers
from rocm_perf.model.trace import Trace
from rocm_perf.sim.workload import read_workload
from tests.sim.recorded import recorded
from tests.unit.analysis.documents import document
from tests.unit.analysis.time.test_steps import EXAMPLES
from tests.unit.analysis.traces import kernel, trace


def loop(names: list[str], times: int, length: int = 2000, pause: int = 500) -> Trace:
    period = len(names) * (length + pause)
    return trace(
        dispatches=[
            kernel(name, turn * period + i * (length + pause), turn * period + i * (length + pause) + length)
            for turn in range(times)
            for i, name in enumerate(names)
        ]
    )


def test_a_sequence_between_gemms() -> None:
    result = slivers(loop(["mul_mat_q", "scale_f32", "k_bin_bcast", "rms_norm_f32"], 5))
    (row,) = result.rows
    assert row.kernels == ("scale_f32", "k_bin_bcast", "rms_norm_f32")
    assert (row.occurrences, row.kernel_ns, row.gap_ns) == (5, 5 * 3 * 2000, 5 * 2 * 500)
    assert result.floor_ns == 2000
    assert row.saving_ns == 5 * (2 * 500 + 2 * 2000)


def test_a_sequence_ends_with_its_step() -> None:
    recording = recorded(read_workload(EXAMPLES / "slivers.toml"))
    result = slivers(recording)
    (row,) = result.rows
    assert (len(row.kernels), row.occurrences) == (6, 100)
    (finding,) = sliver_findings(document(recording))
    assert finding.time_at_stake_ns == row.saving_ns


@pytest.mark.parametrize(
    "recording",
    [
        loop(["mul_mat_q", "scale_f32", "mul_mat_q", "k_bin_bcast"], 5),  # nothing next to one another
        loop(["mul_mat_q", "scale_f32", "k_bin_bcast"], 5, length=20_000),  # not short
        loop(["mul_mat_q", "scale_f32", "k_bin_bcast"], 5, pause=200_000),  # not close
        loop(["mul_mat_q", "scale_f32", "k_bin_bcast"], 2),  # not often
        loop(["mul_mat_q", "flash_attn_ext_vec", "ncclDevKernel_Generic"], 5),  # nothing that fuses
    ],
)
@pytest.mark.whole
def test_what_is_no_candidate(recording: Trace) -> None:
    result = slivers(recording)
    assert result.rows == ()
    assert sliver_findings(document(recording)) == []


def test_streams_are_apart() -> None:
    names = ["scale_f32", "k_bin_bcast"]
    two = [kernel(names[i % 2], 1000 * i, 1000 * i + 900, stream_id=i % 2) for i in range(20)]
    rows = slivers(trace(dispatches=two)).rows
    assert all(len(set(row.kernels)) == 1 for row in rows)


def test_no_kernels_say_so() -> None:
    assert slivers(trace()).unavailable == "the recording holds no kernels with times"
