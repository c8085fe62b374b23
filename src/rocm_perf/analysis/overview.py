"""Everything reported about a run, as one document. Its topics are listed in model/document.py."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from importlib import import_module
from typing import Any

import msgspec

from rocm_perf.analysis.basis.recorded import recorded_parts
from rocm_perf.analysis.parts.populations import of_windows
from rocm_perf.analysis.phases.focus import focused
from rocm_perf.analysis.roofline.build import Machines
from rocm_perf.analysis.time.hotspots import Grouping
from rocm_perf.analysis.verdict.findings import conclusions
from rocm_perf.model.document import TOPICS, Document
from rocm_perf.model.topic import resolve
from rocm_perf.model.trace import Trace
from rocm_perf.version import __version__

_HERE = "rocm_perf.analysis"
# Topics at a time: Polars computes outside of Python's lock; more of them would need more memory.
_AT_ONCE = 2
# It takes longest, and the most memory: asked first, while the others have kept little yet, and not alone at the end.
_FIRST = "path"


def examine(
    trace: Trace,
    label: str,
    grouping: Grouping = "full",
    *,
    machines: Machines = (),
    link_gbps: float | None = None,
) -> Document:
    """Every analysis of the steady state of a run, or of all its work where nothing repeats."""
    chosen = {"grouping": grouping, "machines": machines, "link_gbps": link_gbps}
    return _samples(trace, focused, label=label, chosen=chosen)


def overview(
    trace: Trace,
    label: str,
    grouping: Grouping = "full",
    *,
    machines: Machines = (),
    link_gbps: float | None = None,
) -> Document:
    """Every analysis of one run. What cannot be said carries the reason why. `machines`: what GPUs were measured to
    reach; `link_gbps`: what each GPU can send to the others in one direction, where the user knows it."""
    chosen = {"grouping": grouping, "machines": machines, "link_gbps": link_gbps}
    return _samples(trace, None, label=label, chosen=chosen)


def _samples(
    trace: Trace, judge: Callable[[Trace], Trace] | None, *, label: str, chosen: dict[str, Any]
) -> Document:
    """The document of a run; of one that was recorded in several windows, window by window."""
    parts = recorded_parts(trace)
    if len(parts) < 2:
        return _document(trace, judge, label=label, chosen=chosen)
    documents = [(part.window, _document(part.trace, judge, label=label, chosen=chosen)) for part in parts]
    return of_windows(trace, documents)


def _document(
    whole: Trace, judge: Callable[[Trace], Trace] | None, *, label: str, chosen: dict[str, Any]
) -> Document:
    """What every topic says of the run or, unless it speaks of the whole, of the part of it that is judged."""
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        answers = _asked(pool, whole, chosen, of_whole=True)
        part = judge(whole) if judge else whole
        answers |= _asked(pool, part, chosen, of_whole=False)
    document = Document(
        label=label,
        producer=f"rocm-perf {__version__}",
        run=part.run,
        steady=judge is not None,
        formulas=formulas(),
        **{field: answer.result() for field, answer in answers.items()},
    )
    projections, findings = conclusions(document, part, whole)
    return msgspec.structs.replace(document, projections=projections, findings=findings)


def _asked(
    pool: ThreadPoolExecutor, trace: Trace, chosen: dict[str, Any], *, of_whole: bool
) -> dict[str, Future[Any]]:
    """The fields of the Document that will have an answer. Modules are imported here, one after another."""
    return {
        field: pool.submit(
            resolve(_HERE, reference), trace, **{name: chosen[name] for name in topic.parameters}
        )
        for topic in sorted(TOPICS, key=lambda topic: topic.name != _FIRST)
        if topic.whole == of_whole
        for field, reference in topic.answers.items()
    }


@cache
def formulas() -> dict[str, str]:
    """How the numbers of every topic are made, as the modules that make them state it."""
    references = [name for topic in TOPICS for name in (*topic.answers.values(), *topic.formulas)]
    modules = dict.fromkeys(reference.partition(":")[0] for reference in references)
    stated = (getattr(import_module(f"{_HERE}.{module}"), "FORMULAS", {}) for module in modules)
    return {number: formula for table in stated for number, formula in table.items()}
