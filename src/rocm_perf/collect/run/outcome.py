"""What a run recorded: which of the domains that were asked for have rows, and what is missing that must be there."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from rocm_perf.collect.plan.planned import PlannedRun
from rocm_perf.errors import EmptyCaptureError, RocmPerfError
from rocm_perf.ingest.load import load, load_files
from rocm_perf.model.collection import NO_STEPS, Outcome
from rocm_perf.model.trace import Trace
from rocm_perf.text import clean
from rocm_perf.units import format_count

_TABLES = {
    "kernel": "dispatches",
    "copy": "copies",
    "allocation": "allocations",
    "scratch": "scratch",
    "marker": "ranges",
    "operators": "ops",
    "collectives": "collectives",
    "counters": "counters",
    "pc sampling": "pc_samples",
    "thread trace": "instructions",
}
# On NVIDIA the runtime and the driver API are one domain.
_CALLS = {"hip": ("hip", "cuda"), "hsa": ("hsa", "cuda"), "rccl": ("rccl",)}
_COUNTED = {"optimizer.step": "of the optimizer", "module.forward": "calls of the outermost nn.Module"}
_NEEDED = ("counters", "pc sampling", "thread trace")  # asked for, they cannot be empty where kernels ran
_WORDS = {"kernel": "kernel", "hip": "HIP call", "counters": "counter", "pc sampling": "PC sample"}


@dataclass(frozen=True)
class Seen:
    """What lies in the folder of a run, compared with what was asked for."""

    outcome: Outcome
    recorded: frozenset[str] = frozenset()  # domains with rows
    missing: tuple[str, ...] = ()  # those that must have rows and have none
    explanation: str = ""
    lost: str = ""  # what could not be read
    reason: str = ""  # why it is empty, where the recorder left a word


def look(folder: Path, run: PlannedRun) -> Seen:
    """Read what a run left behind."""
    if not run.profiled:
        return Seen("recorded")
    written = [str(path) for path in folder.rglob("*") if path.is_file() and not path.name.startswith(".")]
    if not set(written) - set(run.command.files):
        steps = _too_few_steps(folder)
        return Seen("empty", explanation=steps or f"{run.profiler} wrote nothing", reason=steps)
    try:
        trace = load(folder, as_one=True)
    except EmptyCaptureError:
        return Seen(
            "empty",
            explanation=f"{run.profiler} wrote files without a single record",
            reason=_recorders_reason([Path(path) for path in written]),
        )
    except RocmPerfError as error:
        reason = (error.why or error.what).replace(f"{folder}{os.sep}", "")
        return Seen("failed", explanation=f"what {run.profiler} wrote cannot be read: {reason.rstrip('.')}")
    return compared(trace, run)


def _too_few_steps(folder: Path) -> str:
    """What the injected recorder says of a schedule that never came to record; empty if it says nothing."""
    for file in sorted(folder.glob(".*.steps.json")):
        try:
            return _steps_sentence(json.loads(file.read_bytes()))
        except (OSError, ValueError, LookupError, TypeError):
            continue
    return ""


def _steps_sentence(seen: dict[str, Any]) -> str:
    before, steps = int(seen["before"]), int(seen["steps"])
    if function := clean(str(seen.get("function", ""))):
        calls = int(seen["calls"])
        if not calls:
            return f"no {NO_STEPS}: the program never called {function} once torch was loaded{_own_functions(seen)}"
        return f"too few {NO_STEPS}: the program called {function} {format_count(calls, 'time')}, and {_after(before)}"
    if steps:
        what = _COUNTED.get(str(seen.get("counted_by", "")), "steps")
        return f"too few {NO_STEPS}: the program made {steps:,} ({what}), and {_after(before)}"
    return f"no {NO_STEPS}: the program made no optimizer step and called no nn.Module twice{_own_functions(seen)}"


def _own_functions(seen: dict[str, Any]) -> str:
    names = ", ".join(clean(str(name)) for name in seen.get("functions", ()))
    return f" (functions of the script: {names})" if names else ""


def _after(before: int) -> str:
    return f"recording begins after {format_count(before, 'step')} (--torch-wait and --torch-warmup)"


def _recorders_reason(files: list[Path]) -> str:
    errors = [loaded.error for loaded in load_files(files) if isinstance(loaded.error, EmptyCaptureError)]
    return next((error.why for error in errors if error.why), "")


def compared(trace: Trace, run: PlannedRun) -> Seen:
    """Compare a recording with what was asked for."""
    recorded = _recorded(trace)
    lost = "; ".join(f"{Path(loss.source).name}: {loss.what}" for loss in trace.run.losses[:2])
    if not recorded:
        return Seen("empty", explanation=_nothing(run), lost=lost)
    missing = tuple(_missing(trace, run, recorded))
    if not missing:
        return Seen("partly" if lost else "recorded", recorded, explanation=lost, lost=lost)
    explanation = _explained(run, recorded, missing)
    return Seen("partly", recorded, missing=missing, explanation=explanation, lost=lost)


def _recorded(trace: Trace) -> frozenset[str]:
    recorded = {domain for domain, table in _TABLES.items() if trace.has(table)}
    called = set(trace.lazy("api_calls").select(pl.col("domain").unique()).collect()["domain"])
    recorded |= {domain for domain, names in _CALLS.items() if called & set(names)}
    if trace.has("waves"):
        recorded.add("thread trace")
    return frozenset(recorded)


def _missing(trace: Trace, run: PlannedRun, recorded: frozenset[str]) -> list[str]:
    """A program may well have no marker, copy or collective; but kernels come from calls, and launches make kernels."""
    missing = [
        domain
        for domain in ("hip",)
        if domain in run.domains and "kernel" in recorded and domain not in recorded
    ]
    if "kernel" in run.domains and "kernel" not in recorded and _launches(trace):
        missing.append("kernel")
    asked = "counters" if run.counters else run.purpose
    return missing + [each for each in _NEEDED if each == asked and each not in recorded]


def _launches(trace: Trace) -> bool:
    launch = pl.col("name").str.contains("Launch")
    return bool(trace.lazy("api_calls").select(launch.any()).collect().item())


def _nothing(run: PlannedRun) -> str:
    return f"{run.profiler} recorded nothing: the program made no GPU call that it saw"


def _explained(run: PlannedRun, recorded: frozenset[str], missing: tuple[str, ...]) -> str:
    lacking = " and no ".join(_WORDS.get(each, each) for each in missing)
    if missing == ("hip",) and "hsa" in recorded:
        return f"{run.profiler} recorded HSA calls but no HIP call"
    if missing == ("hip",):
        return f"{run.profiler} recorded kernels but no HIP call"
    if missing == ("kernel",):
        return f"{run.profiler} recorded launches but no kernel"
    return f"{run.profiler} recorded no {lacking}"
