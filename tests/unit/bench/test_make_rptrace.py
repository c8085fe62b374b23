"""The maker of recordings of our own tracer: what it writes is read whole, and is a decode loop."""

from __future__ import annotations

from pathlib import Path

import polars as pl
from bench import make_rptrace

import rocm_perf


def test_every_kernel_is_launched_and_every_step_awaited(tmp_path: Path) -> None:
    file = tmp_path / "made.rptrace"
    make_rptrace.make(file, 300)
    trace = rocm_perf.load(file)
    kernels, calls = trace.table("dispatches"), trace.table("api_calls")
    waits = calls.filter(pl.col("name") == "cudaStreamSynchronize")
    assert trace.run.losses == ()
    assert (kernels.height, calls.height, waits.height) == (300, 302, 2)
    assert kernels["kernel"].n_unique() == make_rptrace.NAMES
    assert (kernels["start_ns"] >= kernels["end_ns"].shift(1)).all()
    pairs = kernels.join(calls, on="correlation_id", suffix="_call")
    assert pairs.height == 300
    assert (pairs["start_ns"] > pairs["start_ns_call"]).all()
    last = kernels["end_ns"].gather([len(make_rptrace.STEP) - 1, 2 * len(make_rptrace.STEP) - 1])
    assert (waits["end_ns"] > last).all()


def test_the_same_arguments_give_the_same_bytes(tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("one.rptrace", "two.rptrace")]
    for file in files:
        make_rptrace.make(file, 120)
    assert files[0].read_bytes() == files[1].read_bytes()
