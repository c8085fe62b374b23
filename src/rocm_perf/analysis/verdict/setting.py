"""What a program is built from: whose GPUs it uses, and what it already does. Advice must fit it."""

from __future__ import annotations

import re

import msgspec
import polars as pl

from rocm_perf.analysis.basis.keys import named
from rocm_perf.analysis.basis.launched import launched_kernels, timed_calls
from rocm_perf.model.trace import Trace

_NVIDIA_CALL = r"^cu(da)?[A-Z]"
_TORCH_KERNEL = r"at::(native|cuda|hip)|triton_|\baten"
_JAX = "jax"  # what its profiler is called
_GRAPH_LAUNCH = "GraphLaunch"
_MOSTLY = 0.5
# What NVIDIA calls the same thing.
_NVIDIA_WORDS = {
    "HIP graph": "CUDA graph",
    "roctx": "NVTX",
    "hipMallocAsync": "cudaMallocAsync",
    "RCCL": "NCCL",
    "LDS": "shared memory",
}
# Whole words, or their plurals: `gemm_LDSM_N` and `roctx_test` are names.
_VENDOR_WORD = re.compile(rf"(?<![\w:])(?:{'|'.join(_NVIDIA_WORDS)})(?=s?(?!\w|::))")


class Setting(msgspec.Struct, frozen=True):
    """Facts about the program that decide which advice applies."""

    nvidia: bool
    torch: bool
    jax: bool
    host_recorded: bool
    uses_graphs: bool  # most kernels are launched by graphs already

    @property
    def graph(self) -> str:
        return "CUDA graph" if self.nvidia else "HIP graph"

    def worded(self, text: str, names: frozenset[str] = frozenset()) -> str:
        """The text in the words of the GPU's vendor; the names, which are the recording's, stay as they are."""
        if not self.nvidia:
            return text
        kept = sorted(filter(_VENDOR_WORD.search, names), key=len, reverse=True)
        pattern = "|".join((*map(re.escape, kept), _VENDOR_WORD.pattern))
        return re.sub(pattern, lambda match: _NVIDIA_WORDS.get(match[0], match[0]), text)


def setting(trace: Trace) -> Setting:
    """What the names of calls and kernels show."""
    calls = timed_calls(trace)["name"].unique().cast(pl.String)
    kernels = launched_kernels(trace).select("name", "launch_name")
    graphs = named(kernels["launch_name"], pl.col("name").str.contains(_GRAPH_LAUNCH))
    jax = trace.run.tool.startswith(_JAX)
    operators = trace.lazy("ops").filter(pl.col("name").str.starts_with("aten::")).head(1).collect()
    return Setting(
        nvidia=bool(calls.str.contains(_NVIDIA_CALL).any()),
        torch=operators.height > 0
        or (not jax and bool(named(kernels["name"], pl.col("name").str.contains(_TORCH_KERNEL)).any())),
        jax=jax,
        host_recorded=calls.len() > 0,
        uses_graphs=bool(kernels.height) and int(graphs.sum()) >= _MOSTLY * kernels.height,
    )
