"""How kernels use the GPU, in two numbers: the share of their time on matrix units, and their achieved occupancy."""

from __future__ import annotations

from rocm_perf.model.quantity import Quantity, unavailable
from rocm_perf.units import format_share

MATRIX_SHARE = "time of the kernels that use matrix units / time of all kernels"
OCCUPANCY = "mean of the kernels' estimated achieved occupancy, weighted by their length"
NO_OCCUPANCY = "the recorder does not estimate it (Kineto does on NVIDIA GPUs)"
_MUCH_UNKNOWN = 0.01  # of the kernel time: from here on the share is doubtful


def matrix_share(matrix_ns: int, kernel_ns: int, unknown_ns: int) -> Quantity:
    """The share on matrix units; kernels of which that is unknown count as others, and make it doubtful."""
    if not kernel_ns:
        return unavailable("", MATRIX_SHARE, "it launched no kernel")
    if unknown_ns == kernel_ns:
        return unavailable("", MATRIX_SHARE, "no name or counter says whether its kernels use them")
    unknown = unknown_ns / kernel_ns
    return Quantity(
        value=matrix_ns / kernel_ns,
        unit="",
        formula=MATRIX_SHARE,
        inputs={"matrix_ns": matrix_ns, "kernel_ns": kernel_ns},
        doubt=f"at least: of kernels with {format_share(unknown)} of the time it is not known"
        if unknown >= _MUCH_UNKNOWN
        else None,
    )


def mean_occupancy(weighted: float, occupied_ns: int) -> Quantity:
    """The occupancy as a share, from occupancy in percent times length, summed, and the summed length."""
    if not occupied_ns:
        return unavailable("", OCCUPANCY, NO_OCCUPANCY)
    return Quantity(
        value=weighted / occupied_ns / 100, unit="", formula=OCCUPANCY, inputs={"occupied_ns": occupied_ns}
    )
