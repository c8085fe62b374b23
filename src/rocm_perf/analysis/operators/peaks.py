"""What the GPUs of a recording can do at most: an operator's rate above it is doubted, as a kernel's is."""

from __future__ import annotations

from collections import Counter

import msgspec
import polars as pl

from rocm_perf.arch.gpu import Gpu
from rocm_perf.arch.matching import match
from rocm_perf.model.torch_call import arguments
from rocm_perf.model.trace import Trace
from rocm_perf.units import format_bytes

_SHORT = {
    "float64": "f64",
    "float32": "f32",
    "float16": "f16",
    "bfloat16": "bf16",
    "float8": "f8",
    "float4": "f4",
    "int8": "i8",
}
_INTEGER = "i8"  # multiplied, but never floating-point
_FASTEST_AS = {"f32": ("f32", "xf32")}  # f32 products may run in a reduced precision


class Peaks(msgspec.Struct, frozen=True):
    """The GPUs that the recording names; none where one of them is not known."""

    gpus: tuple[Gpu, ...]

    def bytes_doubt(self, tbytes: float, bytes_per_call: float) -> str | None:
        """Why a rate of bytes cannot be that of the memory; None if it can."""
        fastest = max(self.gpus, key=lambda gpu: gpu.memory_gbps, default=None)
        if fastest is None or tbytes <= fastest.memory_gbps / 1000:
            return None
        cache = fastest.last_level_bytes or fastest.l2_bytes
        why = "it moves less than its shapes say, or the peak is of another GPU"
        if cache and bytes_per_call <= cache:
            size = format_bytes(bytes_per_call)
            why = f"a call's {size} fit the last cache before it ({format_bytes(cache)}), which served some of them"
        return f"above the {fastest.memory_gbps / 1000:.3g} TB/s of the memory of {fastest.name}: {why}"

    def flops_doubt(self, tflops: float, dtype: str | None) -> str | None:
        """Why a rate of FLOPs in a type cannot be; None if it can."""
        rates = [(rate, gpu.name) for gpu in self.gpus for rate in _rates(gpu, dtype)]
        peak, name = max(rates, default=(tflops, ""))
        if tflops <= peak:
            return None
        why = "it computes less than its shapes say, or the peak is of another GPU"
        return f"above the {peak:,.4g} TFLOP/s of {name} in {dtype}: {why}"


def peaks(trace: Trace) -> Peaks:
    """The peaks of the recording's GPUs."""
    rows = trace.table("agents").filter(pl.col("kind").fill_null("GPU") == "GPU")
    gpus = [match(row).gpu for row in rows.iter_rows(named=True)]
    known = tuple(gpu for gpu in gpus if gpu is not None)
    return Peaks(known if len(known) == len(gpus) else ())


def floating_type(shapes: str | None, dtypes: str | None) -> str | None:
    """The floating-point type that most elements of the arguments have, as the catalogue names it."""
    elements: Counter[str] = Counter()
    for argument in arguments(shapes, dtypes) or ():
        short = short_type(argument.dtype)
        if argument.kind == "tensor" and short and short != _INTEGER:
            elements[short] += argument.elements
    return max(elements, key=lambda dtype: elements[dtype]) if elements else None


def short_type(dtype: str | None) -> str | None:
    """torch's name of a type as the catalogue names it; None of one that no unit has a rate for."""
    return _SHORT.get((dtype or "").partition("_")[0])


def _rates(gpu: Gpu, dtype: str | None) -> list[float]:
    """The peaks of a type on all units, in TFLOP/s; torch computes elementwise work of halves in f32."""
    names = _FASTEST_AS.get(dtype or "", (dtype or "",))
    units = (gpu.vector_tflops, gpu.matrix_tflops)
    return [rates[name] for rates in units for name in names if name in rates]
