"""Indicators: a few counters of each kernel beside what a good profile has, as guides to matrix kernels list them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

from rocm_perf.analysis.roofline.devices import Device
from rocm_perf.analysis.time.kernel_family import MATRIX_VECTOR, family
from rocm_perf.model.results.metrics import Indicator, KernelMetric

_HITS = 0.5
_LDS_WAITS = 0.1
_LDS_INSTRUCTIONS = 0.5  # for each vector instruction
_MEMORY_INSTRUCTIONS = 0.2  # for each vector instruction: a copy of a vector has 0.2 and more
_CONFLICTS = 0.25  # cycles lost for each useful one: a fifth of all
_MATRIX_KERNELS = ("gemm", "convolution", "attention")
# Kernels that use each value once: what a cache or a tile would keep is of no use to them.
_STREAMS = (
    "elementwise",
    "copy",
    "normalisation",
    "softmax",
    "reduction",
    "embedding",
    "optimiser",
    "quantisation",
)
_OF_REUSE = ("l2_hit_rate", "vmem_per_valu")
_SHARES = ("l2_hit_rate", "lds_wait_share")  # above 1 they cannot be true
_MATRIX_METRIC = "matrix_"  # begins the metrics of matrix operations, one for each data type

Values = Mapping[str, KernelMetric]


class _Rule(NamedTuple):
    """An indicator: the metric that it is, what is good, and what to do where it is not."""

    name: str
    counters: str
    metric: str
    target: str
    is_good: Callable[[float], bool]
    advice: str


_RULES = (
    _Rule(
        "L2 hit rate",
        "TCC_HIT / (TCC_HIT + TCC_MISS), on RDNA GL2C_HIT and GL2C_MISS",
        "l2_hit_rate",
        "0.5 or more",
        lambda value: value >= _HITS,
        "poor cache locality: check the tile size and the order of the workgroups",
    ),
    _Rule(
        "waits for the LDS",
        "SQ_WAIT_INST_LDS / SQ_WAVE_CYCLES",
        "lds_wait_share",
        "0.1 or less",
        lambda value: value <= _LDS_WAITS,
        "waves queue for the LDS: look for bank conflicts, pad or swizzle the tile, read 16 bytes a lane",
    ),
    _Rule(
        "LDS bank conflicts",
        "SQ_LDS_BANK_CONFLICT / (SQ_LDS_IDX_ACTIVE - SQ_LDS_BANK_CONFLICT)",
        "lds_conflict_rate",
        "0.25 or less",
        lambda value: value <= _CONFLICTS,
        "lanes of a wave hit one bank: pad the rows of the tile by one element, or swizzle its layout",
    ),
    _Rule(
        "LDS per vector instruction",
        "SQ_INSTS_LDS / SQ_INSTS_VALU",
        "lds_per_valu",
        "0.5 or less",
        lambda value: value <= _LDS_INSTRUCTIONS,
        "much staging for little arithmetic: read the LDS wider, keep more in registers",
    ),
    _Rule(
        "VMEM per vector instruction",
        "SQ_INSTS_VMEM / SQ_INSTS_VALU",
        "vmem_per_valu",
        "below 0.2",
        lambda value: value < _MEMORY_INSTRUCTIONS,
        "memory-bound by its instructions: load 16 bytes a lane, use each value more often",
    ),
)


def indicators(rows: Sequence[KernelMetric], known: Sequence[Device]) -> tuple[Indicator, ...]:
    """Return the indicators that the metrics give, kernel by kernel in the order of the metrics."""
    devices = {device.name: device for device in known}
    values: dict[tuple[str, str], dict[str, KernelMetric]] = {}
    for row in rows:
        values.setdefault((row.kernel, row.gpu), {})[row.metric] = row
    return tuple(
        indicator for (_, gpu), own in values.items() for indicator in _of_kernel(own, devices.get(gpu))
    )


def _of_kernel(values: Values, device: Device | None) -> Iterator[Indicator]:
    yield from _waves(values, device)
    kernel = next(iter(values.values()))
    streams = family(kernel.kernel).name in _STREAMS or MATRIX_VECTOR.search(kernel.short_name)
    for rule in _RULES:
        row = values.get(rule.metric)
        if row is not None and not (streams and rule.metric in _OF_REUSE):
            yield _judged(row, rule, row.value)
    yield from _matrix_operations(values)


def _judged(row: KernelMetric, rule: _Rule, value: float) -> Indicator:
    good = rule.is_good(value)
    verdict: Literal["good", "poor", "unclear"] = "good" if good else "poor"
    if rule.metric in _SHARES and value > 1:
        verdict = "unclear"
    return Indicator(
        kernel=row.kernel,
        short_name=row.short_name,
        gpu=row.gpu,
        name=rule.name,
        counters=rule.counters,
        value=value,
        target=rule.target,
        verdict=verdict,
        advice={"good": "", "poor": rule.advice, "unclear": row.doubt or ""}[verdict],
        doubt=row.doubt,
    )


def _waves(values: Values, device: Device | None) -> Iterator[Indicator]:
    """Yield the waves of a launch beside the SIMDs of the GPU, where the product is known."""
    row = values.get("waves")
    if row is None or device is None or device.gpu is None:
        return
    simds = device.gpu.simds
    rule = _Rule(
        "waves",
        "SQ_WAVES",
        "waves",
        f"{simds:,} or more",
        lambda value: value >= simds,
        "SIMDs stay empty: a larger launch or smaller tiles; fewer registers or less LDS let more waves run at once",
    )
    yield _judged(row, rule, row.value / row.dispatches)


def _matrix_operations(values: Values) -> Iterator[Indicator]:
    """Yield the matrix operations of a kernel that should have some, over all data types."""
    counted = [row for name, row in values.items() if name.startswith(_MATRIX_METRIC)]
    if not counted or family(counted[0].kernel).name not in _MATRIX_KERNELS:
        return
    rule = _Rule(
        "matrix operations",
        "SQ_INSTS_VALU_MFMA_MOPS_*",
        _MATRIX_METRIC,
        "more than 0",
        lambda value: value > 0,
        "the matrix units are not used: check the data type, the layout and the library's choice of kernel",
    )
    yield _judged(counted[0], rule, sum(row.value / row.dispatches for row in counted))
