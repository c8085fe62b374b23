"""Kernels by the names of the source."""

from __future__ import annotations

import pytest

from rocm_perf.errors import InputError, UsageError
from rocm_perf.optimize.builds.code_objects import GpuCode
from tests.unit.optimize.hand_made import image, kernel

CODE = GpuCode(
    (
        image(
            kernel("_ZN4math5scaleIfEEvPT_i"),  # void math::scale<float>(float*, int)
            kernel("_ZN4math5scaleIdEEvPT_i"),  # void math::scale<double>(double*, int)
            kernel("_ZN12_GLOBAL__N_16hiddenEPf"),  # (anonymous namespace)::hidden(float*)
            kernel("plain"),
        ),
    )
)


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("scale", 2), ("math::scale", 2), ("math::scale<float>", 1), ("hidden", 1), ("plain", 1),
        ("_ZN4math5scaleIdEEvPT_i", 1), ("void math::scale<double>(double*, int)", 1),
    ],
)  # fmt: skip
def test_a_kernel_is_found_by_any_of_its_names(name: str, count: int) -> None:
    assert len(CODE.symbols("gfx942", name)) == count


def test_a_name_that_is_not_there_gets_the_nearest() -> None:
    with pytest.raises(UsageError, match=r"no kernel is named scael\. There is math::scale"):
        CODE.symbols("gfx942", "scael")
    with pytest.raises(InputError, match="there is no code for gfx1100: it is made for gfx942"):
        CODE.image("gfx1100", "plain")
