"""The causes that can limit a kernel, with their remedies, from the files in causes/."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import resources
from typing import Literal

import msgspec

from rocm_perf.analysis.time.kernel_family import family
from rocm_perf.arch.toml import read_toml
from rocm_perf.errors import InputError
from rocm_perf.model.results.bottleneck import Label
from rocm_perf.once import once

# Who can change a kernel: its author in HIP or CUDA, in Triton, somebody who calls it through torch or JAX, or through
# a library of kernels.
Owner = Literal["native", "triton", "torch", "jax", "library"]
_TORCH = ("PyTorch", "inductor")
_TRITON = ("Triton", "inductor")
# Layers that make kernels of the program's own expressions and loops.
_PROGRAM = ("CuPy", "Julia", "Kokkos", "RAJA", "OpenMP offloading")


class CauseText(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One cause: the word of `bottleneck` in analysis.json for it, what it is not, and a remedy for each owner."""

    label: Label
    is_not: str = ""
    remedy: Mapping[Owner, str]


@once
def catalogue() -> Mapping[str, CauseText]:
    """Return every cause by its id."""
    texts: dict[str, CauseText] = {}
    folder = resources.files("rocm_perf.analysis.limits").joinpath("causes")
    for file in sorted(folder.iterdir(), key=lambda file: file.name):
        if not file.name.endswith(".toml"):
            continue
        causes = msgspec.convert(read_toml(file.read_bytes(), file.name), dict[str, CauseText])
        if twice := texts.keys() & causes.keys():
            raise InputError(f"{file.name} defines {', '.join(sorted(twice))} a second time")
        texts |= causes
    return texts


def remedy(cause: str, kernel: str) -> str:
    """Return what to do about a cause, for whoever can change this kernel."""
    remedies = catalogue()[cause].remedy
    return next(remedies[owner] for owner in (*owners(kernel), "native") if owner in remedies)


def owners(kernel: str) -> tuple[Owner, ...]:
    """Return who can change a kernel, the most direct first."""
    library = family(kernel).library
    if library in _TRITON:
        return ("triton", "torch") if library == "Triton" else ("torch", "triton")
    if library in _TORCH:
        return ("torch",)
    if library == "XLA":
        return ("jax",)
    if library in _PROGRAM:
        return ()
    return ("library",) if library else ()
