"""Programs that serve a model, and how each of them is told to replay its steps as graphs."""

from __future__ import annotations

from rocm_perf.analysis.remedies.setting import Setting
from rocm_perf.analysis.remedies.table import remedy
from rocm_perf.model.trace import Trace

_SERVERS = ("vllm", "sglang")


def serving_remedy(_: Trace, setting: Setting) -> str | None:
    """Return how the program that serves here replays its steps; None where no such program was recorded, or it does
    so already."""
    if setting.uses_graphs or set(_SERVERS).isdisjoint(setting.frameworks):
        return None
    return remedy("launching", setting)
