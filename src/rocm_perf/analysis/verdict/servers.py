"""Programs that serve a model, and how each of them is told to replay its steps as graphs."""

from __future__ import annotations

import polars as pl

from rocm_perf.analysis.basis.annotated_steps import annotated_steps
from rocm_perf.analysis.verdict.setting import Setting
from rocm_perf.model.trace import Trace

_LARGER = "or serve more requests at a time."
# By what its files, operators and steps are called. SGLang has kernels and parts of vLLM, so it is asked for first.
_REMEDIES = {
    r"(^|\W)(sglang/|sgl_kernel::|sglang::)|as SGLang": "Let SGLang replay its steps as {graph}s: leave "
    f"--disable-cuda-graph out, and let --cuda-graph-max-bs reach the batch of these steps; {_LARGER}",
    r"(^|\W)(vllm/|vllm::)|as vLLM": "Let vLLM replay its steps as {graph}s: enforce_eager=False, a "
    "cudagraph_mode in --compilation-config that covers these steps, and cudagraph_capture_sizes that reach their "
    f"batch; {_LARGER}",
}


def serving_remedy(trace: Trace, setting: Setting) -> str | None:
    """How the program that serves here replays its steps; None where no such program was recorded, or it does so."""
    if setting.uses_graphs:
        return None
    names = pl.concat([trace.table("ops")["name"].unique(), annotated_steps(trace)["told_by"].unique()])
    found = (text for pattern, text in _REMEDIES.items() if names.str.contains(pattern).any())
    remedy = next(found, None)
    return remedy.format(graph=setting.graph) if remedy else None
