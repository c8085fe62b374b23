"""JAX recorded on MI300X and MI355X: what is counted equals what an independent reader counts, and the first screen
says what someone who read the files would."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from rocm_perf.analysis.operators.build import operators
from tests.recordings import answer, recording
from tests.xplane import ReadEvent, read_events

CONV = "AMD-AGI_TraceLens__mi300_jax_conv_minimal_08.xplane.pb"
ATTENTION = "AMD-AGI_TraceLens__te_fused_attn.xplane.pb"


@pytest.fixture(scope="session")
def frameworks(specimens: Path) -> Path:
    folder = specimens.parent / "frameworks"
    if not folder.is_dir():
        pytest.skip("the specimens of frameworks are not on this machine")
    return folder


def on_host(events: list[ReadEvent]) -> list[ReadEvent]:
    return [event for event in events if event.plane.startswith("/host:")]


@pytest.mark.parametrize("name", [CONV, ATTENTION])
def test_every_event_is_there_once(frameworks: Path, name: str) -> None:
    events = read_events((frameworks / name).read_bytes())
    trace = recording(frameworks / name)
    kernels = [event for event in events if event.plane.startswith("/device:GPU")]
    host = on_host(events)
    calls = [event for event in host if event.name.startswith("hip")]
    frames = [event for event in host if event.name.startswith("$")]
    memory = [event for event in host if event.name in ("MemoryAllocation", "MemoryDeallocation")]
    assert trace.rows("dispatches") == len(kernels)
    assert trace.rows("api_calls") == len(calls)
    assert trace.table("ops").filter(pl.col("op_id").is_null(), pl.col("category") == "python").height >= len(
        frames
    )
    assert trace.rows("allocations") == len(memory) > 0
    assert trace.rows("ranges") == len(host) - len(calls) - len(frames) - len(memory)
    spent = trace.table("dispatches").select((pl.col("end_ns") - pl.col("start_ns")).sum()).item()
    assert abs(spent - sum(event.length_ps for event in kernels) / 1000) <= len(kernels)


@pytest.mark.parametrize("name", [CONV, ATTENTION])
@pytest.mark.whole
def test_every_kernel_is_paired_and_its_operation_known(frameworks: Path, name: str) -> None:
    document = answer(frameworks / name)
    assert document.coverage.paired == document.coverage.dispatched
    named = sum(
        "hlo_op" in e.stats for e in read_events((frameworks / name).read_bytes()) if "device" in e.plane
    )
    owned = recording(frameworks / name).table("dispatches")["op_id"].count()
    assert owned == named > 0


def test_eight_gpus_that_wait_for_the_host(frameworks: Path) -> None:
    """Five calls of one jitted convolution on eight GPUs, which work 3 % of the time; half of that is a transposition
    of the result, which moves 1.14 GB in 359 us."""
    document = answer(frameworks / CONV)
    assert len(document.devices) == 8
    assert document.phases.steps == 4  # after the fifth, none begins
    first = document.findings[0]
    assert first.kind == "host-bound"
    assert "another thread of the program is done with BufferSequencingEvent::Execute" in first.title
    assert document.hotspots.rows[0].short_name == "input_transpose_fusion"
    assert document.hotspots.rows[0].share == pytest.approx(0.506, abs=0.01)
    convolution = operator(frameworks / CONV, "cudnn-conv.1 (__cudnn$convForward)")
    # 1 x 5120 x 34 x 31 x 53 outputs of 16 x 1 x 2 x 2 weights, on 8 GPUs, 5 times; in bf16.
    assert convolution.shapes[0].flops.value == 40 * 2 * (5120 * 34 * 31 * 53) * 64
    moved = 2 * (16 * 32 * 60 * 104 + 5120 * 16 * 4 + 5120 * 34 * 31 * 53)
    assert convolution.shapes[0].bytes.value == 40 * moved
    assert (
        operators(recording(frameworks / CONV))
        .call_sites[0]
        .name.startswith("/workspace/traces/generate_conv_trace.py(23)")
    )


def test_fused_attention_that_keeps_its_gpu_busy(frameworks: Path) -> None:
    """Five steps of 30 kernels, 93 % busy; more than half is attention, backward before forward."""
    document = answer(frameworks / ATTENTION)
    assert (document.phases.steps, document.phases.kernels_per_step.value) == (5, 30)
    assert document.phases.step_ns.value == pytest.approx(2.5e6, rel=0.05)
    names = [row.short_name for row in document.hotspots.rows[:3]]
    assert names == ["kentry<FmhaBwdDQDKDVKernel>", "kentry<FmhaFwdKernel>", "gemm_fusion_dot"]
    assert document.families.rows[0].family == "attention"
    # The host waits in every step, though no call says so: all kernels are on the path.
    assert document.path.by_kind["kernel"] == pytest.approx(document.hotspots.total_ns, rel=0.01)
    product = operator(frameworks / ATTENTION, "gemm_fusion_dot.3")
    assert product.shapes[0].flops.value == 5 * 2 * 2 * 2048 * 2048 * 6144
    kernels = {row.kernel: row for row in document.roofline.kernels}
    gemm = next(row for name, row in kernels.items() if name == "gemm_fusion_dot")
    assert {part.ceiling for part in gemm.work} == {"HBM", "bf16 matrix"}
    assert gemm.percent_of_roof.value == pytest.approx(23.9, abs=0.5)
    # Two sequences of 16 heads, 2,048 queries and keys of 128 values, causal: so it is in the calls themselves.
    pairs = 2 * 16 * 2048 * 2049 // 2
    work = {row.short_name: row.flops.value for row in document.roofline.kernels}
    assert work["kentry<FmhaFwdKernel>"] == 2 * pairs * 2 * 128
    assert work["kentry<FmhaBwdDQDKDVKernel>"] == 2 * pairs * 5 * 128
    library = operator(frameworks / ATTENTION, "custom-call.1 (__cublas$gemm)")
    assert library.shapes[0].flops.value == product.shapes[0].flops.value  # the same product, by hipBLASLt


def operator(file: Path, name: str):  # type: ignore[no-untyped-def]
    categories = operators(recording(file)).categories
    return next(each for category in categories for each in category.operators if each.name == name)
