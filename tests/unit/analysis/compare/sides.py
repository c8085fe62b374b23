"""Sides of a comparison, made of traces."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from rocm_perf.analysis.compare.populations import compare
from rocm_perf.analysis.compare.runs import Recording
from rocm_perf.model.results.comparison import Comparison
from rocm_perf.model.trace import Trace
from rocm_perf.sim.workload import parse_workload, read_workload
from tests.sim.recorded import recorded

WORKLOADS = Path(__file__).parents[4] / "examples" / "workloads"

# Each run is as fast as the machine was that day: `scale` stands for it, `gemm_us` for the change.
_LOOP = """
seed = {seed}
noise = 0.02
[kernel.gemm]
duration_us = {gemm_us}
symbol = "{symbol}"
[kernel.norm]
duration_us = {norm_us}
symbol = "void rms_norm_kernel<float>(float*)"
[[thread]]
steps = [{{repeat = 12, steps = [
  {{push = "step"}}, {{launch = "gemm"}}, {{launch = "norm"}}, {{sync = "device"}}, {{pop = true}},
]}}]
"""
GEMM = "Cijk_Alik_Bljk_BBS_BH_Bias_HAS_SAV_UserArgs_MT64x32x128_MI16x16x1_SN_LDSB1_GRVWA8"


@cache
def example(name: str) -> Trace:
    return recorded(read_workload(WORKLOADS / f"{name}.toml"))


@cache
def loop(seed: int, gemm_us: float, *, scale: float = 1.0, symbol: str = GEMM) -> Trace:
    """Twelve steps of a matrix product of that length and a norm, on a machine that is `scale` times as slow."""
    return recorded(
        parse_workload(_LOOP.format(seed=seed, gemm_us=gemm_us * scale, norm_us=20 * scale, symbol=symbol))
    )


def side(*traces: Trace) -> list[Recording]:
    return [Recording(f"run {number}", trace) for number, trace in enumerate(traces)]


def compared(base: Trace, new: Trace, *, whole: bool = True) -> Comparison:
    """One run a side, by default all of it."""
    return compare([Recording("base", base)], [Recording("new", new)], whole=whole)
