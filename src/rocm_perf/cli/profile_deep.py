"""`rocm-perf profile --deep`: a second recording, of what the verdict on the first one asks for."""

from __future__ import annotations

import re
from pathlib import Path

from msgspec.structs import replace

from rocm_perf.analysis.verdict.next_preset import Worth, next_preset
from rocm_perf.backends.machine import Machine
from rocm_perf.collect.plan.plan import plans
from rocm_perf.collect.request.flags import merged
from rocm_perf.collect.request.presets import preset
from rocm_perf.collect.request.request import Request
from rocm_perf.model.document import Document
from rocm_perf.model.results.times import Hotspot

THREAD_TRACE = "thread trace"


def deeper(
    request: Request, document: Document, machine: Machine, run_id: str
) -> tuple[Request, tuple[str, ...]] | None:
    """The request for the second recording, beside the first one, and what to say before it starts; None where the
    verdict asks for nothing more."""
    worth = next_preset(document)
    if worth is None:
        return None
    chosen = preset(worth.preset)
    asked = replace(
        request,
        preset=worth.preset,
        wish=merged(request.wish, chosen.wish),
        counters=tuple(dict.fromkeys((*request.counters, *chosen.counters))),
        run_id=f"{run_id}-deep",
    )
    if not chosen.counters:
        return asked, (_why(worth),)
    traced, refusal = _with_thread_trace(asked, document, machine)
    return traced, (_why(worth), *([f"no thread trace: {refusal}"] if refusal else []))


def _why(worth: Worth) -> str:
    return f"once more, with the preset {worth.preset}: {worth.reason}"


def _with_thread_trace(request: Request, document: Document, machine: Machine) -> tuple[Request, str]:
    """The request with a thread trace of the kernel that took longest; or as it was, and why there can be none."""
    top = document.hotspots.rows[0]
    traced = replace(request, wish=replace(request.wish, att=True, att_kernels=_pattern(top)))
    best = plans(traced, machine, Path(request.output))[0]
    lost = [line for line in best.could_not if line.startswith(THREAD_TRACE)]
    return (request, lost[0].removeprefix(f"{THREAD_TRACE}: ")) if lost else (traced, "")


def _pattern(top: Hotspot) -> str:
    """A regular expression for a kernel: a part of its name that reads the same mangled or not, where there is one."""
    return re.escape(top.short_name if top.short_name in top.kernel else top.kernel)
