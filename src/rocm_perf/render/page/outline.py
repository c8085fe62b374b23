"""The order of the report's page, and what each topic is computed from: tables of a recording, formulas."""

from __future__ import annotations

from rocm_perf.model.document import TOPICS

# Every topic of model/document.py once; findings are the cards at the top.
OUTLINE: dict[str, tuple[str, ...]] = {
    "What a change would bring": ("projections", "scorecard"),
    "Where the time goes": (
        "ledger",
        "kernels",
        "kernel",
        "families",
        "modules",
        "phases",
        "windows",
        "steps",
        "serving",
        "step-breakdown",
        "gpus",
    ),
    "Why the GPU waits": ("gaps", "launches", "sync", "copies", "communication", "ranks", "host"),
    "What depends on what": ("path", "operators", "graphs", "ranges"),
    "Inside the kernels": (
        "roofline",
        "bottlenecks",
        "gpu-use",
        "indicators",
        "metrics",
        "instructions",
        "pc-samples",
    ),
    "Memory and power": ("memory", "energy"),
    "How far to trust it": ("coverage", "sanity", "clocks", "recording", "tables"),
}
_WORK = ("dispatches", "copies", "api_calls")
_ALL = ()  # of what was recorded

TABLES: dict[str, tuple[str, ...]] = {
    "findings": _ALL,
    "projections": (*_WORK, "ops"),
    "scorecard": (*_WORK, "allocations"),
    "ledger": (*_WORK, "ops", "ranges"),
    "gpus": ("dispatches", "copies"),
    "phases": (*_WORK, "ranges"),
    "windows": ("windows", *_WORK),
    "gaps": (*_WORK, "ops"),
    "sync": (*_WORK, "ops"),
    "launches": ("api_calls", "dispatches"),
    "host": ("api_calls", "summaries"),
    "kernels": ("dispatches", "summaries"),
    "kernel": ("counters", "dispatches", "kernels", "pc_samples", "emulated"),
    "families": ("dispatches", "summaries"),
    "steps": ("dispatches", "ranges", "ops"),
    "serving": ("ranges", *_WORK),
    "copies": ("copies", "api_calls"),
    "communication": ("dispatches", "ops"),
    "ranks": ("collectives", "clocks", *_WORK, "ops", "ranges"),
    "operators": (*_WORK, "ops"),
    "graphs": (*_WORK, "ops", "captured_graphs", "captured_launches", "captured_ops"),
    "modules": (*_WORK, "ops", "ranges", "captured_ops"),
    "step-breakdown": (*_WORK, "ops", "ranges"),
    "gpu-use": ("dispatches", "counters"),
    "path": (*_WORK, "ops"),
    "roofline": ("counters", "dispatches", "ops", "ceilings"),
    "bottlenecks": ("counters", "dispatches", "kernels", "pc_samples"),
    "metrics": ("counters", "dispatches"),
    "indicators": ("counters", "dispatches"),
    "instructions": ("instructions", "waves"),
    "pc-samples": ("pc_samples", "dispatches"),
    "ranges": ("ranges", "dispatches", "api_calls"),
    "memory": ("allocations", "memory_blocks", "stacks", "samples"),
    "energy": ("samples", "dispatches"),
    "clocks": ("collectives", "clocks"),
    "sanity": _ALL,
    "coverage": _ALL,
    "tables": _ALL,
    "recording": _ALL,
}

# The topics of formulas that are not named after a field of the document.
_FORMULAS_OF = {
    "projection": "projections",
    "queue_length": "operators",
    "critical_path": "path",
    "critical_path_score": "path",
    "slack_ns": "path",
    "impact_ns": "path",
    "half_ns, whole_ns": "path",
    "bottleneck": "bottlenecks",
    "instructions": "instructions",
}


def topic_of_formula(name: str) -> str:
    """The topic whose numbers a formula of the document makes."""
    subject = name.partition(".")[0]
    known = next((topic.name for topic in TOPICS if subject in topic.fields), "")
    return known or _FORMULAS_OF[subject]
