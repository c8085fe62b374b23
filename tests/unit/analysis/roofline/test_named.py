"""Recordings whose GPU the user names."""

from __future__ import annotations

import pytest

from rocm_perf import api
from rocm_perf.analysis.roofline.devices import devices
from rocm_perf.analysis.roofline.named import named_notice, with_named_gpu
from rocm_perf.arch.catalog import find_gpu
from rocm_perf.errors import UsageError
from rocm_perf.model.trace import Trace
from tests.unit.analysis.traces import Row, kernel, trace

MI300X = "AMD Instinct MI300X"
TENSILE = "Cijk_Ailk_Bljk_BBS_BH_MT256x128x64_MI16x16x16x1_SN_ISA942_WG64_4_1"


def named(recording: Trace, name: str) -> Trace:
    return with_named_gpu(recording, find_gpu(name))


def refusal(recording: Trace, name: str) -> str:
    with pytest.raises(UsageError) as error:
        named(recording, name)
    return str(error.value)


def test_a_recording_that_names_no_gpu_is_of_the_one_that_is_named() -> None:
    recording = named(trace(dispatches=[kernel("k", 0, 1_000)]), "MI300X")
    (device,) = devices(recording)
    assert (device.name, device.compute_units, device.identified_by) == (MI300X, 304, "you (--gpu)")
    assert named_notice(MI300X) in recording.run.notices


def test_what_is_recorded_of_a_gpu_without_a_name_is_kept() -> None:
    """A partition of 38 compute units."""
    agent: Row = {"agent_id": 0, "kind": "GPU", "gfx": "gfx942", "cu_count": 38}
    recording = trace(dispatches=[kernel("k", 0, 1_000)], agents=[agent])
    (device,) = devices(named(recording, "MI300X"))
    assert device.gpu is not None
    assert (device.gpu.name, device.compute_units) == (MI300X, 38)


def test_a_recording_that_names_this_gpu_stays_as_it_is() -> None:
    agent: Row = {
        "agent_id": 0,
        "kind": "GPU",
        "gfx": "gfx942",
        "name": MI300X,
        "cu_count": 304,
        "memory_bytes": 192 << 30,
    }
    recording = trace(dispatches=[kernel("k", 0, 1_000)], agents=[agent])
    assert named(recording, "MI300X") is recording


def test_kernels_for_another_chip_contradict_it() -> None:
    said = refusal(trace(dispatches=[kernel(TENSILE, 0, 1_000)]), "MI250X")
    assert "1 name of its kernels says gfx942, and AMD Instinct MI250X GCD is gfx90a" in said
    assert MI300X in said


@pytest.mark.parametrize(
    ("name", "gpu"),
    [
        ("nvjet_sm90_tst_64x8_64x16_4x1_v_bz_TNT", "MI300X"),
        ("void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm>(int)", "MI300X"),
        ("__amd_rocclr_copyBuffer", "NVIDIA H100 SXM"),
        ("sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize64x64x64", "NVIDIA A100 SXM 40GB"),
    ],
)
def test_kernels_of_another_maker_or_a_newer_chip_contradict_it(name: str, gpu: str) -> None:
    assert "name of its kernels says" in refusal(trace(dispatches=[kernel(name, 0, 1_000)]), gpu)


def test_kernels_for_an_older_chip_of_nvidia_do_not() -> None:
    recording = trace(dispatches=[kernel("sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize64x128x8", 0, 1_000)])
    assert devices(named(recording, "NVIDIA H100 SXM"))[0].name == "NVIDIA H100 SXM"


def test_another_gpu_in_the_recording_contradicts_it() -> None:
    agent: Row = {"agent_id": 0, "kind": "GPU", "gfx": "gfx942", "name": MI300X, "cu_count": 304}
    recording = trace(dispatches=[kernel("k", 0, 1_000)], agents=[agent])
    assert "it says that it was made on AMD Instinct MI300X" in refusal(recording, "NVIDIA H100 SXM")


def test_an_unknown_name_says_what_is_near() -> None:
    with pytest.raises(UsageError, match="no GPU 'MI300Q' is in the catalogue"):
        api.named(trace(), "MI300Q")


def test_the_end_of_a_name_is_enough() -> None:
    assert find_gpu("R9700").name == "AMD Radeon AI PRO R9700"


def test_the_api_takes_a_name() -> None:
    document = api.analyze(trace(dispatches=[kernel("k", 0, 1_000)]), gpu="MI300X")
    assert [gpu.name for gpu in document.roofline.gpus] == [MI300X]
