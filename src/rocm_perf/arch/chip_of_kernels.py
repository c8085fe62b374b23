"""The chip that library kernels were made for, as their names say it: `Cijk_..._ISA942_...` runs on gfx942 alone."""

from __future__ import annotations

import re
from collections.abc import Iterable

# Tensile writes the instruction set; cuBLAS and TensorRT-LLM the architecture of kernels that no other one runs.
_TENSILE = re.compile(r"_ISA(\d{3,4}|90a|90c)(?=_|$)")
_NVIDIA = re.compile(r"\bnvjet_sm(90|100|103)_|\bsm(90|100|103)_xmma_|\bfmhaSm(90|100|103)")


def chip_of_kernel(kernel: str) -> str | None:
    """Return the architecture that the name of a kernel tells: gfx942 or sm_90; None where it tells none."""
    if found := _TENSILE.search(kernel):
        return f"gfx{found[1]}"
    if found := _NVIDIA.search(kernel):
        return f"sm_{next(number for number in found.groups() if number)}"
    return None


def chip_of_kernels(kernels: Iterable[str]) -> str | None:
    """Return the one architecture that the names of kernels tell; None where they tell none, or several."""
    chips = {chip for kernel in kernels if (chip := chip_of_kernel(kernel)) is not None}
    return chips.pop() if len(chips) == 1 else None
