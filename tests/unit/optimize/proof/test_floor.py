"""Times that are too fast to be true."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from rocm_perf.model.results.replay import CapturedDevice
from rocm_perf.optimize.proof.floor import prove_floor
from rocm_perf.optimize.proof.inputs import FreshInputs
from rocm_perf.optimize.proof.parameters import Buffer, Element
from rocm_perf.optimize.proof.roof import Roof, roof_of
from rocm_perf.optimize.proof.states import States
from rocm_perf.optimize.proof.traffic import READ_SHARE, MustMove, traffic, with_another
from rocm_perf.replay.overwritten import Span
from rocm_perf.replay.snapshot import Snapshot
from tests.unit.replay.toys import COUNT

MIB = 1 << 20
ROOF = Roof(memory=4800, cache=30_000, cache_bytes=50 * MIB, name="H200")


def test_what_fits_the_cache_need_not_come_from_memory() -> None:
    assert ROOF.least_ns(50 * MIB, 0) == 0
    assert ROOF.least_ns(0, 30 * MIB) == pytest.approx(30 * MIB / 30_000)
    assert ROOF.least_ns(1050 * MIB, 1050 * MIB) == pytest.approx(2000 * MIB / 4800)


def test_the_gate() -> None:
    moved = [MustMove(0, 1050 * MIB)]
    least_ns = 1000 * MIB / 4800
    assert prove_floor(moved, [1.01 * least_ns], ROOF).passed
    passage = prove_floor(moved, [0.99 * least_ns], ROOF)
    assert not passage.passed
    assert "too fast to be true: H200 needs" in passage.words
    unknown = prove_floor(moved, [1.0], None)
    assert unknown.passed
    assert "not judged" in unknown.words


def test_flops_that_nobody_can_compute_so_fast() -> None:
    """A product of 4096 by 4096 matrices, on a GPU of 2,000 TFLOP/s."""
    roof = replace(ROOF, flops=2e6)
    needed = [MustMove(0, 0, flops=2 * 4096**3)]
    least_ns = 2 * 4096**3 / 2e6
    assert prove_floor(needed, [1.01 * least_ns], roof).passed
    passage = prove_floor(needed, [0.99 * least_ns], roof)
    assert not passage.passed
    assert "1.374e+11 FLOPs" in passage.words
    assert prove_floor(needed, [1.0], ROOF).passed  # its units are not known


def test_roofs_come_from_the_catalogue() -> None:
    roof = roof_of(CapturedDevice(name="NVIDIA H200", gfx="sm_90"))
    assert roof is not None
    assert roof.memory == pytest.approx(4800, rel=0.05)  # GB/s, NVIDIA's data sheet
    assert roof.cache_bytes == 50 * MIB
    assert roof.flops == pytest.approx(
        1979e3, rel=0.01
    )  # a nanosecond, in f8 without sparsity: NVIDIA's data sheet
    chip = roof_of(
        CapturedDevice(gfx="gfx942")
    )  # MI300A, MI300X or MI325X: the fastest, so that nobody is wronged
    assert chip is not None
    assert chip.memory >= 5300
    assert roof_of(CapturedDevice(name="Toy", gfx="toy")) is None


def test_what_the_toy_must_write(states: States) -> None:
    """It adds 1 to 64 random floats: most of their bytes change."""
    (moved,) = traffic(FreshInputs(states))
    assert moved.read_bytes == 0
    assert COUNT <= moved.written_bytes <= 4 * COUNT


@pytest.mark.parametrize(("element", "kind"), [("f32", "<f4"), ("i32", "<u4"), ("i64", "<u8"), ("i8", "<u1")])
@pytest.mark.parametrize("was", [(3, 9, 4, 9), (5, 5, 5, 5)])
def test_one_element_gets_another_value_of_those_that_were_there(
    element: Element, kind: str, was: tuple[int, ...], made: Snapshot
) -> None:
    """Integers may be indices: a constant alone gets a neighbour."""
    whole = np.array(was, kind)
    span = Span(made.saved[0], 0, whole.nbytes)
    for place in range(len(was)):
        new = with_another(whole.view(np.uint8), Buffer(span, element), place).view(kind)
        assert np.flatnonzero(new != whole).tolist() == [place]
        assert new[place] in ((3, 9) if len(set(was)) > 1 else (6,))


def test_the_share_that_must_be_read_is_a_cautious_one() -> None:
    assert pytest.approx(1e-3) == READ_SHARE**8
