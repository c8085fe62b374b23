"""Spills are refused, fewer waves are named and left to the measurement."""

from __future__ import annotations

import pytest

from rocm_perf.arch.codeobject.report import Launch
from rocm_perf.model.results.optimize import Resources
from rocm_perf.optimize.guards.resources import resources_of, resources_passage
from tests.unit.optimize.hand_made import image, kernel

_LEAN = Resources(vgprs=32, sgprs=20, spills=0, scratch_bytes=0, lds_bytes=0, waves=8.0)


def test_resources_come_from_the_code_object() -> None:
    needs = resources_of(image(kernel(vgpr_count=128)), "_Z5scalePfi", Launch(256))
    assert (needs.vgprs, needs.spills, needs.waves) == (128, 0, 4.0)  # 512 registers of a SIMD


@pytest.mark.parametrize(
    ("after", "words"),
    [
        (Resources(spills=12), "it spills 12 registers to memory, none before"),
        (Resources(scratch_bytes=64), "64 bytes of scratch memory per work-item, none before"),
        (Resources(waves=0.0), "no workgroup of it fits on the chip"),
    ],
)
def test_what_costs_memory_or_does_not_fit_is_refused(after: Resources, words: str) -> None:
    passage = resources_passage(_LEAN, after)
    assert not passage.passed
    assert words in passage.words


def test_fewer_waves_pass_and_are_named() -> None:
    passage = resources_passage(
        _LEAN, Resources(vgprs=72, sgprs=20, spills=0, scratch_bytes=0, lds_bytes=0, waves=6.0)
    )
    assert passage.passed
    assert "VGPRs 32 -> 72" in passage.words
    assert "waves 8 -> 6" in passage.words


def test_a_kernel_that_spilled_before_may_spill_less() -> None:
    spilling = Resources(spills=40, scratch_bytes=256)
    assert resources_passage(spilling, Resources(spills=20, scratch_bytes=128)).passed
    assert not resources_passage(spilling, Resources(spills=41, scratch_bytes=256)).passed
